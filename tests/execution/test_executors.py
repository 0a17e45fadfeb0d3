"""The built-in executors: the same results from both, and what only one of them can do."""

import os
import time
from multiprocessing import Pipe
from typing import Any

import psutil
import pytest
from safetensors.torch import load_file
from small_runs import (
    CLASSIFY,
    FAILING,
    LM,
    MLM,
    SEQ2SEQ,
    Stop,
    StopAfter,
    bench,
    by_key,
    cell,
    prepared,
    seconds_of_first_epoch,
)

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.execution import process
from zoo.execution.base import (
    Advanced,
    Ended,
    Event,
    JobSetup,
    Limits,
    Notice,
    Result,
    Started,
    Step,
    TrainJob,
)
from zoo.execution.local import InlineExecutor, LocalExecutor
from zoo.execution.process import FORKS, Worker
from zoo.registry.cell import model_name
from zoo.sweep.records import RecordFile
from zoo.sweep.run import Run

OTHER = {"inline": "local", "local": "inline"}


@pytest.fixture(
    scope="module",
    params=[
        "classify",
        "lm",
        *(pytest.param(t, marks=pytest.mark.slow) for t in ("mlm", "seq2seq")),
    ],
)
def options(request, corpus, book) -> dict[str, Any]:
    """A short training of a cell of each task, and of the task's baseline."""
    return {
        "classify": {**CLASSIFY, "data": str(corpus), "seeds": 2, "token_deletion": 0.2},
        "lm": {**LM, "data": str(book)},
        "mlm": {**MLM, "data": str(book)},
        "seq2seq": SEQ2SEQ,
    }[request.param] | {"phases": "train"}


@pytest.fixture(scope="module")
def inline(options, tmp_path_factory) -> Run:
    return bench(tmp_path_factory.mktemp("inline"), options, on="inline")


def test_both_give_the_same_scores_document_for_document_and_the_same_keys(
    options, inline, tmp_path
):
    """Metrics with the list of errors, and curves with every loss, bit for bit."""
    local = bench(tmp_path / "local", options, on="local")
    assert by_key(inline.records) == by_key(local.records)
    assert len(by_key(inline.records)) == len(inline.records) >= (options["task"] != "seq2seq") + 1
    if options["task"] in ("classify", "seq2seq"):
        assert any(record.metrics["errors"] for record in inline.records)
    for one, other in zip(inline.records, local.records, strict=True):
        assert one.environment == other.environment
        assert one.config == other.config
    # One finds what the other has done, and trains nothing.
    again = bench(inline.file.directory, options, on="local")
    assert (again.trained, len(again.records)) == (0, len(inline.records))


def test_what_is_held_out_is_scored_after_every_epoch(options, inline, tmp_path):
    held_out = {**options, "baseline": "none", "seeds": 1, "validation": 0.3}
    (record,) = bench(tmp_path, held_out).records
    (described, *_) = record.metric_descriptions
    scores = [entry[f"validation_{described.name}"] for entry in record.curve]
    assert len(scores) == options["epochs"]
    assert scores[-1] == record.metrics[described.name]
    curves = [entry for test in inline.records for entry in test.curve]
    assert not [name for entry in curves for name in entry if name.startswith("validation_")]


@pytest.mark.parametrize("first", ["inline", "local"])
def test_a_training_that_one_began_is_resumed_by_the_other(options, inline, first, tmp_path):
    options = {**options, "baseline": "none", "seeds": 1}
    out = tmp_path / "out"
    with pytest.raises(Stop):
        bench(out, options, on=first, progress=StopAfter(Advanced))
    assert RecordFile(out).read() == []
    (checkpoint,) = out.glob("unfinished/*/checkpoint.pt")
    interrupted = seconds_of_first_epoch(checkpoint)
    resumed = bench(out, options, on=OTHER[first])
    (record,) = resumed.records
    # The first epoch was not trained again: it has the time that it took in the first run.
    assert record.curve[0]["seconds"] == interrupted
    assert by_key(resumed.records).items() <= by_key(inline.records).items()
    assert not (out / "unfinished").exists()


def test_weights_are_an_artifact_until_the_next_event(small, tmp_path):
    setup = prepared(small).setup
    job = TrainJob(setup, "a cell", "key", model=cell(), save_weights=True)
    found: list[dict[str, list[list[float]]]] = []
    for executor in (InlineExecutor(), LocalExecutor()):
        for event in executor.run([job], limits=Limits(), directory=tmp_path):
            if isinstance(event, Ended):
                (weights,) = event.result.artifacts.values()
                found.append({name: t.tolist() for name, t in load_file(weights).items()})
        assert list(tmp_path.iterdir()) == []
    assert found[0] == found[1]


@pytest.mark.parametrize(("jobs", "status", "notices"), [(2, "ok", 1), (1, "oom", 0)])
def test_what_runs_out_of_memory_beside_others_is_run_again_alone(
    jobs, status, notices, corpus, tmp_path, monkeypatch
):
    """So that trainings at once never fail for lack of memory where one at a time would not."""
    monkeypatch.setenv("HUNGRY_AT_FIRST", str(tmp_path / "been"))
    setup = prepared({**CLASSIFY, "data": str(corpus)}, (FAILING,)).setup
    models = (cell(attention="hungryatfirst"), cell(attention="fused"), cell(attention="naive"))
    of = [TrainJob(setup, model_name(model), str(n), model) for n, model in enumerate(models)]
    events = list(LocalExecutor().run(of, limits=Limits(jobs=jobs), directory=tmp_path / "run"))
    ended = {event.job.key: event.result.status for event in events if isinstance(event, Ended)}
    assert ended == {"0": status, "1": "ok", "2": "ok"}
    assert [event.job.key for event in events if isinstance(event, Started)] == ["0", "1", "2"]
    said = [event.text for event in events if isinstance(event, Notice)]
    assert len(said) == notices
    assert all(text.startswith("hungryatfirst+rope") for text in said)
    if notices:
        last = events[-1]
        assert isinstance(last, Ended)
        assert last.job.key == "0"


class Done:
    """A process that has said all that it has to say."""

    def __init__(self, *_: object) -> None:
        self.waitable, self.theirs = Pipe()
        self.theirs.send(Step(1, 1))
        self.theirs.send(Result())
        self.send, self.receive, self.stop = print, self.waitable.recv, self.waitable.close


def test_a_result_that_waits_while_another_is_recorded_is_not_too_late(tmp_path, monkeypatch):
    """Recording may take longer than the time limit, as on a disk that is busy."""
    monkeypatch.setattr("zoo.execution.local.Worker", Done)
    setup = JobSetup("classify", {}, Sizes(), Training(), Execution())
    jobs = [TrainJob(setup, f"seed {n}", f"key{n}") for n in range(2)]
    statuses = []
    for event in LocalExecutor().run(jobs, limits=Limits(2, 1, 0.01), directory=tmp_path):
        time.sleep(0.02)
        if isinstance(event, Ended):
            statuses.append(event.result.status)
    assert statuses == ["ok", "ok"]


def test_jobs_of_an_executor_that_is_closed_early_stop(small, tmp_path):
    setup = prepared({**small, "epochs": 100_000}).setup
    jobs = [TrainJob(setup, f"seed {n}", f"key{n}", model=cell(), seed=n) for n in range(2)]
    Worker(Limits(), tmp_path / "log").stop()  # starts the server
    before = busy()
    events = LocalExecutor().run(jobs, limits=Limits(jobs=2), directory=tmp_path)
    seen: list[Event] = [next(events) for _ in range(4)]
    assert {event.job.key for event in seen} >= {"key0"}
    workers = busy() - before
    assert len(workers) == 2
    events.close()
    assert not any(psutil.pid_exists(pid) for pid in workers)


def busy() -> set[int]:
    """The workers of this process."""
    server = psutil.Process(process._servers[os.getpid()]._process.pid)
    return {p.pid for p in server.children() if p.status() != psutil.STATUS_ZOMBIE}


@pytest.mark.skipif(not FORKS, reason="no process forks workers here")
def test_what_forks_workers_starts_when_a_run_connects_and_not_with_its_first_job(
    tmp_path, monkeypatch
):
    """So that torch is imported while data are read."""
    monkeypatch.setattr(process, "_servers", {})
    LocalExecutor().connect()
    (server,) = process._servers.values()
    with Worker(Limits(), tmp_path / "log") as worker:
        parent = psutil.Process(worker.call("os:getpid")).ppid()
    assert parent == server._process.pid
