"""Where a run's own rows stand among rows from elsewhere."""

import re

import factory
import pytest

from zoo.report.run_report import RunReport
from zoo.report.stats.learning import exchanged, exchanged_over
from zoo.report.tables.learned import standings_of

RATES = (0.001, 0.003)
EXAMPLES = {
    "plain": [1600, 2400, 1600, 3200, 2400, 1600],
    "fast": [800, 800, 1600, 800, 800, 1600],
    "mine": [6400, 4800, 8000, 6400, 9600, 4800],
    "never": [None] * 6,
}


def rows(*names, **more):
    return [
        record
        for name in names
        for record in factory.streamed(
            factory.cell(attention=name), dict.fromkeys(RATES, EXAMPLES[name]), **more
        )
    ]


def number(text, pattern):
    return float(re.search(pattern, text)[1])


def test_an_own_row_is_held_against_the_first_from_elsewhere_and_has_its_place():
    others = rows("plain", "fast", "never")
    report = RunReport(rows("mine"), others=others)
    (line,) = report.standings
    one_run = RunReport([*others, *rows("mine")])
    expected = exchanged(*(one_run.learning[factory.name(attention=n)] for n in ("mine", "plain")))
    assert line.startswith("mine: 6/6 · 6.4k · 2 rates. It needs ")
    assert number(line, r"needs ([\d.]+) times") == pytest.approx(expected.ratio, rel=0.05)
    assert number(line, r"p = ([\d.]+)") == pytest.approx(expected.p, rel=0.05)
    assert line.endswith("Of 3 other rows: faster 2, slower 1, not told apart 0.")
    assert report.answer == [line, *one_run.answer]
    assert "Not trained in this run: plain, fast and never." in report.notes
    assert report.lines == one_run.lines
    assert one_run.standings == []


def test_a_row_that_solves_as_little_as_the_reference_has_no_ratio():
    never = {**EXAMPLES, "plain": [None] * 6}
    others = factory.streamed(factory.cell(attention="plain"), dict.fromkeys(RATES, never["plain"]))
    (line,) = RunReport(rows("never"), others=others).standings
    assert "It solves nothing in any run, and neither does plain." in line


def test_the_reference_trained_in_the_run_itself_stands_for_that_from_elsewhere():
    report = RunReport(rows("plain", "mine"), others=rows("plain", "fast"))
    assert [line.partition(":")[0] for line in report.standings] == ["mine"]
    assert len(report.records) == len(rows("plain", "mine", "fast"))


def test_over_data_sets_the_exchange_is_stratified():
    reports = [
        RunReport(rows("mine", name=name), others=rows("plain", name=name))
        for name in ("copy", "recall")
    ]
    shown = {factory.name(attention=name): name for name in EXAMPLES}
    (line,) = standings_of(reports, shown)
    pairs = [[r.learning[factory.name(attention=n)] for n in ("mine", "plain")] for r in reports]
    assert line.startswith("Over 2 data sets mine needs ")
    assert number(line, r"needs ([\d.]+) times") == pytest.approx(
        exchanged_over(pairs).ratio, rel=0.05
    )
