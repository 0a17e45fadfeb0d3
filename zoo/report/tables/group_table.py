"""Scores per group of test examples, such as ranges of length or languages: a line for each row."""

from __future__ import annotations

from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import over_seeds
from zoo.report.tables.text import line, plain, tabulated


def group_table(run: RunReport) -> tuple[list[str], list[list[str]]]:
    """Heads, each group with its number of examples, and a line for each row with scores by group.

    A score is the mean over seeds with its 95% t-interval. Without groups there are no lines.
    """
    groups = list(dict.fromkeys(name for row in run.rows for name in row.groups))
    counts = {
        name: next(filter(None, (row.examples_of(name) for row in run.rows)), 0) for name in groups
    }
    heads = ["row", *(f"{name} ({counts[name]:,} {run.metric.scored})" for name in groups)]
    lines = [
        [run.short_name(row), *(_score(run, row, name) for name in groups)]
        for row in run.rows
        if row.groups
    ]
    return heads, lines


def group_lines(run: RunReport, style: str = "simple") -> list[str]:
    """The table in a style of tabulate's, with a title before it and a blank line after it."""
    heads, lines = group_table(run)
    if not lines:
        return []
    one_line = line if style == "github" else plain
    title = f"By group of test examples, {one_line(run.metric.label)}:"
    return [title, "", tabulated(lines, heads, style), ""]


def _score(run: RunReport, row: Row, group: str) -> str:
    values = list(row.groups.get(group, {}).values())
    interval = over_seeds(values)
    if interval is None:
        return ""
    if row.deterministic:  # the same fit with every seed
        return run.metric.format(interval.mean)
    return interval.text(f"{{:.{run.metric.digits}f}}")
