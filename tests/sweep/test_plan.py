"""Which rows a request comes to, before anything runs."""

import pytest
from refused import refused

from zoo.registry import Owner, Register, Registry
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import Plan, make_plan

OPTIONS = {
    "attention": "fused,naive",
    "pe": "sin,none,rope",
    "norm": "layer,rms",
    "baseline": "none",
}
LENGTHS = ("--max-length", "8,16", "--phases", "cost")


def plan_of(registry: Registry, **options: str) -> Plan:
    return make_plan(make_request(options, registry), registry)


def cells(registry: Registry, **options: str) -> list[tuple[str, str, str]]:
    chosen = [row.cell_names for row in plan_of(registry, **{**OPTIONS, **options}).rows]
    return [(cell["attention"], cell["pe"], cell["norm"]) for cell in chosen]


def test_a_factorial_design_crosses_the_axes(registry):
    found = cells(registry)
    assert len(found) == len(set(found)) == 2 * 3 * 2
    assert found[0] == ("fused", "sin", "layer")


def test_more_cells_than_anybody_can_train_are_refused_at_once(registry):
    every = dict.fromkeys(("attention", "norm", "ffn", "block", "pool"), "all")
    every["pe"] = ",".join(f"rope(base={base})" for base in range(100, 200))
    refused(r"cells: at most 20,000; choose fewer parts, or --design", plan_of, registry, **every)
    assert len(plan_of(registry, **every, design="one-factor").rows) < 200


def test_one_factor_at_a_time_changes_the_first_choice_of_each_axis(registry):
    assert cells(registry, design="one-factor") == [
        ("fused", "sin", "layer"),
        ("naive", "sin", "layer"),
        ("fused", "none", "layer"),
        ("fused", "rope", "layer"),
        ("fused", "sin", "rms"),
    ]


def test_one_factor_at_a_time_gives_a_part_that_cannot_rotate_the_next_encoding(registry):
    options = {"attention": "fused,torch", "norm": "layer", "design": "one-factor"}
    assert cells(registry, **options, pe="rope,none,sin") == [
        ("fused", "rope", "layer"),
        ("torch", "none", "layer"),
        ("fused", "none", "layer"),
        ("fused", "sin", "layer"),
    ]
    # That is one row, though the encoding is also a change of its own.
    only = {**options, "attention": "torch"}
    assert cells(registry, **only, pe="rope,none") == [("torch", "none", "layer")]
    alone = plan_of(registry, **{**OPTIONS, **options, "pe": "rope"}).rows
    assert [bool(row.skip_reason) for row in alone] == [False, True]


def test_the_reference_is_the_first_cell_or_the_one_that_is_asked_for(registry):
    plan = plan_of(registry, **OPTIONS, design="one-factor")
    assert plan.reference.startswith("fused+sin+layer")
    assert plan_of(registry, **OPTIONS, reference="rms+naive+sin").reference == (
        "naive+sin+rms+gelu+pre+mean"
    )
    wanted = r"--reference rms\+naive may be naive\+sin\+rms\+.*, naive\+none\+.* and naive\+rope\+"
    refused(wanted, plan_of, registry, **OPTIONS, reference="rms+naive")
    # What all cells have says nothing of which is meant.
    plan = plan_of(registry, attention="fused", pe="rope,none", ffn="none", reference="none")
    assert plan.reference == "fused+none+layer+none+pre+mean"
    refused("--reference split", plan_of, registry, **OPTIONS, reference="split")
    refused("--reference rope.rope", plan_of, registry, **OPTIONS, reference="rope+rope")
    # A cell that cannot run is no reference.
    plan = plan_of(registry, attention="torch,fused", pe="rope")
    assert plan.reference.startswith("fused+rope")


def test_patterns_are_choices_like_any_other(registry):
    axes = {"attention": "fused,naive/fused", "pe": "sin/none,rope"}
    found = cells(registry, **axes, norm="layer", layers="2")
    assert found == [
        ("fused", "sin/none", "layer"),
        ("fused", "rope", "layer"),
        ("naive/fused", "sin/none", "layer"),
        ("naive/fused", "rope", "layer"),
    ]
    one_factor = cells(registry, **axes, norm="layer", design="one-factor")
    assert one_factor == [found[0], found[2], found[1]]
    plan = plan_of(registry, **axes, reference="naive/fused+rope")
    assert plan.reference == "naive/fused+rope+layer+gelu+pre+mean"


def test_capabilities_are_those_of_each_layer(registry):
    plan = plan_of(registry, attention="fused/torch,torch/fused", pe="rope/none", baseline="none")
    assert {row.cell_names["attention"]: row.skip_reason for row in plan.rows} == {
        "fused/torch": "",
        "torch/fused": "torch cannot rotate queries and keys, which rope needs (layer 1)",
    }
    # What a task needs, it needs of every layer.
    plugin = Register(Owner("elsewhere", "1"))
    plugin("attention", "sees-all", object, summary="", capabilities=("padding", "rotate"))
    registry.admit(plugin)
    for task in ("lm", "seq2seq"):
        plan = plan_of(registry, task=task, attention="fused/sees-all,fused", baseline="none")
        reason, none = (row.skip_reason for row in plan.rows)
        assert reason.startswith("sees-all does not declare 'causal', which the task needs")
        assert none == ""


@pytest.mark.parametrize(
    ("attention", "exact"),
    [("fused", True), ("fused/naive", True), ("single", False), ("fused/single", False),
    ],
)  # fmt: skip
def test_cells_say_whether_their_attention_is_exact(registry, attention, exact):
    """With the heads of the model, which a single head has not; and in every layer."""
    options = {"attention": attention, "pe": "none", "norm": "layer", "baseline": "all"}
    cell, *baselines = plan_of(registry, **options).rows
    assert cell.exact is exact
    assert {row.exact for row in baselines} == {False}


def test_all_baselines_means_every_one_that_fits_the_task(registry):
    classifiers = ["majority", "tfidf-logreg"]
    for task, names in (("classify", classifiers), ("lm", ["ngram"]), ("seq2seq", [])):
        plan = plan_of(registry, task=task, baseline="all").with_data(())
        assert sorted(row.name for row in plan.rows if row.baseline) == names
        assert sorted(row.baseline_name for row in plan.rows[1:]) == names  # after all cells


def test_what_a_task_needs_of_components_is_checked_before_anything_runs(registry):
    plan = plan_of(registry, task="lm", attention="torch,fused", pe="rope,sin")
    obstacles = {row.name[:9]: row.skip_reason for row in plan.rows if row.skip_reason}
    assert obstacles == {"torch+rop": "torch cannot rotate queries and keys, which rope needs"}
    assert {row.name[:9] for row in plan.runnable} == {
        "fused+rop", "fused+sin", "torch+sin", "ngram",
    }  # fmt: skip
    refused("nothing can run: torch cannot rotate", plan_of, registry, attention="torch", pe="rope")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "27 trainings, 9 cost measurements"),
        ({"phases": "train"}, "27 trainings"),
        ({"phases": "cost"}, "9 cost measurements"),
        ({"phases": "cost", "max_length": "8,16"}, "9 cost measurements at each of 2 lengths"),
        ({"attention": "fused", "pe": "sin", "seeds": 1, "phases": "train"}, "1 training"),
        (
            {"pe": "sin", "lr": "0.1,0.2,0.3"},
            "18 trainings (9 to choose settings), 3 cost measurements",
        ),
    ],
    ids=["both", "scores", "costs", "lengths", "one", "tuned"],
)
def test_a_plan_counts_its_work(options, said, registry):
    given = {"attention": "fused,naive,split", "pe": "rope,sin,none", "baseline": "none"}
    assert plan_of(registry, **{**given, **options}).counts.startswith(said)


def test_the_plan_marks_every_impossible_cell_and_runs_nothing(tmp_path, said):
    out = tmp_path / "out"
    printed = said("bench", "--attention", "all", "--pe", "all", "--plan", "--out", out).out
    lines = [line for line in printed.splitlines() if line.startswith("torch")]
    assert any("rope" in line and "skipped: torch cannot rotate" in line for line in lines)
    assert sum(line.endswith("run") for line in lines) == 4
    # Also of a baseline, which has no parts, the plan is in the last column.
    head = next(line for line in printed.splitlines() if line.startswith("attention"))
    baseline = next(line for line in printed.splitlines() if line.startswith("tfidf-logreg "))
    assert baseline.index("run") == head.index("plan")
    assert not out.exists()
    of_costs = said("bench", "--phases", "cost", "--plan").out
    assert "tfidf-logreg" in of_costs
    assert "1 to run, 2 skipped" in of_costs
    assert "tfidf-logreg" not in said("bench", *LENGTHS, "--plan").out
    said("bench", *LENGTHS, "--baseline", "majority", "--plan", status=2)
