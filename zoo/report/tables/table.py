"""The table of a run: a line of values for each row, and the texts that a reader sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.errors import counted
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row
from zoo.report.stats.intervals import over_seeds
from zoo.report.tables.columns import ALWAYS, Column, columns_of
from zoo.report.tables.text import line as markdown
from zoo.report.tables.text import plain, tabulated


@dataclass(frozen=True)
class Table:
    """Rows, the columns of all of them, and the values.

    rows: what the columns read values of. lines: of each row, the value of each column by its key;
    None where it is unknown.
    """

    rows: Sequence[Any]
    columns: list[Column]
    lines: list[dict[str, Any]]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The values: what ``table.csv`` holds."""
        frame = pd.DataFrame(self.lines, columns=[column.key for column in self.columns])
        return frame.astype({"rank": "Int64"}) if "rank" in frame else frame

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """Key to the text of each row, of the columns that have something to read."""
        texts = {c.key: [c.text(row) for row in self.rows] for c in self.columns if c.head}
        return {key: column for key, column in texts.items() if any(column)}

    @cached_property
    def readable(self) -> list[Column]:
        """The columns of ``texts``."""
        return [column for column in self.columns if column.key in self.texts]

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The texts under their heads; heads may be equal."""
        values = zip(*self.texts.values(), strict=True)
        return pd.DataFrame(list(values), columns=[column.head for column in self.readable])

    def text(self, style: str = "simple", width: int | None = None) -> str:
        """The table in a style of tabulate's, each row on one line.

        width: of a terminal, in characters; columns that do not fit are left out and counted, those
        with the highest priority first.
        """
        columns = list(self.readable)
        while width is not None and _width(self._text_of(columns, style)) > width:
            least = max(columns, key=lambda column: (column.priority, columns.index(column)))
            if least.priority == ALWAYS:
                break
            columns.remove(least)
        left_out = len(self.readable) - len(columns)
        more = f"\n({counted(left_out, 'column')} more: --wide)" if left_out else ""
        return self._text_of(columns, style) + more

    def _text_of(self, columns: Sequence[Column], style: str) -> str:
        rows = list(zip(*(self.texts[column.key] for column in columns), strict=True))
        align = ["right" if column.better else "left" for column in columns]
        return tabulated(rows, [column.head for column in columns], style, align)

    def latex(self, comments: Sequence[str] = ()) -> str:
        """A ``tabular`` to ``\\input`` into a float of one's own, after comments.

        It needs ``\\usepackage{booktabs}`` and an engine that reads UTF-8.
        """
        # After \\ a bracket or a star would be an argument of the line break.
        body = re.sub(r"(?m)^(\s*)(?=[\[*])", r"\1{}", self.text("latex_booktabs"))
        lines = [r"% needs \usepackage{booktabs}", *(f"% {plain(text)}" for text in comments)]
        return "\n".join([*lines, body, ""])


def make_table(run: EvaluatedRun) -> Table:
    """The table of a run."""
    columns = columns_of(run)
    lines = [{column.key: column.value(row) for column in columns} for row in run.rows]
    return Table(run.rows, columns, lines)


def group_table(run: EvaluatedRun) -> tuple[list[str], list[list[str]]]:
    """Scores per group of test examples, such as ranges of length: heads, and a line for each row.

    A score is the mean over seeds with its 95% t-interval. Without groups there are no lines.
    """
    groups = list(dict.fromkeys(name for row in run.rows for name in row.groups))
    counts = [next((n for row in run.rows if (n := row.examples_of(name))), 0) for name in groups]
    named = zip(groups, counts, strict=True)
    heads = ["row", *(f"{name} ({count:,} {run.metric.scored})" for name, count in named)]
    lines = [
        [run.short_name(row), *(_group_score(row, name) for name in groups)]
        for row in run.rows
        if row.groups
    ]
    return heads, lines


def group_text(run: EvaluatedRun, style: str = "simple") -> str:
    """That table under a title; empty without groups."""
    heads, lines = group_table(run)
    if not lines:
        return ""
    label = (markdown if style == "github" else plain)(run.metric.label)
    return f"By group of test examples, {label}:\n\n{tabulated(lines, heads, style)}"


def _group_score(row: Row, group: str) -> str:
    interval = over_seeds(list(row.groups.get(group, {}).values()))
    if interval is None:
        return ""
    if row.deterministic:  # the same fit with every seed
        return row.metric.format(interval.mean)
    return interval.text(row.metric.digits)


def _width(text: str) -> int:
    return max(map(len, text.splitlines()))
