"""A run of hundreds of rows is reported with few comparisons, and on a small page that says so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from factory import name, simulated, train_record
from rates import at_most

from zoo.report.html.report_page import report_page
from zoo.report.rows import make_rows
from zoo.report.run_report import MOST_DRAWN, RunReport
from zoo.report.stats import verdicts
from zoo.report.stats.verdicts import MOST_RANKED, Verdicts
from zoo.report.write import write_tables

AXES = {"attention": [f"a{n:02}" for n in range(20)], "pe": [f"p{n:02}" for n in range(20)]}


@pytest.fixture(scope="module")
def run() -> RunReport:
    """400 cells, of which the last choices of both axes are worse, and a baseline."""
    generator = np.random.default_rng(33)
    places = {choice: n for choices in AXES.values() for n, choice in enumerate(choices)}
    records = simulated(
        generator,
        AXES,
        lambda c: 3 - 0.1 * (places[c["attention"]] + places[c["pe"]]),
        seeds=3,
        examples=200,
    )
    records += [train_record("words", seed, range(90, 100), examples=200) for seed in range(3)]
    return RunReport(records, name(attention="a10", pe="p10"))


def test_the_first_rows_by_score_are_ranked_and_all_pairs_are_corrected_for(run):
    verdicts = run.verdicts
    assert (verdicts.limited, len(verdicts.rows)) == (True, MOST_RANKED)
    ranked = {row.name for row in verdicts.rows}
    assert ranked == {row.name for row in run.rows[:MOST_RANKED]}
    assert verdicts.tests >= 401 * 400 / 2
    # What was not tested is unknown, and never a test by itself.
    best, last = run.rows[0].name, run.rows[-1].name
    assert verdicts.pair(best, last) is None
    assert verdicts.verdict(last, best) is None
    assert verdicts.verdict(run.rows[MOST_RANKED - 1].name, best) in (0, -1)


def test_the_page_shows_the_first_rows_and_the_csv_all(run, tmp_path):
    page = report_page(run, [])
    assert len(page.encode()) < 3_000_000
    assert f"The first {MOST_DRAWN} of 401 rows are shown; table.csv has all." in page
    write_tables(run, tmp_path)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + 401


@pytest.mark.slow
def test_of_many_equal_rows_the_best_is_called_better_no_more_often_than_stated(monkeypatch):
    generator, repeats, wrongly = np.random.default_rng(1), 100, 0
    monkeypatch.setattr(verdicts, "MOST_RANKED", 5)
    axes = {"attention": [f"a{n}" for n in range(8)], "pe": [f"p{n}" for n in range(5)]}
    for _ in range(repeats):
        rows = make_rows(simulated(generator, axes, lambda c: 2.5, examples=300))
        ranked = Verdicts(rows)
        assert ranked.limited
        pairs = itertools.combinations(ranked.rows, 2)
        wrongly += any(ranked.verdict(one.name, other.name) for one, other in pairs)
    assert at_most(wrongly, repeats, 0.05)
