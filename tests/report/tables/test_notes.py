"""Notes on where numbers come from say nothing of records that were replaced."""

from factory import caption, cell, cost_record, name, train_record

ROPE = "components/pe/rope.py"
FIRST, SECOND = {ROPE: "a" * 8, "models/build.py": "0" * 8}, {ROPE: "b" * 8}
CODE, MACHINES = "Made by several states of the code", "Made on several machines"


def on(record, torch: str = "2.13.0", code: dict[str, str] = FIRST):
    environment = {**record.environment, "torch": torch}
    return record.model_copy(update={"environment": environment, "code": code})


def trained(seed: int, **where):
    return on(train_record(cell(), seed, 3), **where)


def measured(**where):
    return on(cost_record(cell(), [1.0] * 12, name()), **where)


def test_a_cost_that_was_measured_again_leaves_no_trace():
    notes = caption([trained(0), measured(torch="2.11.0", code=SECOND), measured()])
    assert CODE not in notes
    assert MACHINES not in notes
    # The other way round the table does hold the number of the other machine.
    notes = caption([trained(0), measured(), measured(torch="2.11.0", code=SECOND)])
    assert f"{CODE}: {ROPE}." in notes
    assert MACHINES in notes


def test_a_seed_that_was_trained_again_leaves_no_trace():
    assert CODE not in caption([trained(0, code=SECOND), trained(1), trained(0)])
    assert CODE in caption([trained(0), trained(1, code=SECOND)])


def test_rows_need_not_depend_on_the_same_modules():
    other = {"components/pe/sin.py": "c" * 8, "models/build.py": "0" * 8}
    assert CODE not in caption([trained(0), trained(1, code=other)])
