"""Of hundreds of rows the first by score are ranked, and no more is called different for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from factory import simulated
from rates import at_most
from situations import many_rows

from zoo.report.rows import make_rows
from zoo.report.run_report import MOST_DRAWN
from zoo.report.stats import verdicts
from zoo.report.stats.verdicts import MOST_RANKED, Verdicts


def test_the_first_rows_by_score_are_ranked_and_all_pairs_are_corrected_for():
    run = many_rows()
    known, distinct = run.verdicts, len({line["accuracy_mean"] for line in run.lines})
    assert (known.limited, len(known.rows)) == (True, MOST_RANKED)
    assert {row.name for row in known.rows} == {row.name for row in run.rows[:MOST_RANKED]}
    assert known.tests >= distinct * (distinct - 1) / 2
    # What was not tested is unknown, and never a test by itself.
    best, last = run.rows[0].name, run.rows[-1].name
    assert known.pair(best, last) is None
    assert known.verdict(last, best) is None
    assert known.verdict(run.rows[MOST_RANKED - 1].name, best) == -1
    assert (len(run.drawn), len(run.table.frame)) == (MOST_DRAWN, 250)
    assert "200 of 250" in run.drawn_note


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
