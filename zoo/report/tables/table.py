"""The table of a run: a line of values for each row, and the texts that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.errors import counted
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.tables.columns import ALWAYS, Column, columns_of
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
        """The values: what ``table.csv`` holds; what is unknown is NaN."""
        frame = pd.DataFrame(self.lines, columns=[column.key for column in self.columns])
        types = {key: "float" for key in frame if frame[key].isna().all()}
        return frame.astype(types | ({"rank": "Int64"} if "rank" in frame else {}))

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
        lines = [r"% needs \usepackage{booktabs}", *(f"% {plain(text)}" for text in comments)]
        return "\n".join([*lines, self.text("latex_booktabs"), ""])


def make_table(run: EvaluatedRun) -> Table:
    """The table of a run."""
    columns = columns_of(run)
    lines = [{column.key: column.value(row) for column in columns} for row in run.rows]
    return Table(run.rows, columns, lines)


def _width(text: str) -> int:
    return max(map(len, text.splitlines()))
