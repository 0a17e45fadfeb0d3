"""The profile of a run on several data sets, from records made by hand."""

import shutil
from pathlib import Path

import factory
import numpy as np
import pandas as pd
import pytest
from example import ACCURACIES, PES, profile_of_skills, records_of

from zoo.report.plots.profile_plot import profile_plot
from zoo.report.profile import DataSetReport, Profile, read_profile
from zoo.report.run_report import RunReport
from zoo.report.write import report_text


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("profile")
    for name, accuracies in ACCURACIES.items():
        (root / name).mkdir()
        factory.write_records(root / name, records_of(name, accuracies))
    return root


@pytest.fixture(scope="module")
def profile(directory) -> Profile:
    return read_profile(directory)


def test_every_mean_is_in_the_table(profile):
    frame = pd.DataFrame(profile.lines)
    for name, accuracies in ACCURACIES.items():
        part = frame[frame["data"] == name].set_index("row")
        assert dict(part["mean"]) == pytest.approx(dict(zip(PES, accuracies, strict=True)))
    assert list(profile.names.values()) == ["rope", "sin", "none"], "the best row first"
    printed = report_text(profile)
    for text in ("0.990 =", "0.950", "(chance)"):
        assert text in printed
    notes = {data.name: " ".join(data.run.notes) for data in profile.data_sets}
    assert "Chance level of accuracy: 0.500. " in notes["alpha"]


@pytest.fixture(scope="module")
def learned() -> Profile:
    return profile_of_skills()


def test_of_streamed_diagnostics_each_cell_says_what_is_learned(learned):
    assert list(learned.names.values()) == ["fused+rope", "gru+none", "fused+none"]
    printed = report_text(learned)
    for text in ("6/6 · 8.4k · 3 rates +", "2/6 · >40k", "0/6 · .53 -", "(no skill)   0.500"):
        assert text in printed
    assert "±" not in printed
    assert "(solved at)  0.950" in printed
    frame = pd.DataFrame(learned.lines).set_index(["data", "row"])
    assert frame.loc[("copy", "fused+none"), "median_examples"] == 25_200
    assert frame.loc[("parity", "gru+none"), "control"] == "positive"
    assert frame.loc[("copy", "gru+none"), "level"] == 0
    assert frame.loc[("copy", "fused+rope"), "level"] == 1
    assert 0.5 < frame.loc[("copy", "fused+none"), "level"] < 1


def test_the_answer_on_skills_is_about_the_row_of_reference(learned):
    assert learned.answer == [
        "fused+rope learns 2 of 3 skills with every seed, and never parity.",
        "Told apart from it on single skills: faster: gru+none (parity); slower, or not at all: "
        "gru+none (2) and fused+none (2).",
    ]
    assert any("an exploratory family" in note for note in learned.notes)


def test_rows_of_the_run_are_marked_and_before_those_from_elsewhere(learned):
    data = learned.data_sets[2]
    gru = [record for record in data.run.records if record.cell["attention"] == "gru"]
    others = [record for record in data.run.records if record not in gru]
    mine = factory.cell(attention="mine", pe="none")
    own = [record.model_copy(update={"cell": mine}) for record in gru]
    beside = Profile([DataSetReport("order", "order", RunReport(own, others=[*others, *gru]))])
    assert [texts[0] for texts in beside.texts[:2]] == ["fused+rope", "mine+none (yours)"]
    assert "mine+none (yours)" in profile_plot(beside).svg


def test_a_control_that_is_not_what_it_should_be_is_told():
    data = {"positive": "fused+none", "negative": "fused+rope"}
    records = [
        *factory.streamed(factory.cell(), {0.003: [800] * 4}, **data),
        *factory.streamed(factory.cell(pe="none"), {0.003: [800, 800, 800, None]}, **data),
    ]
    (*_, answer) = Profile([DataSetReport("copy", "copy", RunReport(records))]).answer
    assert answer == (
        "Controls that are not what they should be: none does not always solve copy and rope "
        "solves copy."
    )


def test_learned_and_scored_data_sets_stand_beside_each_other(learned):
    both = Profile([learned.data_sets[0], simulated("news")])
    printed = report_text(both)
    assert "6/6 · 8.4k · 3 rates" in printed
    assert "Mean over seeds of accuracy: news." in printed


def test_a_folder_of_runs_is_no_run_on_several_data_sets(directory, tmp_path, refused_command):
    """Of other settings or machines, say; and nothing in it is written."""
    for name, place in (("alpha", "classify-alpha-1a2b3c4d"), ("beta", "beta")):
        shutil.copytree(directory / name, tmp_path / place)
    line = refused_command("report", tmp_path)
    assert "is no run on several data sets, which has a directory named after each" in line
    assert [file.name for file in tmp_path.rglob("*.*")] == ["records.jsonl"] * 2


def test_data_sets_of_several_machines_are_told(profile):
    eta = records_of("eta", ACCURACIES["alpha"])
    other = [record.model_copy(update={"environment": {"torch": "3"}}) for record in eta]
    note = Profile([*profile.data_sets, DataSetReport("eta", "eta", RunReport(other))]).notes[-1]
    assert note.startswith("Made on several machines: ")
    assert "torch 3" in note


def test_ties_are_those_of_each_data_sets_own_report(profile):
    for data in profile.data_sets:
        ranks = dict(
            zip(
                (row.cell["pe"] for row in data.run.rows), data.run.table.frame["rank"], strict=True
            )
        )
        for name, score in data.scores.items():
            pe = next(row.cell["pe"] for row in data.run.rows if row.name == name)
            assert score["best"] == (ranks[pe] == 1)
    alpha = next(data for data in profile.data_sets if data.name == "alpha")
    assert [score["best"] for score in alpha.scores.values()] == [True, False, False]


def simulated(name: str, examples: int = 300, seeds: int = 5) -> DataSetReport:
    """A data set on which rope and sin tie, and none is worse."""
    odds = dict(zip(PES, (3.0, 3.0, 1.5), strict=True))
    generator, axes = np.random.default_rng(examples), {"pe": PES}
    records = factory.simulated(
        generator, axes, lambda c: odds[c["pe"]], examples=examples, seeds=seeds
    )
    return DataSetReport(name, name, RunReport(records))


def test_with_three_seeds_a_task_that_is_solved_or_not_has_no_verdict():
    """Two equal rows, each solved by luck in half of its seeds: one has it in all, one in none."""
    three = RunReport(records_of("luck", (0.99, 0.70, 0.70), seeds=3))
    assert three.table.frame["rank"].isna().all()
    assert not any("significantly" in line for line in three.answer)
    assert three.answer[-1].endswith("a test needs 5; run with --seeds 5.")
    profile = Profile([DataSetReport("luck", "luck", three)])
    printed = report_text(profile)
    assert "±" not in printed
    assert "=" not in printed
    assert f"luck: {three.answer[0]}" in printed
    five = RunReport(records_of("luck", (0.99, 0.70, 0.70)))
    assert list(five.table.frame["rank"]) == [1, 2, 2]


def test_only_marks_that_occur_are_explained(profile):
    """Seeds too few for ranks, and a tie."""

    def marks(of_profile):
        begins = (note.partition(":")[0] for note in of_profile.notes)
        return [mark for mark in begins if mark in ("+", "=")]

    assert marks(profile) == ["="]
    assert marks(Profile([simulated("few", seeds=2)])) == []
    assert marks(Profile([simulated("ties")])) == ["="]


def test_the_answer_is_what_each_report_says_first(profile):
    first = [f"{data.name}: {data.run.answer[0]}" for data in profile.data_sets[:4]]
    assert profile.answer == [*first, "The reports of 2 more data sets say more."]


def test_lower_is_better_is_turned_round():
    means = zip(PES, (2.0, 2.5, 3.0), strict=True)
    runs = [record for pe, bits in means for record in factory.lm(factory.cell(pe=pe), [bits] * 3)]
    (data,) = Profile([DataSetReport("book", "book", RunReport(runs))]).data_sets
    levels = [data.scores[factory.name(pe=pe)]["level"] for pe in PES]
    assert levels == pytest.approx([1.0, 0.5, 0.0])
