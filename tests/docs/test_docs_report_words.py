"""The page about reports explains every column and every kind of sentence there is."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from bench.docs.evidence import published_runs
from bench.docs.place import RESULTS, SOURCES
from bench.docs.simulated import simulated
from zoo.config.settings import Pretraining
from zoo.registry import AXES
from zoo.report.profile_text import profile_answer, profile_notes
from zoo.report.run_report import RunReport
from zoo.report.tables.table import NOT_TRAINED
from zoo.report.tables.words import paragraphs, words

TEXT = (SOURCES / "reading-a-report.md").read_text("utf-8")
CODE = set(re.findall(r"`([^`]+)`", TEXT))


def on_one_data_set() -> list[RunReport]:
    found = [run.report for run in published_runs() if run.report is not None]
    assert len(found) > 6
    return found


def test_every_column_of_a_table_is_explained():
    for report in on_one_data_set():
        metrics = {metric.label for metric in report.metrics}
        settings = {name.replace("_", " ") for name in report.tuned}
        heads = {re.sub(r"\d+ threads", "N threads", str(head)) for head in report.shown.columns}
        assert heads - metrics <= CODE
        assert settings <= CODE


def test_every_key_of_table_csv_is_explained():
    columns = {(report, str(column)) for report in on_one_data_set() for column in report.table}
    for report, column in columns:
        names = "|".join(re.escape(metric.name) for metric in report.metrics)
        key = re.sub(rf"^(?:{names})(?=_(?:mean|std|low|high|sampling_error)$)", "METRIC", column)
        key = re.sub(r"^((?:train|infer)(?:_threads)?)_(?:ratio_low|ratio_high|tie)$",
                     r"\1_ratio", key)  # fmt: skip
        assert key in CODE or key in AXES or key in report.tuned, column


# The beginning of a note to the words of the page that explain it.
LEADS = {
    r"Seeds: ": "**Seeds:**",
    r"Rank: ": "**Rank:**",
    r"Not ranked: ": "**Not ranked:**",
    r"More than 200 rows are ranked": "**More than 200 rows are ranked:**",
    r"Ranks do not follow": "**Ranks do not follow the means everywhere:**",
    r"Test set: |On another test set": "**Test set:**",
    r"Differences of ": "**Differences of … would have shown:**",
    r"The same results with every seed": "**The same results with every seed:**",
    r"×: ": "**×:**",
    r"Reference: ": "**Reference:**",
    r"contended: ": "**contended:**",
    r"train s: ": "**train s:**",
    r"Front ": "**Front:**",
    r"Memory: ": "**Memory:**",
    r"Memory was measured in several": "**Memory was measured in several ways:**",
    r"Lower ": "**Lower METRIC is better:**",
    r"Data: ": "**Data:**",
    r"Made by several": "**Made by several states of the code:**",
    r"Made on several": "**Made on several machines:**",
    r"\w+ loss": "**NAME loss:**",
    r"Each row was trained with": "**Each row was trained with …:**",
    r"Not trained": "**Not trained:**",
    r"tfidf-logreg(\(.+?\))?: ": "**A baseline's name:**",
    r"Chance level ": "**Chance level:**",
    r"Every cell was pretrained: ": "**Every cell was pretrained:**",
    r"The encoder of every cell ": "**The encoder of every cell began with …:**",
    r"\d+ models? kept ": "**Models kept:**",
}


def lead_of(note: str) -> str:
    """The words of the page that explain a note; empty where none do."""
    return next((words for lead, words in LEADS.items() if re.match(lead, note)), "")


def reports():
    for run in published_runs():
        if run.report is not None:
            yield run.report
        if run.profile is not None:
            yield from (data.run for data in run.profile.data_sets)


def test_every_note_of_the_published_reports_is_explained():
    for report in reports():
        remarks = report.typical.config["data"].get("remarks", [])  # what a data set says itself
        for note in report.notes:
            assert note in remarks or lead_of(note), note


def unpublished_notes() -> list[str]:
    """Notes that the program writes of runs such as none of the published ones is."""
    pretraining = Pretraining(init="pretrain", pretrain_masked=0.3).model_dump()
    half_done = SimpleNamespace(name="fused", tried="lr of 0.001")
    rare = words("rare_notes").module
    made = [
        rare.pretraining(pretraining, seconds=True),
        rare.pretraining({"init": "encoder"}, seconds=False),
        rare.models(1, None),
        rare.baselines({"tfidf-logreg(whole=True)": ["n-grams of up to 2 words"]}),
        rare.tuning({}, [half_done]),
        rare.memory(True, {"one way": 1, "another": 2}),
    ]
    assert all(map(paragraphs, made))
    return [note for notes in made for note in paragraphs(notes)]


@pytest.mark.parametrize("note", unpublished_notes(), ids=lambda note: note[:24])
def test_a_note_of_no_published_report_is_explained_too(note):
    assert lead_of(note)


def test_columns_that_few_tables_have_are_explained():
    assert {"held MiB", "held_memory_mib", "pretrain s", "pretrain_seconds", "model"} <= CODE
    assert f"| `{NOT_TRAINED}` |" in (SOURCES / "how-it-measures.md").read_text("utf-8")


# The beginning of a sentence of the answer to the words of the page that explain it.
ANSWERS = {
    r"(Averaged|Exchanged) .* by ": '"Averaged over the grid, A is better than B by …"',
    r"An effect of ": '"An effect of … would have shown in 4 of 5 such runs"',
    r"No cell has a value of": '"No cell has a value of',
    r"Only \d+ ": '"Only n documents to train on"',
    r"Use the baseline ": '"Use the baseline A: …"',
    r"Best transformer: ": '"Best transformer: … (B; n more tie with it)"',
    r"Use .* better than the": '"better than the n other cells"',
    r"Use ": '"Use A: …"',
    r"Best baseline: ": '"Use A: …"',
    r"Undecided: .*, the baseline ": '"Undecided: A has …, the baseline B …"',
    r"Undecided: .* has the best ": '"Undecided: A has the best …"',
    r"[a-z]+(, [a-z]+)*: undecided": '"attention, pe: undecided"',
    r"Not told apart from ": '"Not told apart from A"',
    r"\S+ has ": '"A has …"',
    r".* compute the same[:,]": '"A and B compute the same"',
    r"The same results with every seed: ": '"The same results with every seed"',
    r"Of (the cells that tie|all cells), .* trains fastest": '"Of the cells that tie, A trains fas',
    r"Of .* none trains measurably faster": '"none trains measurably faster than the others"',
    r"Try a task": '"Try a task on which the order of words decides',
    r"(One|Two|Three|Four) more seed": '"Two more seeds would allow a test"',
}
# The same of a report on several data sets, its answer and its notes.
PROFILE = {
    r"Cells differ on ": '"Cells differ on n of m data sets"',
    r"On none of the ": '"On none of the m data sets can the cells be distinguished"',
    r"Most data sets solved": '"Most data sets solved with every seed"',
    r"No cell solves ": '"No cell solves … with any seed"',
    r"Most often the best ": '"Most often the best there, or not',
    r"A baseline scores as high": '"A baseline scores as high as every cell on …"',
    r"Too few seeds": '"Too few seeds to say which rows differ"',
    r"Mean over seeds of ": '"Mean over seeds of …"',
    r"Lower ": "**Lower METRIC is better:**",
    r"solved: ": '"solved: in how many seeds"',
    r"=: ": '"=: no row"',
    r"Smallest differences ": '"Smallest differences between two rows that would have shown"',
    r"Effects in ": '"Effects in points"',
}


def test_every_sentence_of_the_published_answers_is_explained():
    for report in reports():
        for sentence in ". ".join(report.answer).split(". "):
            assert any(re.match(lead, sentence) for lead in ANSWERS), sentence


def test_every_sentence_of_the_published_profiles_is_explained():
    profiles = [run.profile for run in published_runs() if run.profile is not None]
    assert profiles
    for profile in profiles:
        for sentence in [*profile_answer(profile), *profile_notes(profile)]:
            assert any(re.match(lead, sentence) for lead in PROFILE), sentence


def test_the_words_that_explain_them_are_on_the_page():
    explained = {*LEADS.values(), *ANSWERS.values(), *PROFILE.values()}
    assert {words for words in explained if words not in TEXT} == set()


def test_the_measured_rates_are_the_published_ones():
    published = (RESULTS / "simulations" / "README.md").read_text("utf-8")
    wanted = re.findall(r"^<!-- made: simulated (.+) -->$", TEXT, re.MULTILINE)
    made = simulated()
    assert (
        set(wanted) == set(made) == {t.lower() for t in re.findall(r"^## (.+)$", published, re.M)}
    )
    for name in wanted:
        assert made[name]() in published
        assert made[name]().count("\n| ") >= 2
