"""A cost job: a group of models measured in turns, in processes of its own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_runs import CLASSIFY, FAILING, bench, cell, executor_plugin, prepared

from zoo.config.sizes import Sizes
from zoo.execution.base import (
    CostJob,
    CostMember,
    Ended,
    Event,
    Job,
    Limits,
    ModelSpec,
    Progress,
    Result,
    Started,
)
from zoo.execution.local import InlineExecutor
from zoo.measure.round_ratios import narrow_enough

MEMBERS = (
    CostMember(cell()),
    CostMember(cell(), twin=True),
    CostMember(cell(attention="raises")),
    CostMember(cell(attention="naive")),
    CostMember(ModelSpec(baseline="tfidf-logreg")),
    CostMember(
        cell(attention="fused/naive"),
        Sizes(dim=16, layers=2, heads=2, ffn_dim=32, max_length=24, vocab_size=120),
    ),
)
REFERENCE, TWIN, RAISES, NAIVE, BASELINE, HYBRID = range(len(MEMBERS))


@pytest.fixture(scope="module")
def events(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Event]:
    setup = prepared({**CLASSIFY, "data": str(corpus)}, (FAILING,)).setup
    job = CostJob(setup, "group", "key", members=MEMBERS, rounds=3)
    directory = tmp_path_factory.mktemp("cost")
    return list(InlineExecutor().run([job], limits=Limits(), directory=directory))


@pytest.fixture(scope="module")
def members(events: Sequence[Event]) -> tuple[Result, ...]:
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.result.status == "ok"
    return ended.result.members


def test_members_come_in_their_order_and_one_that_fails_stops_no_other(
    events: Sequence[Event], members: tuple[Result, ...]
) -> None:
    assert [type(event) for event in events] == [Started, Progress, Progress, Progress, Ended]
    steps = [event.step for event in events if isinstance(event, Progress)]
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    assert [member.status for member in members] == ["ok", "ok", "crashed", "ok", "ok", "ok"]
    failed = members[RAISES]
    assert failed.reason.startswith("RuntimeError: no such luck (failing.py:")
    assert "in attend" in failed.traceback
    assert (failed.metrics, failed.samples) == ({}, {})
    assert failed.environment == members[REFERENCE].environment
    # The twin measures noise and has no result of its own.
    assert (members[TWIN].metrics, members[TWIN].samples) == ({}, {})
    kernels = [members[place].metrics["kernels"] for place in (REFERENCE, NAIVE, BASELINE)]
    assert any("scaled_dot_product" in name for name in kernels[0])
    assert kernels[1:] == [["_softmax"], []]
    assert members[HYBRID].metrics["kernels"] == sorted([*kernels[0], "_softmax"])


def test_every_member_has_its_rounds_those_of_reference_and_twin_and_memory(
    members: tuple[Result, ...],
) -> None:
    for place in (REFERENCE, NAIVE, BASELINE, HYBRID):
        samples, metrics = members[place].samples, members[place].metrics
        assert len(samples["rounds"]) == 3
        assert set(samples["memory"]) == {"training", "inference"}
        assert all(one["peak_mib"] >= 0 for one in samples["memory"].values())
        for one in samples["rounds"]:
            assert all(seconds > 0 for phase in one.values() for seconds in phase)
        assert metrics["train_tokens_per_s"] > 0
        assert metrics["latency_ms"] > 0
        assert metrics["compile_seconds"] is None  # nothing is compiled
        assert samples["matrix_rate"] > 0
        if place != HYBRID:
            assert samples["session"] == members[REFERENCE].samples["session"]
            assert samples["reference"]["name"] == cell().name
            assert samples["reference"]["rounds"] == members[REFERENCE].samples["rounds"]
            assert len(samples["twin"]["rounds"]) == 3
            assert samples["twin"]["rounds"] != samples["reference"]["rounds"]


def test_a_group_of_which_no_member_can_be_measured_ends(corpus: Path, tmp_path: Path) -> None:
    setup = prepared({**CLASSIFY, "data": str(corpus)}, (FAILING,)).setup
    job = CostJob(setup, "group", "key", members=(CostMember(cell(attention="raises")),), rounds=2)
    *_, ended = InlineExecutor().run([job], limits=Limits(), directory=tmp_path)
    assert isinstance(ended, Ended)
    assert [member.status for member in ended.result.members] == ["crashed"]


def test_rounds_end_when_every_speed_is_known_and_never_before_the_least(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = prepared({**CLASSIFY, "data": str(corpus)}).setup
    members = (CostMember(cell()), CostMember(cell(pe="sin")))
    job = CostJob(setup, "group", "key", members=members, rounds=6, least_rounds=3)
    bounds = iter([1e-9, 1e9])  # after three rounds too little is known, and after four enough
    monkeypatch.setattr(
        "zoo.execution.cost_job.narrow_enough", lambda ratios: narrow_enough(ratios, next(bounds))
    )
    *_, ended = InlineExecutor().run([job], limits=Limits(), directory=tmp_path)
    assert isinstance(ended, Ended)
    assert len(ended.result.members[1].samples["rounds"]) == 4


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiling_takes_what_the_first_steps_took_beyond_later_ones(
    corpus: Path, tmp_path: Path
) -> None:
    setup = prepared({**CLASSIFY, "data": str(corpus), "compile": True}).setup
    job = CostJob(setup, "group", "key", members=(CostMember(cell()),), rounds=1)
    ended = list(InlineExecutor().run([job], limits=Limits(), directory=tmp_path))[-1]
    assert isinstance(ended, Ended)
    (member,) = ended.result.members
    assert member.status == "ok", member.traceback
    # A step of this model takes milliseconds, and to compile it seconds.
    assert member.metrics["compile_seconds"] > 10 * max(member.samples["rounds"][0]["train"])


class Noting(InlineExecutor):
    """Notes the cost jobs that it is given; their results are made up."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path):
        if not isinstance(jobs[0], CostJob):
            return super().run(jobs, limits=limits, directory=directory)
        NOTED.extend(job for job in jobs if isinstance(job, CostJob))
        failed = Result("lost", "its machine went away", "a traceback")
        return (Ended(job, failed) for job in jobs)


NOTED: list[CostJob] = []


def test_groups_are_of_six_models_with_the_reference_and_its_twin_in_each(
    corpus: Path, tmp_path: Path
) -> None:
    """A group that fails as a whole is the result of each of its rows."""
    NOTED.clear()
    plugin = executor_plugin(tmp_path, "noting", f"{__name__}:Noting")
    options = {**CLASSIFY, "data": str(corpus), "attention": "fused,naive", "phases": "cost"}
    options |= {"pe": "rope,sin,none,learned"}
    outcome = bench(tmp_path / "out", options, on="noting", plugins=(plugin,))
    assert [len(job.members) for job in NOTED] == [2 + 6, 2 + 2]
    for job in NOTED:
        reference, twin, *others = job.members
        assert (reference.twin, twin.twin) == (False, True)
        assert reference.model == twin.model == cell()
        assert not any(member.twin or member.model == cell() for member in others)
    assert len(outcome.records) == 9  # the twin is not recorded, the reference once
    assert {(r.status, r.reason, r.traceback) for r in outcome.records} == {
        ("lost", "its machine went away", "a traceback")
    }
    assert len({record.name for record in outcome.records}) == 9
