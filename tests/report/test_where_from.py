"""A table says where its numbers come from, and nothing of records that later ones replaced."""

from __future__ import annotations

import pytest
from factory import caption, cell, cost_record, name, train_record

from zoo.report.run_report import RunReport

FIRST, SECOND = {"commit": "a" * 40, "dirty": False}, {"commit": "b" * 40, "dirty": False}
CODE, MACHINES = "Made by several states of the code", "Made on several machines"


def on(record, torch: str = "2.13.0", git: dict[str, object] = FIRST):
    return record.model_copy(
        update={"environment": {**record.environment, "torch": torch, "git": git}}
    )


def trained(seed: int, **where):
    return on(train_record(cell(), seed, 3), **where)


def measured(**where):
    return on(cost_record(cell(), [1.0] * 5, name()), **where)


def test_a_cost_that_was_measured_again_leaves_no_trace():
    records = [trained(0), measured(torch="2.11.0", git=SECOND), measured()]
    told = caption(records)
    assert CODE not in told
    assert MACHINES not in told
    # The other way round the table does hold the number of the other machine.
    told = caption([trained(0), measured(), measured(torch="2.11.0", git=SECOND)])
    assert f"{CODE}: commit {'a' * 12}, commit {'b' * 12}." in told
    assert MACHINES in told


def test_a_seed_that_was_trained_again_leaves_no_trace():
    records = [trained(0, git=SECOND), trained(1), trained(0)]
    assert CODE not in caption(records)
    assert CODE in caption([trained(0), trained(1, git=SECOND)])


@pytest.mark.parametrize("git", [FIRST, {"commit": "a" * 40, "dirty": True}])
def test_code_that_was_changed_since_its_commit_is_marked(git):
    told = " ".join(RunReport([trained(0), trained(1, git=git)]).notes)
    assert (f"{CODE}: commit {'a' * 12}, commit {'a' * 12}+." in told) is git["dirty"]
