"""Answers to questions follow from the verdicts of the records, and say so where these are open."""

from types import SimpleNamespace

import pytest
from example import grouped, profile_of_skills, records_of, run
from factory import cell, train_record

from bench.publish.questions import (
    QUESTIONS,
    beats_baselines,
    beside_others,
    best_of,
    costs_of,
    learning,
    longer,
    questions_section,
    whether,
)
from zoo.report.profile import DataSetReport, Profile
from zoo.report.run_report import RunReport


@pytest.fixture(scope="module")
def tied() -> RunReport:
    """rope and sin tie, none is worse and twice as fast; a baseline beats all."""
    return RunReport(run())


def test_a_choice_is_better_worse_or_undecided(tied):
    assert whether(True, "pe", "rope", "none")(tied).startswith("Yes: `rope` against `none`: +14")
    assert whether(False, "pe", "none", "rope")(tied).startswith("Yes: `none` against `rope`: -14")
    assert whether(True, "pe", "none", "rope")(tied).startswith("No, the contrary: `none`")
    undecided = whether(True, "pe", "rope", "sin")(tied)
    assert undecided.startswith("Undecided: `rope` against `sin`: ")
    assert "points of accuracy (tie)" in undecided
    assert undecided.endswith(" would have shown in 4 of 5 such runs.")
    few = RunReport(run(seeds=2))
    assert whether(True, "pe", "rope", "none")(few).startswith("Undecided: ")
    assert whether(True, "pe", "rope", "alibi")(tied) == "Not measured yet."


def test_equal_results_are_no_open_question():
    same = [
        train_record(cell(pe=pe), seed, 50 + seed) for pe in ("rope", "sin") for seed in range(5)
    ]
    assert whether(True, "pe", "rope", "sin")(RunReport(same)).startswith("No, they are equal: ")


def test_costs_are_those_of_the_effect(tied):
    said = costs_of("pe", "none", "rope")(tied)
    assert said.startswith("`none` against `rope`: -14")
    assert "2.00 × the speed" in said
    untimed = RunReport([one for one in run() if one.kind == "train"])
    assert costs_of("pe", "rope", "none")(untimed).endswith("; its speed is not measured yet.")


def test_the_best_choice_is_named_with_what_ties_and_what_is_worse(tied):
    said = best_of("pe")(tied)
    first, other = ("rope", "sin") if said.startswith("`rope`") else ("sin", "rope")
    assert said.startswith(f"`{first}` has the best accuracy, 0.9")
    assert f"significantly better than `none`; `{other}` cannot be told apart from it." in said
    ties = RunReport([one for one in run() if one.cell.get("pe") != "none"])
    assert best_of("pe")(ties).startswith("Undecided: ")


def test_whether_a_cell_beats_the_baselines(tied):
    assert beats_baselines(tied).startswith("No: 3 of 3 cells, the best ")
    bad = [train_record("words", seed, 900 + seed) for seed in range(5)]
    assert beats_baselines(RunReport([*run(baseline=False), *bad])).startswith("Yes: 3 of 3 cells")
    even = [train_record("words", seed, 50 + seed) for seed in range(5)]
    assert beats_baselines(RunReport([*run(baseline=False), *even])).startswith("Undecided: 1 of 3")


def test_what_learns_a_task_is_counted_over_seeds_and_the_rest_is_not_measured():
    skills = profile_of_skills()
    of_pe = "`rope` (8.4k examples) and `none` (25k examples)."
    assert learning("copy", "pe")(skills) == f"`copy` (6 seeds) is learned in every seed by {of_pe}"
    base = skills.data_sets[2]
    assert learning("order", "pe")(skills).startswith(
        f"`{base.name}` (6 seeds) is learned in every "
    )
    of_mixers = (
        "`parity` (6 seeds) is learned in every seed by `gru` (8.4k examples); in none by `fused`."
    )
    assert learning("parity", "attention")(skills) == of_mixers
    assert learning("recall", "pe")(skills) == "Not measured yet."


def test_scores_on_longer_texts_are_those_of_the_group():
    long = {"rope": 0.99, "sin": 0.5, "none": 0.6}
    records = records_of("recall", (0.99, 0.95, 0.60))
    records = [grouped(r, {"short": 1.0, "long": long[r.cell["pe"]]}) for r in records]
    profile = Profile([DataSetReport("recall", "recall", RunReport(records))])
    assert longer("recall", "pe", "long")(profile) == (
        "Accuracy of `recall` at long words, median of 5 seeds, not tested: `rope` 0.990, "
        "`none` 0.600 and `sin` 0.500."
    )
    assert longer("recall", "pe", "longest")(profile) == "Not measured yet."


def test_there_are_ten_and_what_is_not_there_is_not_answered(tmp_path):
    head, lines = questions_section({}, tmp_path, {})
    assert head == "## Ten questions"
    assert len(QUESTIONS) == lines.count("Not measured yet.") == len(lines.splitlines()) == 10
    assert beside_others(tmp_path) == "Not measured yet."
    assert len({one.text for one in QUESTIONS}) == 10


def test_an_answer_names_the_claims_that_say_more(tmp_path):
    _, lines = questions_section({}, tmp_path, {"rms-equal": SimpleNamespace(verdict="holds here")})
    (shown,) = (line for line in lines.splitlines() if "rms-equal" in line)
    says = "[Claims](claims/README.md), on data of their own, `rms-equal`: holds here."
    assert shown.endswith(says)
