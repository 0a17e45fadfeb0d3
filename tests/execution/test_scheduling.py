"""Which node is given what, and what becomes of jobs whose nodes die. No process is started."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated_nodes import (
    CPU_ONLY,
    EPOCHS,
    Simulated,
    costs,
    executor,
    facts,
    inspection,
    trainings,
)

from zoo.data.cache import entry, write_manifest
from zoo.errors import ZooError
from zoo.execution.base import (
    DataReference,
    Ended,
    Event,
    Job,
    JobSetup,
    Limits,
    NodeStatus,
    Notice,
    Started,
)
from zoo.execution.cluster.cluster_executor import ClusterExecutor

LIMITS = Limits(jobs=0, threads=1)


def run(
    engine: Simulated, jobs: list[Job], directory: Path, limits: Limits = LIMITS, **options: Any
) -> list[Event]:
    events = list(executor(engine, **options).run(jobs, limits=limits, directory=directory))
    ended = [event.job.key for event in events if isinstance(event, Ended)]
    assert sorted(ended) == sorted(job.key for job in jobs)
    started = [event.job.key for event in events if isinstance(event, Started)]
    assert Counter(started) == Counter(ended)
    assert not list(directory.iterdir())
    return events


def results(events: list[Event]) -> dict[str, str]:
    return {event.job.key: event.result.status for event in events if isinstance(event, Ended)}


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def test_a_job_whose_slot_is_killed_ten_times_goes_on_from_its_last_epoch(tmp_path: Path) -> None:
    kills: list[int] = []

    def kill(engine: Simulated) -> None:
        for slot in engine.busy()[:1]:
            trained = engine.ran.get("key0", [])
            if len(kills) < 10 and trained and trained[-1] < EPOCHS and len(trained) > len(kills):
                kills.append(trained[-1])
                engine.lose(slot)

    engine = Simulated(kill)
    engine.add("one")
    engine.add("two")
    events = run(engine, trainings(5), tmp_path)
    assert set(results(events).values()) == {"ok"}
    assert len(kills) >= 3
    # No epoch that came home is trained twice.
    for trained in engine.ran.values():
        assert trained == sorted(trained)
        assert len(trained) <= EPOCHS + len(kills)
    assert len(notices(events)) == len(kills)
    assert all(text.startswith("again: job ") for text in notices(events))


@pytest.mark.parametrize("advances", [False, True])
def test_three_losses_count_only_while_no_checkpoint_comes_home(
    advances: bool, tmp_path: Path
) -> None:
    lost: list[str] = []

    def kill(engine: Simulated) -> None:
        for slot in engine.busy():
            epochs = engine.ran.get("key0", [])
            if len(lost) < 3 and (len(epochs) == len(lost) + 1 if advances else not epochs):
                lost.append(engine.slots[slot].node)
                engine.lose(slot)

    engine = Simulated(kill)
    for name in ("one", "two", "three"):
        engine.add(name)
    events = run(engine, trainings(1), tmp_path)
    assert len(lost) == 3
    (result,) = [event.result for event in events if isinstance(event, Ended)]
    if advances:
        assert result.status == "ok"
    else:
        assert result.status == "lost"
        assert result.reason == (
            "its process was lost 3 times, each time before a new checkpoint; "
            f"the last time on {lost[-1]}: it was killed"
        )
        assert result.environment["node"] == lost[-1]
        assert set(lost) == {"one", "two", "three"}  # it is not given to the node that lost it


def test_a_slot_that_the_node_kills_for_lack_of_memory_is_no_loss(tmp_path: Path) -> None:
    def kill(engine: Simulated) -> None:
        for slot in engine.busy():
            if engine.slots[slot].job.key == "key0":  # type: ignore[union-attr]
                engine.lose(slot, out_of_memory=True)

    engine = Simulated(kill)
    engine.add("one")
    events = run(engine, trainings(2), tmp_path)
    assert results(events) == {"key0": "oom", "key1": "ok"}


def test_a_node_that_dies_gives_its_jobs_to_others_and_a_late_one_gets_work(
    tmp_path: Path,
) -> None:
    def change(engine: Simulated) -> None:
        if "late" not in engine.facts and engine.busy("one"):
            engine.leave("one")
            engine.add("late", cores=2)

    engine = Simulated(change)
    engine.add("one", cores=2)
    events = run(engine, trainings(6), tmp_path)
    assert set(results(events).values()) == {"ok"}
    assert {event.node for event in events if isinstance(event, Ended)} == {"late"}
    shown = [event for event in events if isinstance(event, NodeStatus)]
    assert shown[0] == NodeStatus("one", 2, 0, 0)
    assert NodeStatus("one", 0, 0, 0) in shown
    assert shown[-1] == NodeStatus("late", 2, 0, 6)
    assert max(event.busy for event in shown) == 2


def test_a_silent_node_is_given_up_after_its_limit(tmp_path: Path) -> None:
    def stall(engine: Simulated) -> None:
        if engine.busy("one"):
            engine.stalled.add("one")

    engine = Simulated(stall)
    engine.add("one")
    engine.add("two")
    events = run(engine, trainings(2), tmp_path, silence=0.2)
    assert set(results(events).values()) == {"ok"}
    assert any("one was lost (silent for 0.2 s)" in text for text in notices(events))


def test_a_node_without_a_sign_of_life_at_first_keeps_no_job_from_others(tmp_path: Path) -> None:
    engine = Simulated()
    engine.add("one")
    engine.add("two")
    jobs, events = trainings(3), []
    running: ClusterExecutor = executor(engine)
    for event in running.run([inspection(device="cpu")], limits=LIMITS, directory=tmp_path):
        assert isinstance(event, Event)
    engine.stalled.add("one")
    for slot in [key for key, slot in engine.slots.items() if slot.node == "one"]:
        engine.lose(slot)
    for event in running.run(jobs, limits=LIMITS, directory=tmp_path):
        events.append(event)
    assert {event.node for event in events if isinstance(event, Ended)} == {"two"}


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        (facts(torch="1.0"), "it has torch 1.0, and the run was started with torch"),
        (facts(python="3.9.0"), "it has Python 3.9.0, and the run was started with Python"),
        (facts(wrong_code="other code in train"), "other code in train"),
        (facts(cuda=("bf16",)), "torch finds no device cpu there; there is: cuda"),
        (facts(cpu=("bf16",)), "its cpu does not compute in fp32"),
    ],
    ids=["torch", "python", "code", "device", "precision"],
)
def test_a_node_that_differs_is_left_out_by_name_and_where_none_is_left_nothing_runs(
    about: Any, reason: str, tmp_path: Path
) -> None:
    engine = Simulated()
    engine.add("good")
    engine.add("odd", about=about)
    events = run(engine, trainings(3), tmp_path)
    assert {event.node for event in events if isinstance(event, Ended)} == {"good"}
    (text,) = notices(events)
    assert text.startswith("odd is left out: ")
    assert reason in text
    alone = Simulated()
    alone.add("odd", about=about)
    with pytest.raises(ZooError, match="no node can run this: odd: ") as caught:
        list(executor(alone).run(trainings(1), limits=LIMITS, directory=tmp_path))
    assert reason in str(caught.value)


def test_auto_is_resolved_once_to_the_best_device_that_a_node_has(tmp_path: Path) -> None:
    """The process that submits needs no GPU; nodes without one are left out."""
    engine = Simulated()
    engine.add("old", cores=4)
    engine.add("gpu", cores=4, gpus=2, about=facts(cpu=("fp32",), cuda=("fp32", "bf16")))
    events = run(engine, [inspection()], tmp_path)
    (ended,) = [event for event in events if isinstance(event, Ended)]
    assert (ended.node, ended.result.environment["device"]) == ("gpu", "cuda")
    assert ended.result.environment["precision"] == "bf16"
    assert any("old is left out: torch finds no device cuda" in text for text in notices(events))
    engine = Simulated()
    engine.add("gpu", cores=4, gpus=2, about=facts(cpu=("fp32",), cuda=("fp32", "bf16")))
    setup = inspection(device="cuda", precision="bf16").setup
    events = run(engine, trainings(6, setup), tmp_path)
    assert max(e.busy for e in events if isinstance(e, NodeStatus)) == 2
    assert set(engine.opened) == {("gpu", 1, 1)}


@pytest.mark.parametrize(("jobs", "most"), [(0, 4), (3, 3), (9, 4)])
def test_as_many_jobs_at_once_as_there_is_room_for_or_as_asked(
    jobs: int, most: int, tmp_path: Path
) -> None:
    at_once: list[int] = []
    engine = Simulated(lambda engine: at_once.append(len(engine.busy())))
    engine.add("one", cores=5)
    engine.add("two", cores=4)
    run(engine, trainings(12), tmp_path, Limits(jobs=jobs, threads=2))
    assert max(at_once) == most
    assert {cores for _, cores, _ in engine.opened} == {2}


def test_a_cost_job_has_a_node_like_the_inspected_one_for_itself(tmp_path: Path) -> None:
    engine = Simulated()
    for name, machine in (("slow", "old"), ("fast", "new"), ("same", "new"), ("weak", "old")):
        engine.add(name, cores=4, about=facts(machine=machine))
    cluster = executor(engine)
    inspected = list(cluster.run([inspection()], limits=LIMITS, directory=tmp_path))
    (reference,) = [event.node for event in inspected if isinstance(event, Ended)]
    alike = {"slow", "weak"} if reference in ("slow", "weak") else {"fast", "same"}
    jobs = [*costs(4), *trainings(8)]
    events = list(cluster.run(jobs, limits=LIMITS, directory=tmp_path))
    assert set(results(events).values()) == {"ok"}
    order = [event.job.kind for event in events if isinstance(event, Ended)]
    assert order == ["train"] * 8 + ["cost"] * 4
    assert {e.node for e in events if isinstance(e, Ended) and e.job.kind == "cost"} == alike
    assert engine.overlaps == set()
    assert {cores for node, cores, _ in engine.opened[-2:]} == {4}
    again = list(cluster.run(trainings(2), limits=LIMITS, directory=tmp_path))
    assert set(results(again).values()) == {"ok"}


def test_where_no_node_is_left_the_run_waits_for_one_and_gives_up_in_the_end(
    tmp_path: Path,
) -> None:
    def change(engine: Simulated) -> None:
        if engine.busy("one"):
            engine.leave("one")

    engine = Simulated(change)
    engine.add("one")
    cluster = executor(engine, wait=0.2)
    inspect = [inspection(device="cpu")]
    engine.before = lambda engine: None
    list(cluster.run(inspect, limits=LIMITS, directory=tmp_path))
    engine.before = change
    with pytest.raises(ZooError, match=r"no node is left, and none came within 0.2 s"):
        list(cluster.run(trainings(2), limits=LIMITS, directory=tmp_path))
    assert engine.slots == {}


@pytest.fixture
def with_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobSetup]:
    """The setup of jobs whose data are in the cache of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))

        def write(draft: Path) -> None:
            (draft / "tokens").write_bytes(b"123")
            write_manifest(draft, {})

        entry("some-data", write)
        yield replace(CPU_ONLY, data=DataReference("some-data"))


def test_data_are_sent_once_to_each_node_and_again_where_they_were_damaged(
    with_data: JobSetup, tmp_path: Path
) -> None:
    def damage(engine: Simulated) -> None:
        if engine.ran.get("key5") and len(engine.sent) == 2:
            engine.caches["one"].clear()

    engine = Simulated(damage)
    engine.add("one", cores=3)
    engine.add("two", cores=3)
    events = run(engine, trainings(24, with_data), tmp_path)
    assert set(results(events).values()) == {"ok"}
    assert sorted(engine.sent) == ["one", "one", "two"]


def test_data_reach_the_other_slots_of_a_node_where_the_one_that_they_were_sent_to_is_killed(
    with_data: JobSetup, tmp_path: Path
) -> None:
    killed: list[str] = []

    def kill(engine: Simulated) -> None:
        if engine.sent and not killed:
            killed.extend(k for k, s in engine.slots.items() if s.calls[-1] == "store_data")
            for slot in killed:
                engine.lose(slot)

    engine = Simulated(kill)
    engine.add("one", cores=3)
    events = run(engine, trainings(3, with_data), tmp_path)
    assert len(killed) == 1
    assert set(results(events).values()) == {"ok"}
    assert engine.sent == ["one", "one"]


def test_a_node_whose_cache_keeps_nothing_is_given_up(with_data: JobSetup, tmp_path: Path) -> None:
    engine = Simulated(lambda engine: engine.caches.pop("one", None))
    engine.add("one")
    engine.add("two")
    events = run(engine, trainings(4, with_data), tmp_path)
    assert set(results(events).values()) == {"ok"}
    assert {event.node for event in events if isinstance(event, Ended)} == {"two"}
    assert any("its cache does not keep the data" in text for text in notices(events))


def test_a_run_that_is_closed_stops_its_slots(tmp_path: Path) -> None:
    engine = Simulated()
    engine.add("one", cores=2)
    events = executor(engine).run(trainings(4), limits=LIMITS, directory=tmp_path)
    while not isinstance(next(events), Started):
        pass
    events.close()
    assert engine.busy() == []


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_jobs(tmp_path: Path) -> None:
    """10,000 jobs that do nothing; what is measured at 2,000 and at the end differs little."""
    jobs = trainings(10_000)
    engine = Simulated(epochs=0)
    for number in range(4):
        engine.add(f"node-{number}", cores=16)
    ended, blocks = 0, []
    for event in executor(engine).run(jobs, limits=LIMITS, directory=tmp_path):
        if isinstance(event, Ended):
            ended += 1
            if ended in (2_000, 10_000):
                gc.collect()
                blocks.append(sys.getallocatedblocks())
    assert ended == 10_000
    assert blocks[1] - blocks[0] < 4_000  # less than one object for two jobs
