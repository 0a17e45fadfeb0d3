"""The page about reports explains every column and every kind of sentence there is."""

from __future__ import annotations

import re

import pytest

from bench.docs.evidence import published_runs
from bench.docs.place import RESULTS, SOURCES
from bench.docs.simulated import simulated
from zoo.registry import AXES
from zoo.report.profile.profile_text import MARKS
from zoo.report.run_report import RunReport

TEXT = (SOURCES / "reading-a-report.md").read_text("utf-8")
CODE = set(re.findall(r"`([^`]+)`", TEXT))


@pytest.fixture(scope="module", params=["bbc-news/cpu/grid", "bbc-news/cpu/best", "tutorial/cpu"])
def report(request) -> RunReport:
    """A published report on one data set."""
    (found,) = [run.report for run in published_runs() if run.place == request.param]
    assert found is not None
    return found


def test_every_column_of_a_table_is_explained(report: RunReport) -> None:
    metrics = {metric.label for metric in report.metrics}
    settings = {name.replace("_", " ") for name in report.table.attrs["tuned"]}
    assert {str(head) for head in report.shown.columns} - metrics <= CODE
    assert settings <= CODE


def test_every_key_of_table_csv_is_explained(report: RunReport) -> None:
    names = "|".join(re.escape(metric.name) for metric in report.metrics)
    for column in map(str, report.table.columns):
        key = re.sub(rf"^(?:{names})(?=_(?:mean|std|low|high|sampling_error)$)", "METRIC", column)
        key = re.sub(r"^(train|infer)_ratio_(?:low|high)$|^(train|infer)_tie$",
                     lambda m: f"{m[1] or m[2]}_ratio", key)  # fmt: skip
        assert key in CODE or key in AXES or key in report.table.attrs["tuned"], column


# The beginning of a note to the words of the page that explain it.
LEADS = {
    r"Seeds: ": "**Seeds:**",
    r"Seeds were added": "**Seeds were added one by one:**",
    r"Rank: ": "**Rank:**",
    r"Ranks do not follow": "**Ranks do not follow the means everywhere:**",
    r"Test set: |On another test set": "**Test set:**",
    r"Differences of ": "**Differences of … would have shown:**",
    r"The same results with every seed": "**The same results with every seed:**",
    r"×: ": "**×:**",
    r"Reference: ": "**Reference:**",
    r"Noise floor: ": "**Noise floor:**",
    r"train s: ": "**train s:**",
    r"Front ": "**Front:**",
    r"Lower ": "**Lower METRIC is better:**",
    r"Data: ": "**Data:**",
    r"Made by several": "**Made by several states of the code:**",
    r"\w+ loss": "**NAME loss:**",
    r"Each row was trained with": "**Each row was trained with …:**",
    r"Most depends on it for": "**Most depends on it for …:**",
    r"With one value for all rows": "**With one value for all rows:**",
    r"Not trained": "**Not trained:**",
    r"Chance level ": "**Chance level:**",
}


def reports():
    for run in published_runs():
        if run.report is not None:
            yield run.report
        if run.profile is not None:
            yield from (data.run for data in run.profile.data_sets)


def test_every_note_of_the_published_reports_is_explained() -> None:
    for report in reports():
        remarks = report.typical.config["data"].get("remarks", [])  # what a data set says itself
        for note in report.notes:
            if note not in remarks:
                found = [words for lead, words in LEADS.items() if re.match(lead, note)]
                assert found, note
                assert found[0] in TEXT


# The beginning of a sentence of the answer to the words of the page that explain it.
ANSWERS = {
    "This machine was too busy": "This machine was too busy to compare speeds",
    r"Choices that matter": '"Choices that matter',
    r"No single choice": '"No single choice makes a difference',
    r"Best ": '"Best …: A with …',
    r"Of these, ": '"Of these, A trains fastest',
    r"Nothing here beats|.*really better than": '"Nothing here beats the baseline"',
    r"The largest gap|Where a baseline": '"The largest gap among the rows that tie',
    r"Try at least|Whether anything|No cell": '"with fewer than 3 seeds',
}


def test_every_sentence_of_the_published_answers_is_explained() -> None:
    for report in reports():
        for sentence in report.answer:
            found = [words for lead, words in ANSWERS.items() if re.match(lead, sentence)]
            assert found, sentence
            assert found[0] in TEXT


def test_every_mark_of_a_profile_is_explained() -> None:
    for mark in MARKS:
        assert f"`{mark}`: " in TEXT


def test_the_measured_rates_are_the_published_ones() -> None:
    published = (RESULTS / "simulations" / "README.md").read_text("utf-8")
    wanted = re.findall(r"^<!-- made: simulated (.+) -->$", TEXT, re.MULTILINE)
    made = simulated()
    assert (
        set(wanted) == set(made) == {t.lower() for t in re.findall(r"^## (.+)$", published, re.M)}
    )
    for name in wanted:
        assert made[name]() in published
        assert made[name]().count("\n| ") >= 2
