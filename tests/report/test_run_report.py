"""No two places of a report disagree."""

import itertools
import re
from pathlib import Path

import pytest
from factory import cell, name, shown_table, simulated, train_record

from zoo.report.compare import compare
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import sentence
from zoo.sweep.records import directories_of, read_run

ROOT = Path(__file__).parents[2]
# Claims are of streamed data, whose rows have no effects and no means.
# What is streamed has other verdicts.
PUBLISHED = [
    place
    for place in directories_of(ROOT / "results")
    if not {"claims", "profile"} & {*place.relative_to(ROOT).parts}
]
GRID = {"attention": ["fused", "naive", "linear"], "pe": ["rope", "sin", "none"]}
WORTH = {"rope": 3.0, "sin": 2.8, "none": 2.4}


def disagreements(run: RunReport) -> list[str]:
    """Everything that is said of a difference of two rows and is not said elsewhere."""
    problems, verdicts = [], run.verdicts
    rows = {row.name: row for row in verdicts.rows}
    shown = dict(
        zip([row.name for row in run.rows], shown_table(run).get("rank", []), strict=False)
    )
    ranks, tied = verdicts.ranks(), verdicts.tied()
    for row, other in itertools.combinations(rows, 2):
        verdict = verdicts.verdict(row, other)
        if verdict != -(verdicts.verdict(other, row) or 0):
            problems.append(f"{row} and {other}: one way and the other")
        if verdict and ranks[row] == ranks[other] == 1:
            problems.append(f"{row} and {other} are both 1= and differ")
        if {row, other} <= set(tied) and tied[0] in (row, other) and verdict:
            problems.append(f"{row} and {other} tie with the best and differ")
    for row, rank in ranks.items():
        if not shown[row].startswith(str(rank)):
            problems.append(f"{row}: rank {rank}, shown as {shown[row]}")
    effects = run.effects
    for effect in effects.main if effects else []:
        if effect.difference is None or effect.difference.adjusted is None:
            continue
        difference = effect.difference
        quoted = effect.metric.format_difference(difference.mean, difference.half)
        rest = sentence(effect).partition(quoted)[2]
        # Undecided: significant by itself, and not among so many comparisons.
        word = " (undecided)" if abs(difference.mean) > difference.half else " (tie)"
        if rest.startswith(word) == (difference.real or difference.equal):
            problems.append(f"{sentence(effect)}: real is {effect.difference.real}")
        pair = _pair_of(effect, run)
        if pair and pair <= set(rows):
            row, other = pair
            if bool(verdicts.verdict(row, other)) != effect.difference.real:
                problems.append(f"{sentence(effect)}, but {row} and {other} say otherwise")
    names = {run.short_name(row): row.name for row in verdicts.rows}
    best = next(said for said in run.answer if re.match(r"Use |Undecided: |\S+ has ", said))
    first = best.partition("Not told apart from ")[2].partition(": ")[2].partition(". ")[0]
    if best.startswith("Use the baseline ") and any(
        verdicts.verdict(row.name, baseline.name) == 1
        for row, baseline in itertools.product(run.rows, run.rows)
        if baseline.baseline and not row.baseline and best.split()[3].rstrip(":") == baseline.name
    ):
        problems.append("the answer names a baseline that a cell beats")
    for effect in effects.main if effects else []:
        said = " ".join(run.answer)
        for part, other in itertools.permutations((effect.component, effect.against)):
            claimed = f"{part} is better than {other} by " in said
            if claimed and not (effect.difference and effect.difference.real):
                problems.append(f"the answer claims that {part} is better than {other}")
    for short in first.partition(" and ")[0].rstrip(".").split(", ") if first else []:
        short = short.partition(" (")[0]
        if short in names and names[short] not in tied:
            problems.append(f"the answer ties {short}")
    return problems


def _pair_of(effect, run) -> set[str] | None:
    """The two rows that an effect compares, where it is not an average."""
    averaged = run.effects.averaged and len(run.axes) > 1
    if averaged:
        return None
    base = next(row for row in run.recorded_rows if row.name == run.reference)
    choices = effect.component, effect.against
    return {"+".join((base.cell | {effect.axis: choice}).values()) for choice in choices}


@pytest.mark.parametrize("place", PUBLISHED, ids=lambda place: place.relative_to(ROOT).as_posix())
def test_no_two_places_of_a_published_report_disagree(place):
    run = RunReport(read_run(place))
    assert disagreements(run) == []
    itself = compare(run, run)
    assert {row.verdict for row in itself.rows} == {"tie"}


@pytest.mark.parametrize("axes", [GRID, {"pe": ["rope", "sin", "none"]}], ids=["grid", "one axis"])
def test_no_two_places_of_a_simulated_report_disagree(generator, axes):
    for _ in range(3):
        records = simulated(generator, axes, lambda c: WORTH[c["pe"]], examples=500)
        records += [train_record("words", seed, range(40), examples=500) for seed in range(5)]
        run = RunReport(records)
        assert disagreements(run) == []


def test_one_factor_at_a_time_effects_are_pairs(generator):
    grid = simulated(generator, GRID, lambda c: WORTH[c["pe"]], examples=500)
    base = cell()
    near = [r for r in grid if sum(r.cell[axis] != base[axis] for axis in base) < 2]
    run = RunReport(near)
    assert len(run.effects.main) == 4
    assert disagreements(run) == []


def test_a_test_of_consistency_finds_a_contradiction(generator):
    """The check can fail: a verdict that is changed in one place is reported."""
    run = RunReport(simulated(generator, {"pe": ["rope", "none"]}, lambda c: WORTH[c["pe"]] * 1.5))
    assert disagreements(run) == []
    run.verdicts.ranks = lambda: {name(pe="rope"): 1, name(pe="none"): 1}
    assert len(disagreements(run)) >= 2
