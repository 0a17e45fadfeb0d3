"""No two places of a report disagree; baselines are rows; equal rows are equal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from factory import cell, failed, name, simulated, train_record
from rates import at_least, at_most

from bench.publish.published import load_published, make_figures, published_differences
from bench.simulate.grids import Scenario, draw
from bench.simulate.outcomes import simulate
from zoo.report.compare_runs import compare
from zoo.report.profile import DataSet
from zoo.report.read import read_run
from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.scores import row_intervals
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.effects_text import sentence

ROOT = Path(__file__).parents[2]
PUBLISHED = sorted(path.parent for path in (ROOT / "results").rglob("records.jsonl"))
LARGE = ((16, 3), (6, 5), (16, 5))  # cells and seeds
GRID = {"attention": ["fused", "naive", "linear"], "pe": ["rope", "sin", "none"]}
WORTH = {"rope": 3.0, "sin": 2.8, "none": 2.4}


def disagreements(run: RunReport) -> list[str]:
    """Everything that is said of a difference of two rows and is not said elsewhere."""
    found, verdicts = [], run.verdicts
    rows = {row.name: row for row in verdicts.rows}
    shown = dict(zip([row.name for row in run.rows], run.shown.get("rank", []), strict=False))
    ranks, tied = verdicts.ranks(), verdicts.tied()
    for one, other in itertools.combinations(rows, 2):
        verdict = verdicts.verdict(one, other)
        if verdict != -(verdicts.verdict(other, one) or 0):
            found.append(f"{one} and {other}: one way and the other")
        if verdict and ranks[one] == ranks[other] == 1:
            found.append(f"{one} and {other} are both 1= and differ")
        if {one, other} <= set(tied[:1]) | set(tied) and tied[0] in (one, other) and verdict:
            found.append(f"{one} and {other} tie with the best and differ")
    for row, rank in ranks.items():
        if not shown[row].startswith(str(rank)):
            found.append(f"{row}: rank {rank}, shown as {shown[row]}")
    effects = run.effects
    for effect in [*effects.main, *effects.interactions] if effects else []:
        if effect.difference is None or effect.difference.adjusted is None:
            continue
        difference = effect.difference
        quoted = effect.metric.format_difference(difference.mean, difference.half)
        tie = sentence(effect).partition(quoted)[2].startswith(" (tie)")
        if tie == (difference.real or difference.equal):
            found.append(f"{sentence(effect)}: real is {effect.difference.real}")
        pair = _pair_of(effect, run)
        if pair and pair <= set(rows):
            one, other = (n for n in pair)
            if bool(verdicts.verdict(one, other)) != effect.difference.real:
                found.append(f"{sentence(effect)}, but {one} and {other} say otherwise")
    names = {run.short_name(row): row.name for row in verdicts.rows}
    best = next(said for said in run.answer if " has the best " in said)
    first = best.partition(" with it: ")[2]
    for effect in effects.main if effects else []:
        said = " ".join(run.answer)
        for one, other in itertools.permutations((effect.component, effect.against)):
            claimed = f"{one} is better than {other} by " in said
            if claimed and not (effect.difference and effect.difference.real):
                found.append(f"the answer claims that {one} is better than {other}")
    for short in first.partition(" and ")[0].rstrip(".").split(", ") if first else []:
        short = short.partition(" (")[0]
        if short in names and names[short] not in tied:
            found.append(f"the answer ties {short}")
    return found


def _pair_of(effect, run) -> set[str] | None:
    """The two rows that an effect compares, where it is not an average."""
    if effect.other or not run.effects:
        return None
    base = next(row for row in run.recorded_rows if row.name == run.reference)
    varied = run.effects.axes
    averaged = run.effects.about.startswith("Averaged") and len(varied) > 1
    if averaged:
        return None
    names = [
        "+".join((base.cell | {effect.axis: choice}).values())
        for choice in (effect.component, effect.against)
    ]
    return set(names)


@pytest.mark.parametrize("place", PUBLISHED, ids=lambda place: place.relative_to(ROOT).as_posix())
def test_no_two_places_of_a_published_report_disagree(place: Path):
    run = RunReport(read_run(place))
    assert disagreements(run) == []
    itself = compare(run, run)
    assert {row.verdict for row in itself.rows} == {"tie"}


def test_published_figures_have_the_verdicts_of_the_table():
    checked = 0
    for suite in sorted((ROOT / "bench" / "suites").glob("*.toml")):
        published = load_published(suite)
        for directory in published.directory if published and published.figures else ():
            place = ROOT / "results" / directory
            if not place.exists():
                continue
            run = RunReport(read_run(place), published.reference)
            figures = make_figures(run.recorded_rows, run.verdicts, published.figures)
            for one in published_differences(figures, run.verdicts):
                verdict = run.verdicts.verdict(one.first.row.name, one.second.row.name)
                assert (one.verdict in ("real", "reversed")) == bool(verdict)
                checked += 1
    assert checked


@pytest.mark.parametrize("axes", [GRID, {"pe": ["rope", "sin", "none"]}], ids=["grid", "one axis"])
def test_no_two_places_of_a_simulated_report_disagree(generator, axes):
    for _ in range(6):
        records = simulated(generator, axes, lambda c: WORTH[c["pe"]], examples=500)
        records += [train_record("words", seed, range(40), examples=500) for seed in range(5)]
        run = RunReport(records)
        assert disagreements(run) == []


def test_one_factor_at_a_time_effects_are_pairs(generator):
    grid = simulated(generator, GRID, lambda c: WORTH[c["pe"]], examples=500)
    base = cell()
    near = [r for r in grid if sum(r.cell[axis] != base[axis] for axis in base) < 2]
    run = RunReport(near, name())
    assert len(run.effects.main) == 4
    assert disagreements(run) == []


def test_a_test_of_consistency_finds_a_contradiction(generator):
    """The check can fail: a verdict that is changed in one place is reported."""
    run = RunReport(simulated(generator, {"pe": ["rope", "none"]}, lambda c: WORTH[c["pe"]] * 1.5))
    assert disagreements(run) == []
    run.verdicts.ranks = lambda: {name(pe="rope"): 1, name(pe="none"): 1}
    assert len(disagreements(run)) >= 2


def baseline(wrong, seeds=5):
    return [train_record("words", seed, wrong) for seed in range(seeds)]


def test_a_deterministic_fit_has_no_seed_variance_and_is_ranked():
    cells = [train_record(cell(pe=pe), s, range(w + s, w + s + 60)) for s in range(5)
             for pe, w in (("rope", 0), ("sin", 300))]  # fmt: skip
    run = RunReport([*cells, *baseline(range(500, 520))])
    line = run.shown[run.table["baseline"] == "words"].iloc[0]
    assert (line["rank"], line["accuracy"]) == ("1", "0.980 (deterministic fit)")
    assert run.verdicts.verdict("words", name()) == 1
    assert run.table["rank"].tolist() == [2, 2, 1]
    assert any("Nothing here beats the baseline words with 0.980: all cells are" in s
               for s in run.answer)  # fmt: skip


def test_a_cell_is_compared_with_a_deterministic_fit_over_its_own_seeds(generator):
    """Equal on average: called different no more often than stated, though seeds shift all."""
    repeats, wrongly = 200, 0
    for _ in range(repeats):
        drawn = draw(Scenario(4, 5, shared=0.006), generator)
        values = np.vstack([drawn.scores.values, np.full(5, 0.94)])
        both = np.full((5, 5, 5), np.nan)
        both[:, :4, :4] = drawn.scores.both_wrong
        fixed = np.array([False] * 4 + [True])
        rows = [f"row {n}" for n in range(5)]
        wrongly += any(_against_fixed(drawn.scores, values, both, fixed, rows))
    assert at_most(wrongly, repeats, 0.05)


def _against_fixed(scores, values, both, fixed, rows):
    from zoo.report.stats.paired import judged, tested

    whole = replace(scores, values=values, both_wrong=both, fixed=fixed)
    weights = np.hstack([np.eye(4), -np.ones((4, 1))])
    return [d.real for d in judged(tested(whole, weights))]


def test_a_baseline_that_varies_is_a_row_like_others():
    records = [train_record(cell(), s, 50 + s) for s in range(4)]
    records += [train_record("words", s, 200 + 3 * s) for s in range(4)]
    run = RunReport(records)
    assert "deterministic" not in run.shown["accuracy"].iloc[-1]
    assert run.table["rank"].tolist() == [1, 2]
    assert "Every cell is significantly better than the baseline words" in " ".join(run.answer)


def test_twins_are_equal_and_count_once():
    wrong = {"fused": 40, "linear": 90}
    records = [train_record(cell(attention=a), s, range(w + 7 * s)) for s in range(5)
               for a, w in wrong.items()]  # fmt: skip
    alone = RunReport(records)
    twins = [r.model_copy(update={"cell": cell(attention="naive")}) for r in records
             if r.cell["attention"] == "fused"]  # fmt: skip
    run = RunReport([*records, *twins])
    assert run.verdicts.tests == alone.verdicts.tests == 1
    assert run.verdicts.pair(name(), name(attention="naive")).equal
    assert run.verdicts.ranks() == {name(): 1, name(attention="naive"): 1,
                                    name(attention="linear"): 3}  # fmt: skip
    assert "The same results with every seed" in "\n".join(run.notes)
    assert "1 other ties with it: naive (equal to it, example by example)" in " ".join(run.answer)


def test_equal_accuracies_with_other_errors_are_no_twins():
    records = [train_record(cell(pe=pe), s, range(at, at + 20 + s)) for s in range(4)
               for pe, at in (("rope", 0), ("sin", 400))]  # fmt: skip
    verdicts = RunReport(records).verdicts
    assert not verdicts.pair(name(), name(pe="sin")).equal
    assert verdicts.verdict(name(), name(pe="sin")) == 0


@pytest.mark.parametrize(
    "scenario",
    [Scenario(16, 5), Scenario(16, 5, noisy=2), Scenario(4, 3, noisy=1), Scenario(16, 3, noisy=2),
     Scenario(8, 5, accuracy=0.999)],
    ids=str,
)  # fmt: skip
def test_false_findings_are_no_more_than_stated(generator, scenario):
    found = simulate(scenario, 120, generator)
    assert at_most(round(found.false[1] * 120), 120, 0.05)


def test_two_points_are_found_in_nine_of_ten(generator):
    """The target: 16 rows, 5 seeds, a residual standard deviation of 0.47 points."""
    found = simulate(Scenario(16, 5, gap=2.0), 60, generator)
    assert found.power[1] >= 0.9
    assert found.power[0] < 0.5


@pytest.mark.parametrize(
    ("cells", "seeds"),
    [(2, 3), (6, 3), *(pytest.param(*large, marks=pytest.mark.slow) for large in LARGE)],
)
def test_what_a_run_says_it_could_have_seen_it_does_see(generator, cells, seeds):
    """At that difference 4 of 5 pairs are found, whatever the number of rows and seeds."""
    runs = {2: 400, 6: 200, 16: 120, 40: 40}[cells]
    seen = simulate(Scenario(cells, seeds), runs, generator).visible
    found = simulate(Scenario(cells, seeds, gap=seen), runs, generator)
    assert at_least(round(found.power[1] * runs), runs, 0.8)
    assert at_most(round(found.power[1] * runs), runs, 0.85)


def test_what_could_have_been_seen_holds_for_pairs_that_are_no_effects(generator):
    """One factor at a time: the pairs with the reference have half of the level to themselves."""
    rows = make_rows(simulated(generator, {"pe": ["rope", "sin", "none"]}, lambda c: 3.0))
    effect = {rows[0].name: 1.0, rows[1].name: -1.0}
    assert Verdicts(rows, [effect]).visible() > Verdicts(rows).visible()


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_fewer_than_three_seeds_nothing_is_tested(generator, seeds):
    drawn = simulate(Scenario(4, seeds, gap=20.0), 5, generator)
    assert drawn.power == (0, 0)
    assert drawn.covered is None
    assert seeds < ENOUGH


@pytest.mark.parametrize("accuracy", [0.94, 0.999, 0.9999])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_cover_also_near_one(generator, accuracy, seeds):
    found = simulate(Scenario(8, seeds, accuracy=accuracy), 60, generator)
    assert 0.88 <= found.covered[1] <= 1.0


def test_an_interval_of_perfect_rows_has_a_width_and_ends_at_one():
    records = [train_record(cell(pe=pe), s, 0) for pe in ("rope", "sin") for s in range(5)]
    run = RunReport(records)
    assert run.table["accuracy_high"].tolist() == [1.0, 1.0]
    assert 0.99 < run.table["accuracy_low"][0] < 1.0
    (interval, _) = row_intervals(run.verdicts.scores)
    assert interval.low < interval.mean == interval.high == 1.0


def test_interval_of_an_unbounded_metric_is_a_t_interval():
    from scipy import stats
    from test_tasks import NOISE, NONE, lm

    table = RunReport(lm(NONE, 2.5)).table
    low, high = stats.ttest_1samp(2.5 + np.array(NOISE), 0).confidence_interval(0.95)
    found = table[["bits_per_byte_low", "bits_per_byte_high"]].iloc[0]
    assert list(found) == pytest.approx([low, high])


@pytest.mark.parametrize("seeds", [1, 2])
def test_without_a_ranked_cell_no_baseline_is_ranked(seeds):
    records = [train_record(cell(pe=pe), s, 50 + s) for s in range(seeds) for pe in ("rope", "sin")]
    fits = [train_record(name, 0, wrong) for name, wrong in (("words", 20), ("majority", 400))]
    records += [
        r.model_copy(update={"metrics": {**r.metrics, "deterministic": True}}) for r in fits
    ]
    run = RunReport(records)
    assert [row.baseline for row in run.recorded_rows if row.deterministic] == ["words", "majority"]
    assert run.table["rank"].isna().all()
    assert {score.best for score in DataSet("a", "a", run).scores.values()} == {None}
    assert run.next_step.endswith("would tell whether the cells differ; run with --seeds 3.")


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_few_seeds_the_answer_names_the_best_of_all(seeds):
    records = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(seeds)
               for pe in ("rope", "sin")]  # fmt: skip

    def answer(wrong):
        run = RunReport([*records, *baseline(wrong, seeds)])
        return " ".join(run.answer)

    more = {1: "Two more seeds", 2: "One more seed"}[seeds]
    better = answer(range(100))
    assert better.startswith("The baseline words wins: 0.900 against 0.")
    assert f"{more} would tell whether the cells differ; run with --seeds 3." in better
    close = answer([*range(12, 500), *range(900, 910)])
    assert close.startswith("The baseline words has 0.502 and rope 0.")
    assert "that may be chance" in close
    assert answer(range(900)).startswith("rope wins: 0.")
    assert "against 0.100 of the baseline words." in answer(range(900))
    behind = answer(range(12, 520))
    assert behind.startswith("rope has 0.")
    assert "and the baseline words 0.492: that may be chance." in behind


def test_a_failed_row_is_not_ranked_and_no_rank_stands_beside_no_pair():
    records = [train_record(cell(), s, 50 + s) for s in range(5)]
    records += [train_record(cell(pe="sin"), s, 50 + s) for s in range(2)]
    records.append(failed(cell(pe="sin"), 2))
    run = RunReport(records)
    assert run.table["rank"].isna().all()
    assert "Rank" not in "\n".join(run.notes)


def test_with_enough_seeds_too_the_answer_does_not_call_a_lower_score_the_best():
    cells = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(5) for pe in ("rope", "sin")]

    def start(wrong):
        return RunReport([*cells, *baseline(wrong)]).answer[0]

    assert start(range(100)).startswith("rope has the best accuracy of the cells: 0.")
    assert start(range(900)).startswith("rope has the best accuracy: 0.")


def test_a_noisy_row_with_a_worse_mean_and_a_better_rank_is_explained():
    """Steady rows one point apart, and a noisy one whose mean lies below both."""
    wrong = {
        "rope": [100, 102, 98, 101, 99],
        "sin": [141, 139, 140, 142, 138],
        "none": [60, 260, 150, 80, 200],
    }

    def notes(names):
        run = RunReport(
            [train_record(cell(pe=pe), s, wrong[pe][s]) for s in range(5) for pe in names]
        )
        return run.verdicts.ranks(), [n for n in run.notes if n.startswith("Ranks do not follow")]

    ranks, said = notes(wrong)
    by_encoding = {row.split("+")[1]: rank for row, rank in ranks.items()}
    assert by_encoding == {"rope": 1, "sin": 2, "none": 1}
    assert len(said) == 1
    assert "sin has a better mean than none and a worse rank" in said[0]
    assert notes(["rope", "sin"])[1] == []


def test_more_seeds_show_less(generator):
    verdicts = Verdicts(make_rows(simulated(generator, GRID, lambda c: 3.0)))
    visible = [verdicts.visible(seeds=seeds) for seeds in (3, 5, 10, 40)]
    assert visible == sorted(visible, reverse=True)
    assert verdicts.visible(seeds=2) is None
