"""Effects of components: known effects are found, and absent ones are ties."""

import itertools

import pytest
from factory import (
    cell,
    cost_record,
    expected,
    name,
    simulated,
    skipped,
    train_record,
)
from rates import at_least, at_most, at_rate

from zoo.report.run_report import RunReport
from zoo.report.stats.effects import sentence

AXES = {"attention": ["fused", "naive"], "pe": ["rope", "sin", "none"]}
SQUARE = {"attention": ["fused", "naive"], "pe": ["rope", "sin"]}
WORTH = {"rope": 3.0, "sin": 2.6, "none": 2.0}


def effects(records):
    return RunReport(records).effects


def main(estimates):
    return {(e.axis, e.component, e.against): e for e in estimates.main}


def grid(axes, wrong, *, seeds=3):
    """Training records of a whole grid, whose cells get so many examples wrong."""
    cells = [cell(**dict(zip(axes, c, strict=True))) for c in itertools.product(*axes.values())]
    return [train_record(row, seed, wrong(row, seed)) for seed in range(seeds) for row in cells]


def costs(axes, speed, *, memory=lambda row: 100.0):
    """Cost records of a whole grid in two sessions, the reference's speed 1 in each."""
    records = []
    for number, choices in enumerate(itertools.product(*axes.values())):
        row = cell(**dict(zip(axes, choices, strict=True)))
        own = [1.0 if row == cell() else speed(row)] * 12
        records.append(cost_record(row, own, name(), memory=memory(row), session=f"{number % 2}"))
    return records


def test_each_choice_is_compared_with_the_references_averaged_over_the_rest():
    wrong = {"fused": 10, "naive": 14, "rope": 20, "sin": 25, "none": 60}
    estimates = effects(grid(AXES, lambda c, seed: wrong[c["attention"]] + wrong[c["pe"]] + seed))
    gained = {key: effect.difference.mean for key, effect in main(estimates).items()}
    assert gained == {
        ("attention", "fused", "naive"): pytest.approx(0.004),
        ("pe", "rope", "sin"): pytest.approx(0.005),
        ("pe", "rope", "none"): pytest.approx(0.04),
    }


@pytest.mark.slow
def test_known_effects_are_covered_at_the_stated_rate(generator):
    # Of 500 intervals: the standard error of a rate of 0.95 is 1 point.
    repeats, covered, total = 250, 0, 0
    for _ in range(repeats):
        hardness = generator.normal(0, 1.5, 500)
        records = simulated(generator, AXES, lambda c: WORTH[c["pe"]], hardness=hardness)
        truth = {pe: expected(odds, hardness) for pe, odds in WORTH.items()}
        for (axis, part, other), effect in main(effects(records)).items():
            if (axis, other) != ("pe", "none"):  # both effects of pe depend on the same rope cells
                true = truth[part] - truth[other] if axis == "pe" else 0.0
                covered += effect.difference.low <= true <= effect.difference.high
                total += 1
    assert at_rate(covered, total, 0.95)


def test_real_effects_are_found_and_absent_ones_are_ties(generator):
    repeats, real, wrong = 40, 0, 0
    for _ in range(repeats):
        estimates = effects(simulated(generator, AXES, lambda c: WORTH[c["pe"]]))
        real += main(estimates)["pe", "rope", "none"].difference.real
        wrong += main(estimates)["attention", "fused", "naive"].difference.real
    assert at_least(real, repeats, 0.95)
    assert at_most(wrong, repeats, 0.05)


def test_exact_variants_that_agree_are_a_tie_and_count_an_example_once():
    """With each seed sin gets one example wrong that rope gets right, with either attention."""
    records = grid(SQUARE, lambda c, seed: range(10 + (c["pe"] == "sin")))
    estimates = main(effects(records))
    assert estimates["attention", "fused", "naive"].difference.mean == 0
    assert not estimates["attention", "fused", "naive"].difference.real
    rope = estimates["pe", "rope", "sin"].difference
    assert rope.mean == pytest.approx(0.001)
    assert estimates["pe", "rope", "sin"].difference.p == pytest.approx(
        0.248, abs=0.001
    )  # McNemar: 3, 0
    assert not rope.real


def test_speeds_are_geometric_means_and_memory_too():
    speed = {("fused", "rope"): 1.0, ("fused", "sin"): 1.25, ("naive", "rope"): 0.5}
    speed["naive", "sin"] = 0.5
    memory = {"fused": 100.0, "naive": 150.0}
    estimates = effects(
        costs(
            SQUARE,
            lambda c: speed[c["attention"], c["pe"]],
            memory=lambda c: memory[c["attention"]],
        )
    )
    fused = main(estimates)["attention", "fused", "naive"]
    assert fused.speed["train"].value == pytest.approx((1 / 0.5 * 1.25 / 0.5) ** 0.5)
    assert fused.memory == pytest.approx(100 / 150)
    assert main(estimates)["pe", "rope", "sin"].memory == pytest.approx(1)


def test_one_line_states_the_effect_of_rope():
    wrong = {"rope": [20, 21, 19, 22, 20], "sin": [60, 61, 65, 58, 63]}
    speed = lambda c: 0.93 if c["pe"] == "rope" else 1.0  # noqa: E731
    records = grid(SQUARE, lambda c, seed: wrong[c["pe"]][seed], seeds=5)
    records += costs(SQUARE, lambda c: speed(c) / 0.93)
    estimates = effects(records)
    lines = [sentence(effect) for effect in estimates.main]
    assert lines[0].startswith("fused against naive: +0.0 ± 0.0 points (equal), ~1.00 × the speed")
    assert lines[1] == (
        "rope against sin: +4.1 ± 0.5 points, 0.93 × the speed (0.92 to 0.94), "
        "0.93 × in inference (0.92 to 0.94), ~1.00 × the memory"
    )


def test_too_few_seeds_have_no_interval():
    estimates = effects(grid(SQUARE, lambda c, seed: 10 + 30 * (c["pe"] == "sin"), seeds=2))
    line = "rope against sin: +3.0 points (too few seeds for an interval)"
    assert sentence(main(estimates)["pe", "rope", "sin"]) == line
    assert main(estimates)["pe", "rope", "sin"].difference.adjusted is None


def test_cost_alone_and_training_alone_are_enough():
    """And baselines are no part of the grid."""
    only_speed = effects(costs(SQUARE, lambda c: 1.0))
    records = [train_record("words", seed, 5) for seed in range(3)]
    only_accuracy = effects([*grid(SQUARE, lambda c, seed: 10), *records])
    assert {e.difference for e in only_speed.main} == {None}
    assert {e.speed["train"] for e in only_accuracy.main} == {None}
    for estimates in (only_speed, only_accuracy):
        assert set(main(estimates)) == {("attention", "fused", "naive"), ("pe", "rope", "sin")}


def test_a_skipped_cell_leaves_one_factor_at_a_time():
    axes = {"attention": ["fused", "naive", "linformer"], "pe": ["rope", "sin"]}
    broken = cell(attention="linformer")
    records = [skipped(broken, "cannot rotate")]
    records += [r for r in grid(axes, lambda c, seed: 10) if r.cell != broken]
    estimates = effects(records)
    assert set(main(estimates)) == {("attention", "fused", "naive"), ("pe", "rope", "sin")}
    assert f"With everything else as in the reference, {name()}." in estimates.about


ONE = cell(attention="naive", pe="sin")


@pytest.mark.parametrize(
    "kept",
    [
        lambda r: (r.cell, r.seed) != (ONE, 2),
        lambda r: (r.cell, r.kind) != (ONE, "train"),
        lambda r: (r.cell, r.kind) != (ONE, "cost"),
        lambda r: r.cell != ONE,
    ],
    ids=["a seed", "its trainings", "its costs", "everything"],
)
def test_a_grid_with_a_cell_that_lacks_something_is_not_averaged(kept):
    whole = [*grid(SQUARE, lambda c, seed: 10), *costs(SQUARE, lambda c: 1.0)]
    assert effects(whole).averaged
    assert not effects([*filter(kept, whole)]).averaged


def test_a_single_cell_and_cells_that_differ_in_two_components_have_no_effects():
    assert effects([train_record(cell(), seed, 10) for seed in range(3)]) is None
    far = [cell(), cell(attention="naive", pe="sin")]
    assert effects([train_record(row, seed, 10) for row in far for seed in range(3)]) is None
