"""The answer under a table: the best of all, what to do next, and nothing that was not tested."""

from __future__ import annotations

import pytest
from example import REFERENCE
from factory import cell, cost_record, train_record

from zoo.report.profile import DataSet
from zoo.report.run_report import RunReport
from zoo.report.tables.notes import noise_text


def baseline(wrong, seeds=5):
    return [train_record("words", seed, wrong) for seed in range(seeds)]


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


def test_with_enough_seeds_too_the_answer_does_not_call_a_lower_score_the_best():
    cells = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(5) for pe in ("rope", "sin")]

    def start(wrong):
        return RunReport([*cells, *baseline(wrong)]).answer[0]

    assert start(range(100)).startswith("rope has the best accuracy of the cells: 0.")
    assert start(range(900)).startswith("rope has the best accuracy: 0.")


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


@pytest.mark.parametrize(("share", "busy"), [(0.25, False), (0.35, True)])
def test_a_noise_floor_above_30_percent_stands_in_the_place_of_the_fastest(share, busy):
    """The twin is this share slower than the reference in every round."""
    twin = [1 / (1 + share) * wobble for wobble in (1.0, 1.001, 0.999, 1.0, 1.0)]
    records = [
        train_record(cell(pe=pe), seed, 50 + seed) for pe in ("rope", "sin") for seed in range(5)
    ]
    records += [
        cost_record(cell(pe=pe), [speed] * 5, REFERENCE, [1.0] * 5, twin)
        for pe, speed in (("rope", 1.0), ("sin", 5.0))
    ]
    answer = " ".join(RunReport(records).answer)
    assert ("This machine was too busy to compare speeds" in answer) is busy
    assert ("trains fastest" in answer) is not busy
    assert RunReport(records).noise_floor == pytest.approx(share, abs=0.01)
    # One figure for the whole run, wherever it is told.
    notes = " ".join(RunReport(records).notes)
    assert f"Noise floor: {noise_text(RunReport(records))}." in notes
    assert "35%" not in answer


def test_the_fastest_is_so_in_the_same_rounds_and_not_at_a_quieter_time():
    """sin was timed while the machine was twice as slow, and the reference with it."""
    twin = [1.0, 1.001, 0.999, 1.0, 1.0]
    records = [
        train_record(cell(pe=pe), seed, 50 + seed)
        for pe in ("rope", "sin", "alibi")
        for seed in range(5)
    ]
    records += [
        cost_record(
            cell(pe=pe), [speed] * 5, REFERENCE, [base] * 5, [base * t for t in twin], session=pe
        )
        for pe, speed, base in (("rope", 1.0, 1.0), ("alibi", 1.2, 1.0), ("sin", 0.75, 0.5))
    ]
    (sentence,) = [one for one in RunReport(records).answer if "trains fastest" in one]
    assert sentence.startswith("Of these, sin trains fastest (750 tokens/s")
