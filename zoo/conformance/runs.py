"""What runs jobs, and what shows runs: a recorded exchange."""

from __future__ import annotations

import builtins
import contextlib
import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import must
from zoo.conformance.models import PLAIN_PARTS
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, is_a
from zoo.errors import ZooError
from zoo.execution.base import (
    UNFINISHED,
    WEIGHTS,
    Advanced,
    Ended,
    Executor,
    InspectJob,
    JobSetup,
    Limits,
    Started,
    TrainJob,
)
from zoo.files import scratch_directory
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.tracking import TrackedRun, Tracker, TrackerThread

FAILS = "a training of no model, which must fail"


def runs(part: Part) -> None:
    """Each job is told once, from start to end; each run is shown and stays; failed ones too."""
    {"executor": _executor, "tracker": _tracker}[part.kind](part)


def _tracker(part: Part) -> None:
    """It shows runs that ended well, or failed with no results, and each stays shown."""
    is_a(part.make(), Tracker)  # also where its library is not installed
    config = {"phase": "train", "attention": "fused", "dim": 16, "lr": 0.5, "compile": False}
    curve = [{"loss": 2.5}, {"loss": 1.25}]
    with scratch_directory() as folder, contextlib.chdir(folder):
        first = TrackedRun("fused+rope seed 0", "bench", Path(folder) / "runs", config, curve=curve)
        first = replace(first, values={"accuracy": 0.8125, "params": 1234.0})
        tuned = replace(first, config={**config, "phase": "tune"}, values={"accuracy": 0.6875})
        failed = replace(first, name="naive+rope seed 1", status="oom", curve=(), values={})
        thread, shown = TrackerThread(part.choice), set[str]()
        for run in (first, failed, tuned, replace(first, name="naive+none seed 2", group="other")):
            given = copy.deepcopy(run)
            thread.show(run)
            thread.wait()
            must(run == given, f"it changes the run that it is shown ({run.name})")
            # An error of a library's own at once, such as that nobody has logged in.
            away = run is first and not hasattr(builtins, (thread.failure or "").split(":")[0])
            if thread.failure and (away or thread.failure.endswith("is not installed")):
                raise CheckSkipped(f"it cannot show runs here: {thread.failure}")
            what = f"shown a run with status '{run.status}', {len(run.values)} values"
            must(thread.failure is None, f"{what}: {thread.failure}")
            files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
            written = "\n".join(f"{path}\n{path.read_text('utf-8', 'replace')}" for path in files)
            marks = {mark for mark in (first.name, "0.8125", failed.name) if mark in written}
            gone = ", ".join(sorted(shown - marks))
            must(not gone, f"{what}: what it wrote of another run is gone ({gone})")
            shown = marks
        hidden = first.name in shown and failed.name not in shown
        must(not hidden, "a run that failed is not shown")


def _training(epochs: int) -> TrainJob:
    """A training of a small model, which leaves its weights."""
    registry, sizes = built_ins(), Sizes(dim=8, layers=1, heads=2, ffn_dim=16, max_length=16)
    name = Request().task
    task = registry.choose("task", name).build()
    data = task.load("order(train=24, test=12)", task.options(), sizes, registry).encoded
    training, execution = Training(epochs=epochs, batch_size=8), Execution(device="cpu")
    setup = JobSetup(name, {}, sizes, training, execution, data.key)
    cell = Cell.parse(registry, {**PLAIN_PARTS, "pe": "sin", "pool": "mean"})
    return TrainJob(setup, "a training", f"job-{epochs}", cell.parts, save_weights=True)


def _executor(part: Part) -> None:
    """It starts and ends every job once, also one that fails, and keeps to limits."""
    training, endless = _training(1), _training(100_000)
    jobs = [
        replace(training, name=FAILS, key="job-0", model={}),
        InspectJob(training.setup, "a job", "job-2"),
        InspectJob(training.setup, "another job", "job-3"),
        training,
    ]
    try:
        made = is_a(part.make(), Executor)
        made.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    try:
        limits = Limits(jobs=1, threads=1)
        own = made.default_limits(limits)
        must((own.jobs, own.threads) == (1, 1), f"asked for one job and thread, it takes {own}")
        with scratch_directory() as directory:
            _exchange(jobs, made.run(jobs, limits=limits, directory=directory))
        with scratch_directory() as directory:
            events = made.run([endless], limits=limits, directory=directory)
            must(any(isinstance(e, Advanced) for e in events), "no event says how far a job is")
            events.close()
            must(_at_rest(directory), "closing the iterator does not stop the job")
            kept = [f for f in (directory / UNFINISHED).rglob("*") if f.is_file()]
            must(bool(kept), "closing the iterator removes what the unfinished job goes on with")
    finally:
        made.close()


def _exchange(jobs: Sequence[Any], events: Any) -> None:
    """What an executor says of the jobs, one of which must fail."""
    seen = list[Started | Ended]()
    for event in events:
        seen += [event] if isinstance(event, Started | Ended) else []
        files = event.result.artifacts if isinstance(event, Ended) else {}
        must(all(file.is_file() for file in files.values()), "a job has ended without its files")
    said = [f"{type(event).__name__} {event.job.name}" for event in seen]
    names = dict.fromkeys(event.job.name for event in seen)
    once = said == [f"{kind} {name}" for name in names for kind in ("Started", "Ended")]
    what = "each job must start, then end, once, before another one starts"
    must(once and len(names) == len(jobs), f"{what}; it says {', '.join(said)}")
    for job, result in ((event.job, event.result) for event in seen if isinstance(event, Ended)):
        what = f"{job.name}: {result.status}: {result.reason}"
        if job.name == FAILS:
            must(result.status not in ("ok", "skipped") and bool(result.reason), what)
        else:
            must(result.status == "ok", what)
            must(bool(result.environment.get("device")), f"{job.name}: no environment")
            saves = isinstance(job, TrainJob)
            must(not saves or WEIGHTS in result.artifacts, f"{job.name} leaves no weights")


def _at_rest(directory: Path) -> bool:
    """Whether files stop changing within ten seconds."""
    before: list[tuple[str, int]] | None = None
    for _ in range(20):
        time.sleep(0.5)
        with contextlib.suppress(FileNotFoundError):
            files = [(str(f), f.stat().st_mtime_ns) for f in sorted(directory.rglob("*"))]
            if files == before:
                return True
            before = files
    return False
