"""The table of the page: what each of its cells shows, sorts by, and draws as an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from zoo.report.run_report import RunReport

_SORTED_BY = {
    "rank": "rank",
    "seeds": "seeds",
    "params": "params",
    "train tok/s": "train_tokens_per_s",
    "infer tok/s": "infer_tokens_per_s",
    "× train": "train_ratio",
    "× infer": "infer_ratio",
    "latency ms": "latency_ms",
    "memory MiB": "peak_memory_mib",
    "train s": "train_seconds",
}
_MORE_IS_BETTER = {"train tok/s", "infer tok/s", "× train", "× infer"}
_RATIOS = {"× train": "train_ratio", "× infer": "infer_ratio"}


@dataclass(frozen=True)
class Head:
    """A column. first: the order in which the first click sorts it."""

    text: str
    number: bool
    first: str


@dataclass(frozen=True)
class Cell:
    """key: what it sorts by, "" if empty. whisker: low, middle and high in percent."""

    text: str
    key: str
    number: bool
    tie: bool
    whisker: tuple[float, float, float] | None

    @property
    def classes(self) -> str:
        """Its CSS classes."""
        long = not self.number and len(self.text) > 24
        marks = {"number": self.number, "tie": self.tie, "words": long}
        return " ".join(mark for mark, there in marks.items() if there)


@dataclass(frozen=True)
class Line:
    """A row. facets: its choices on the axes that vary, which filters use."""

    number: int
    name: str
    cells: list[Cell]
    facets: dict[str, str]
    baseline: bool
    ok: bool
    best: bool
    reference: bool

    @property
    def classes(self) -> str:
        """Its CSS classes."""
        marks = {"best": self.best, "bad": not self.ok, "reference": self.reference}
        return " ".join(mark for mark, there in marks.items() if there)


def heads_of(run: RunReport) -> list[Head]:
    """The columns of the readable table."""
    metrics = {metric.label: metric for metric in run.metrics}
    heads = []
    for text in map(str, run.shown.columns):
        metric = metrics.get(text)
        more = metric.higher_is_better if metric else text in _MORE_IS_BETTER
        number = text in _SORTED_BY or metric is not None
        heads.append(Head(text, number, "descending" if number and more else "ascending"))
    return heads


def lines_of(run: RunReport) -> list[Line]:
    """The rows of the readable table, in its order."""
    columns = {**_SORTED_BY, **{m.label: f"{m.name}_mean" for m in run.metrics}}
    whiskers = {head: _whiskers(run, head) for head in (run.metric.label, *_RATIOS)}
    several_best = sum(line["rank"] == 1 for line in run.lines) > 1
    lines = []
    for number, row in enumerate(run.rows):
        line = run.lines[number]
        cells = []
        for head, text in run.shown.iloc[number].items():
            head = str(head)
            value = line.get(columns[head]) if head in columns else None
            cells.append(
                Cell(
                    str(text),
                    _key(value) if head in columns else str(text),
                    head in columns,
                    head in _RATIOS and bool(line[_RATIOS[head].replace("ratio", "tie")]),
                    whiskers[head][number] if head in whiskers else None,
                )
            )
        lines.append(
            Line(
                number,
                run.short_name(row),
                cells,
                {axis: row.cell[axis] for axis in run.axes if not row.baseline},
                bool(row.baseline),
                line["status"] == "ok",
                several_best and line["rank"] == 1,
                row.name == run.reference,
            )
        )
    return lines


def _key(value: Any) -> str:
    return "" if value is None else repr(float(value))


def _whiskers(run: RunReport, head: str) -> list[tuple[float, float, float] | None]:
    """Intervals on one scale for the whole column, logarithmic for ratios; None without one."""
    name = _RATIOS.get(head)
    middle, low, high = (
        (name, f"{name}_low", f"{name}_high")
        if name
        else (f"{run.metric.name}_{part}" for part in ("mean", "low", "high"))
    )
    found = [(line[low], line[middle], line[high]) for line in run.lines]
    scaled = [
        None if None in ends else tuple(map(math.log, ends)) if name else ends for ends in found
    ]
    # The scale is that of the cells: a baseline that is far off is drawn at the edge.
    cells = [
        ends
        for ends, row in zip(scaled, run.rows, strict=True)
        if ends is not None and not row.baseline
    ]
    if not cells:
        return [None] * len(found)
    least, most = min(ends[0] for ends in cells), max(ends[2] for ends in cells)
    width = (most - least) or 1.0

    def percent(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * (value - least) / width)), 1)

    return [
        None if ends is None else (percent(ends[0]), percent(ends[1]), percent(ends[2]))
        for ends in scaled
    ]
