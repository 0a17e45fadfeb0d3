"""What may go wrong on the nodes of a cluster: jobs, caches, code, and the nodes themselves."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from process_nodes import Nodes
from small_runs import CLASSIFY, bench, cell, prepared, result_of
from test_failures import EXPECTED, FAILING
from test_same_code import SOURCE, machine

import zoo
from zoo.data.cache import cache_directory
from zoo.errors import ZooError
from zoo.execution.base import Ended, Event, Limits, NodeStatus, Notice, TrainJob
from zoo.execution.base import Progress as JobProgress
from zoo.sweep.progress import Silent
from zoo.sweep.records import Record, RecordFile

ONE_CELL = {"pe": "sin", "baseline": "none", "phases": "train"}
TIMEOUT = 25  # seconds; two nodes that import torch are slower than one machine


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    nodes.add("one")
    nodes.add("two")
    yield nodes
    nodes.close()


class Watching(Silent):
    """Notes notices, and calls a function at each event."""

    def __init__(self, during: Callable[[Event], None] = lambda event: None) -> None:
        self.notices: list[str] = []
        self.during = during

    def event(self, event: Event, metrics: object = ()) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.text)
        self.during(event)


@pytest.fixture(scope="module")
def failed(
    nodes: Nodes, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Record]:
    options = {
        **CLASSIFY,
        **ONE_CELL,
        "data": str(corpus),
        "attention": "hangs,raises,exits,segfaults,hungry,diverges,fused",
        "timeout": TIMEOUT,
        "memory_limit": 6000,
    }
    out = tmp_path_factory.mktemp("failures")
    outcome = bench(out, options, on=nodes.on, plugins=(FAILING,))
    return {record.cell["attention"]: record for record in outcome.records}


@pytest.mark.slow
@pytest.mark.parametrize(("attention", "status", "reason", "trace"), EXPECTED)
def test_a_job_that_fails_has_the_status_and_reason_that_it_has_on_one_machine(
    failed: dict[str, Record], attention: str, status: str, reason: str, trace: str
) -> None:
    """The file that registers the attentions exists only on the machine that submits."""
    record = failed[attention]
    assert record.status == status
    assert reason.format(timeout=TIMEOUT) in record.reason
    assert trace in record.traceback
    assert record.environment["node"] in ("one", "two")
    assert record.environment["device"] == "cpu"


@pytest.mark.slow
def test_a_damaged_cache_mends_itself(nodes: Nodes, small: dict[str, Any], tmp_path: Path) -> None:
    options = {**small, **ONE_CELL}
    whole = bench(tmp_path / "whole", options)
    bench(tmp_path / "first", options, on=nodes.on)
    files = [
        file
        for name in ("one", "two")
        for manifest in (nodes.root / name / "cache").glob("*/meta.json")
        for file in manifest.parent.iterdir()
    ]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    again = bench(tmp_path / "again", {**options, "seeds": 2}, on=nodes.on)
    assert [record.status for record in again.records] == ["ok", "ok"]
    (first,) = (record for record in again.records if record.seed == 0)  # either may end first
    assert result_of(first) == result_of(whole.records[0])


def test_a_damaged_cache_of_the_machine_that_submits_mends_itself(
    nodes: Nodes, tmp_path: Path
) -> None:
    """A Ray of this machine's own has one cache for both."""
    setup = prepared({**CLASSIFY, "data": "newswire(train=24,test=8)", "epochs": 1}).setup
    assert setup.data is not None
    entry = cache_directory() / setup.data.key
    expected = {file.name: file.read_bytes() for file in entry.iterdir()}
    for file in entry.iterdir():
        file.write_bytes(b"damaged")
    job = TrainJob(setup, "a cell", "key", model=cell())
    events = nodes.executor.run([job], limits=Limits(), directory=tmp_path)
    assert [event.result.status for event in events if isinstance(event, Ended)] == ["ok"]
    assert {file.name: file.read_bytes() for file in entry.iterdir()} == expected


def test_nodes_with_other_code_are_left_out_by_name(tmp_path: Path) -> None:
    """A plug-in that is missing or changed, another torch, an edited zoo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_PLUGINS", "zoo-mine")
        for name in ("here", "other"):
            (tmp_path / name).mkdir()
        site = machine(tmp_path / "here", SOURCE)
        other = machine(tmp_path / "other", SOURCE.replace("(Fused):", "(Fused):\n    a = 2\n"))
        old = tmp_path / "old" / "torch-1.0.dist-info"
        old.mkdir(parents=True)
        (old / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
        edited = tmp_path / "edited" / "zoo"
        shutil.copytree(Path(zoo.__file__).parent, edited)
        trainer = edited / "training" / "trainer.py"
        trainer.write_text(trainer.read_text() + "\nEDITED = True\n")
        options = {**CLASSIFY, "data": "newswire(train=24,test=8)", "epochs": 1}
        nodes = Nodes(tmp_path / "nodes")
        nodes.add("good")
        nodes.add("missing", hidden=[str(site.folder)])
        nodes.add("changed", path=[str(other.folder)])
        nodes.add("old", path=[str(old.parent)])
        nodes.add("edited", path=[str(edited.parent)])
        with site.on_the_path(), contextlib.closing(nodes):
            setup = prepared({**options, "attention": "mine"}).setup
            job = TrainJob(setup, "a cell", "key", model=cell(attention="mine"))
            events = list(
                nodes.executor.run([job], limits=Limits(jobs=0), directory=tmp_path / "out")
            )
            (ended,) = (event for event in events if isinstance(event, Ended))
            assert (ended.result.status, ended.node) == ("ok", "good")
            left_out = {e.text.partition(" ")[0]: e.text for e in events if isinstance(e, Notice)}
            assert sorted(left_out) == ["changed", "edited", "missing", "old"]
            assert "needs zoo-mine 1.0, which is not installed" in left_out["missing"]
            assert "other code in zoo_mine" in left_out["changed"]
            assert "it has torch 1.0, and" in left_out["old"]
            assert "other code in train" in left_out["edited"]
            nodes.remove("good")
            with pytest.raises(ZooError, match=r"no node can run this: .*missing: "):
                list(
                    nodes.executor.run([replace(job, key="2")], limits=Limits(), directory=tmp_path)
                )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_kills_of_a_node_in_mid_trial_leave_the_records_of_an_undisturbed_run(
    small: dict[str, Any], tmp_path: Path
) -> None:
    """Every process of the node dies, and sometimes its disk; a node of that name comes again."""
    options = {**small, **ONE_CELL, "attention": "fused,naive", "seeds": 3, "epochs": 6}
    whole = bench(tmp_path / "whole", options)
    nodes = Nodes(tmp_path / "nodes")
    for name in ("one", "two"):
        nodes.add(name)
    kills: list[tuple[str, int]] = []  # job and epoch
    again: set[str] = set()  # jobs that were lost and have not come further since
    resumed_at: list[int] = []  # the first epoch of a job after it was lost
    busy: set[str] = set()  # nodes that have a job
    expected: set[str] = set()  # nodes whose death has not been noticed yet

    def kill(event: Event) -> None:
        if isinstance(event, NodeStatus):
            (busy.add if event.busy else busy.discard)(event.node)
        if isinstance(event, Notice) and event.text.startswith("again: "):
            again.add(event.text.split(": ")[1])
        if isinstance(event, Notice | Ended):
            expected.clear()
        if not isinstance(event, JobProgress) or event.job.kind != "train":
            return
        name, step = event.job.name, event.step
        if name in again:
            again.discard(name)
            resumed_at.append(step.done)
        if expected:  # the event may be older than the last kill
            return
        if len(kills) < 10 and step.done < step.total and (name, step.done) not in kills:
            victim = next((n for n in ("one", "two") if n in busy and nodes.processes(n)), "")
            if not victim:
                return
            kills.append((name, step.done))
            expected.add(victim)
            if len(kills) % 3:
                for process in nodes.processes(victim):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
            else:
                nodes.remove(victim)
                nodes.add(victim)

    with contextlib.closing(nodes):
        progress = Watching(kill)
        outcome = bench(tmp_path / "out", options, on=nodes.on, progress=progress)
    assert len(kills) == 10
    assert len({record.key for record in outcome.records}) == len(outcome.records) == 6
    assert {r.key: result_of(r) for r in outcome.records} == {
        r.key: result_of(r) for r in whole.records
    }
    assert len(resumed_at) >= 5
    assert max(resumed_at) > 1
    assert len(RecordFile(tmp_path / "out").read()) == 6


@pytest.mark.slow
def test_a_run_whose_engine_is_killed_ends_in_one_line_and_goes_on_with_the_same_command(
    small: dict[str, Any], tmp_path: Path
) -> None:
    options = {**small, **ONE_CELL, "attention": "fused,naive", "epochs": 4}
    nodes = Nodes(tmp_path / "nodes")
    nodes.add("one")

    def kill(event: Event) -> None:
        if isinstance(event, Ended) and event.job.kind == "train":
            engines = (
                process
                for process in psutil.Process().children()
                if "engine_process" in " ".join(process.cmdline())
            )
            max(engines, key=psutil.Process.create_time).kill()

    with contextlib.closing(nodes), pytest.raises(ZooError, match=r"Folders is gone: .* SIGKILL"):
        bench(tmp_path / "out", options, on=nodes.on, progress=Watching(kill))
    assert len(RecordFile(tmp_path / "out").read()) == 1
    done = bench(tmp_path / "out", options)
    assert (done.trained, len(done.records)) == (1, 2)
    assert {record.status for record in done.records} == {"ok"}
