"""A cost job: a group of models measured in turns, in processes of its own."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, FAILING, bench, cell, executor_plugin, prepared

from zoo.execution import cost_steps
from zoo.execution.base import (
    Advanced,
    CostJob,
    CostMember,
    Ended,
    Event,
    Job,
    Limits,
    Result,
    Started,
)
from zoo.execution.failures import JobError
from zoo.execution.local import InlineExecutor
from zoo.execution.process import Worker
from zoo.registry.cell import model_name
from zoo.tasks.classify import Classify
from zoo.training.trainer import Trainer

MEMBERS = (
    CostMember(cell()),
    CostMember(cell(attention="raises")),
    CostMember(cell(attention="naive")),
    CostMember(cell(attention="fused/naive")),
)
REFERENCE, RAISES, NAIVE, HYBRID = range(len(MEMBERS))


def measured(
    directory: Path, members: Sequence[CostMember], blocks: int = 0, **data: Any
) -> Result:
    """The result of a cost job of these members; data: options of what they are measured on."""
    setup = prepared({**CLASSIFY, **data}, (FAILING,)).setup
    members = tuple(members)
    job = CostJob(setup, "group", "key", members=members, blocks=blocks)
    *_, ended = InlineExecutor().run([job], limits=Limits(), directory=directory)
    return ended.result


@pytest.fixture(scope="module")
def events(corpus, tmp_path_factory) -> Sequence[Event]:
    setup = prepared({**CLASSIFY, "data": str(corpus), "layers": 2}, (FAILING,)).setup
    job = CostJob(setup, "group", "key", members=MEMBERS, blocks=3)
    directory = tmp_path_factory.mktemp("cost")
    return list(InlineExecutor().run([job], limits=Limits(), directory=directory))


@pytest.fixture(scope="module")
def members(events) -> tuple[Result, ...]:
    ended = events[-1]
    assert ended.result.status == "ok"
    return ended.result.members


def test_members_come_in_their_order_and_one_that_fails_stops_no_other(events, members):
    assert [type(event) for event in events] == [Started, Advanced, Advanced, Advanced, Ended]
    steps = [event.step for event in events if isinstance(event, Advanced)]
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    assert [member.status for member in members] == ["ok", "crashed", "ok", "ok"]
    failed = members[RAISES]
    assert failed.reason.startswith("RuntimeError: no such luck (failing.py:")
    assert "in attend" in failed.traceback
    assert (failed.metrics, failed.samples) == ({}, {})


def test_every_member_has_its_turns_those_of_the_reference_and_memory(members):
    for place in (REFERENCE, NAIVE, HYBRID):
        samples, metrics = members[place].samples, members[place].metrics
        assert samples["clock"] == "cpu"
        assert list(samples["turns"]) == ["train", "infer", "latency"]
        for clocks in samples["turns"].values():
            assert list(clocks) == ["wall", "cpu"]
            # Three blocks in two processes.
            assert all([len(of) for of in processes] == [2, 1] for processes in clocks.values())
            assert all(seconds > 0 for of in itertools.chain(*clocks.values()) for seconds in of)
        assert set(samples["memory"]) == {"training", "inference"}
        assert all(one["peak_mib"] >= 0 for one in samples["memory"].values())
        assert metrics["train_tokens_per_s"] > 0
        assert metrics["latency_ms"] > 0
        assert samples["session"] == members[REFERENCE].samples["session"]
        reference = samples["reference"]
        assert reference["name"] == model_name(cell())
        assert reference["turns"] == members[REFERENCE].samples["turns"]


class MadeUpPeaks(Worker):
    """Measures no memory; of ``learned`` it fails."""

    measures = ""  # the model whose peak was asked for

    def send(self, function: str, *arguments: Any) -> None:
        if function.endswith(":memory"):
            self.measures = model_name(arguments[1].model)
        else:
            super().send(function, *arguments)

    def result(self, seconds: float | None = None) -> Any:
        if not self.measures:
            return super().result(seconds)
        if "learned" in self.measures:
            raise JobError("crashed", "no peak")
        return {key: {"peak_mib": 1.0, "how": ""} for key in ("training", "inference")}


@pytest.fixture
def peaks(monkeypatch) -> None:
    monkeypatch.setattr("zoo.execution.cost_job.Worker", MadeUpPeaks)


@pytest.mark.usefixtures("peaks")
@pytest.mark.parametrize(("known_after", "expected"), [(2, [2, 1]), (99, [2, 2])])
def test_blocks_end_when_every_speed_is_known_and_never_before_the_least(
    corpus, tmp_path, monkeypatch, known_after, expected
):
    def enough(ratios, planned, narrow):
        train, _ = ratios
        assert (planned, narrow) == (2, 0.05)
        return sum(map(len, train)) >= known_after

    for name, value in {"narrow_enough": enough, "HALF": 1, "MOST_BLOCKS": 4}.items():
        monkeypatch.setattr(f"zoo.execution.cost_job.{name}", value)
    members = [CostMember(cell()), CostMember(cell(pe="sin"))]
    for member in measured(tmp_path, members, data=str(corpus)).members:
        for clocks in member.samples["turns"].values():
            assert [len(seconds) for seconds in clocks["cpu"]] == expected


@pytest.mark.usefixtures("peaks")
def test_a_member_that_dies_in_its_turn_costs_the_others_nothing(corpus, tmp_path, monkeypatch):
    """Its process dies in the first block; the others have all their turns in a new one.

    Nor does one whose memory could not be measured, which has no turn.
    """
    monkeypatch.setattr("zoo.execution.cost_job.STEPS", "zoo.execution.cost_steps")  # long turns
    cells = cell(), cell(attention="exitslater"), cell(pe="learned"), cell(pe="sin")
    results = measured(tmp_path, [*map(CostMember, cells)], 2, data=str(corpus)).members
    first, dead, failed, last = results
    assert [result.status for result in results] == ["ok", "crashed", "crashed", "ok"]
    assert dead.reason == "the process exited with status 7"
    assert (failed.reason, failed.samples) == ("no peak", {})
    for member in (first, last):
        assert [len(of) for of in member.samples["turns"]["train"]["cpu"]] == [1, 1]


@pytest.mark.usefixtures("peaks")
def test_what_has_no_memory_beside_others_is_measured_once_more_and_no_more(
    corpus, tmp_path, monkeypatch
):
    """Each with the reference alone. One never has memory, one once."""
    monkeypatch.setenv("HUNGRY_AT_FIRST", str(tmp_path / "been"))
    names = ("fused", "naive", "hungry", "hungryatfirst")
    members = [CostMember(cell(attention=name)) for name in names]
    results = measured(tmp_path, members, 1, data=str(corpus)).members
    assert [result.status for result in results] == ["ok", "ok", "oom", "ok"]
    assert results[3].samples["session"] != results[0].samples["session"]


class NoRoom(MadeUpPeaks):
    """Has memory for one peak at a time."""

    at_once = 0

    def send(self, function: str, *arguments: Any) -> None:
        super().send(function, *arguments)
        NoRoom.at_once += bool(self.measures)

    def result(self, seconds: float | None = None) -> Any:
        if self.measures and NoRoom.at_once > 1:
            raise JobError("oom", "no room")
        return super().result(seconds)

    def stop(self) -> None:
        NoRoom.at_once -= bool(self.measures)
        super().stop()


def test_a_peak_for_which_there_is_no_memory_beside_another_is_measured_alone(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr("zoo.execution.cost_job.Worker", NoRoom)
    monkeypatch.setattr("zoo.execution.cost_job.own_cores", lambda: 2)
    members = [CostMember(cell()), CostMember(cell(pe="sin"))]
    results = measured(tmp_path, members, 1, data=str(corpus)).members
    assert [result.metrics["peak_memory_mib"] for result in results] == [1.0, 1.0]


def test_the_memory_of_training_is_of_its_largest_batch(small, monkeypatch):
    steps = list[Any]()
    monkeypatch.setattr(Trainer, "train_step", lambda _, batch: steps.append(batch))
    exercised = "zoo.execution.cost_steps.peaks_of"
    monkeypatch.setattr(exercised, lambda _, first, load, set_up: set_up(load())("training"))
    cost_steps.memory(prepared(small).setup, MEMBERS[0])
    assert steps[-1].padded_tokens == CLASSIFY["batch_size"] * CLASSIFY["max_length"]


def test_models_with_the_same_batches_share_the_data_on_the_device(small, monkeypatch):
    loads, split = [], Classify.split
    monkeypatch.setattr(
        Classify, "split", lambda *args: loads.append(args[1].training) or split(*args)
    )
    for name in ("_prepared", "_examples"):
        monkeypatch.setattr(cost_steps, name, {})
    monkeypatch.setattr(cost_steps.gc, "freeze", lambda: None)
    setup = prepared(small).setup
    others = [{}, {"lr": 0.1}, {"batch_size": 3}, {"batch_size": 3, "dropout": 0.3}]
    for place, own in enumerate(others):
        training = setup.training.model_copy(update=own)
        cost_steps.prepare(setup, place, CostMember(cell(), training))
    assert [training.batch_size for training in loads] == [setup.training.batch_size, 3]


class Noting(InlineExecutor):
    """Notes the cost jobs that it is given; their results are made up."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path):
        if not isinstance(jobs[0], CostJob):
            return super().run(jobs, limits=limits, directory=directory)
        NOTED.extend(job for job in jobs if isinstance(job, CostJob))
        failed = Result("lost", "its machine went away", "a traceback")
        return (Ended(job, failed) for job in jobs)


NOTED: list[CostJob] = []


def test_groups_are_of_six_models_with_the_reference_in_each(corpus, tmp_path):
    """A group that fails as a whole is the result of each of its rows."""
    NOTED.clear()
    plugin = executor_plugin(tmp_path, "noting", f"{__name__}:Noting")
    options = {**CLASSIFY, "data": str(corpus), "attention": "fused,naive", "phases": "cost"}
    options |= {"pe": "rope,sin,none,learned"}
    outcome = bench(tmp_path / "out", options, on="noting", plugins=(plugin,))
    assert [len(job.members) for job in NOTED] == [1 + 6, 1 + 1]
    for job in NOTED:
        reference, *others = job.members
        assert reference.model == cell()
        assert not any(member.model == cell() for member in others)
    assert len(outcome.records) == 8  # the reference once
    assert {(r.status, r.reason, r.traceback) for r in outcome.records} == {
        ("lost", "its machine went away", "a traceback")
    }
    assert len({record.name for record in outcome.records}) == 8
