"""The table as a person reads it: rounded, with units in the heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.rows import Row
from zoo.report.stats.intervals import Interval, over_seeds
from zoo.report.tables.table import phases_of
from zoo.report.tables.text import ends, plain, ratio, tabulated
from zoo.report.tables.text import line as markdown

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

REASON, SHORT_REASON = 90, 24  # characters of a status with its reason; the whole is in table.csv
# Where there is little room, other columns are left out first, and then these from the end.
# Name, score, speed in training and memory stay on the narrowest terminal.
KEPT = (
    *("train_tokens_per_s", "peak_memory_mib", "status", "contended", "rank", "train_ratio"),
    *("front", "infer_tokens_per_s", "seeds", "train_seconds", "params", "latency_ms"),
)
_FRONTS = {"front": "{}", "tied": "({})"}


@dataclass(frozen=True)
class Column:
    """One column of the readable table.

    key: the column of ``table.csv`` that it shows; ``front`` shows both fronts. values: a text for
    each row. better: 1 where a higher number is better, -1 where a lower one is, 0 for words.
    right: whether it is aligned to the right. intervals: what is known of each value besides,
    where there is room for it; empty where nothing is.
    """

    key: str
    head: str
    values: list[str]
    better: int = 0
    right: bool = False
    intervals: Sequence[str] = ()

    @property
    def texts(self) -> list[str]:
        """The values with what is known besides: ``1.25 (1.22 to 1.28)``."""
        known = zip(self.values, self.intervals or [""] * len(self.values), strict=True)
        return [f"{value} ({interval})" if interval else value for value, interval in known]


def columns_of(run: RunReport) -> list[Column]:
    """All columns that have a value; of the axes, those on which cells differ."""
    table, lines, metric, known = run.table, run.lines, run.metric, run.axis_names
    # The first axis is always there: its column has the names of baselines.
    axes = [axis for axis in known if axis == known[0] or axis in (run.axes or known[:2])]
    found = [Column(axis, axis, list(table[axis])) for axis in axes]

    def words(key: str, values: list[str], head: str = "", better: int = 0) -> None:
        found.append(Column(key, head or key, values, better))

    def numbers(key: str, head: str, form: str, better: int = -1, right: bool = True) -> None:
        if key in table:
            values = ["" if one[key] is None else form.format(one[key]) for one in lines]
            found.append(Column(key, head, values, better, right))

    if any(one["status"] != "ok" for one in lines):
        words("status", [_status(one) for one in lines])
    words("contended", ["yes" if one["contended"] else "" for one in lines])
    ranks = Counter(one["rank"] for one in lines)
    marks = {rank: "=" if count > 1 else "" for rank, count in ranks.items()}
    ranked = ["" if (r := one["rank"]) is None else f"{r}{marks[r]}" for one in lines]
    found.append(Column("rank", "rank", ranked, -1, right=True))
    words(f"{metric.name}_mean", [_value(o, metric) for o in lines], metric.label, metric.direction)
    for other in run.metrics[1:]:
        numbers(f"{other.name}_mean", other.label, f"{{:.{other.digits}f}}", other.direction)
    for name in run.auxiliary:
        numbers(f"{name}_loss", f"{name} loss", "{:.4g}")
    for name in run.tuned:
        numbers(name, name.replace("_", " "), "{:g}", right=False)
    if any(one[f"{metric.name}_mean"] is not None for one in lines):
        seeds = ["" if one["deterministic"] else str(one["seeds"]) for one in lines]
        found.append(Column("seeds", "seeds", seeds, -1, right=True))
    numbers("params", "params", "{:,.0f}")
    for phase in phases_of(run):
        what = phase.replace("_threads", f", {run.speeds.threads} threads")
        numbers(f"{phase}_tokens_per_s", f"{what} tok/s", "{:,.0f}", 1)
        ratios = [_ratio(run, number, phase) for number in range(len(lines))]
        key = f"{phase}_ratio"
        intervals = [ends(one[f"{key}_low"], one[f"{key}_high"]) for one in lines]
        found.append(Column(key, f"× {what}", ratios, 1, intervals=intervals))
    numbers("latency_ms", "latency ms", "{:.2f}")
    numbers("peak_memory_mib", "memory MiB", "{:,.0f}")
    numbers("held_memory_mib", "held MiB", "{:,.0f}")
    numbers("train_seconds", "train s", "{:.1f}")
    numbers("pretrain_seconds", "pretrain s", "{:.1f}")
    words("front", [_fronts(one) for one in lines])
    return [column for column in found if column.key in axes or any(column.values)]


def _status(one: Mapping[str, Any]) -> str:
    return "ok" if one["status"] == "ok" else plain(f"{one['status']}: {one['reason']}", REASON)


def _value(one: Mapping[str, Any], metric: MetricDescription) -> str:
    mean, low, high = (one[f"{metric.name}_{part}"] for part in ("mean", "low", "high"))
    if mean is None:
        return ""
    if low is None or high is None:
        return f"{metric.format(mean)}{' (deterministic fit)' if one['deterministic'] else ''}"
    interval = Interval(mean, max(mean - low, high - mean), ends=(low, high))
    return interval.text(f"{{:.{metric.digits}f}}")


def _ratio(run: RunReport, number: int, phase: str) -> str:
    one = run.lines[number]
    value, tie = one[f"{phase}_ratio"], one[f"{phase}_tie"]
    if value is not None and run.rows[number].name == run.reference:
        return "reference"
    return ratio(value, tie is False)


def _fronts(one: Mapping[str, Any]) -> str:
    standing = {cost: one[f"pareto_{cost}"] for cost in ("speed", "memory")}
    return " ".join(_FRONTS[at].format(cost) for cost, at in standing.items() if at in _FRONTS)


def table_text(run: RunReport, style: str = "simple", width: int | None = None) -> str:
    """The table in a style of tabulate's, each row on one line.

    width: of a terminal, in characters; columns that do not fit are left out and counted. Name,
    score, speed in training and memory are always there. Intervals of ratios stand only on a
    terminal that has room for all.
    """
    columns = list(run.columns.values())
    if style == "simple":
        text = _laid_out([replace(one, values=one.texts) for one in columns], style)
        if width is None or _width(text) <= width:
            return text
    text = _laid_out(columns, style)
    if width is None or _width(text) <= width:
        return text
    for place, column in enumerate(columns):
        if column.key == "status":
            cut = [plain(value, SHORT_REASON) for value in column.values]
            columns[place] = replace(column, values=cut)
    first = {*run.axis_names, f"{run.metric.name}_mean", *KEPT[:4]}
    kept = [column for column in columns if column.key in first]
    for key in dict.fromkeys([*KEPT, *run.columns]):
        wider = [column for column in columns if column in kept or column.key == key]
        if _width(_laid_out(wider, style)) <= width:
            kept = wider
    left_out = len(columns) - len(kept)
    more = f"\n({counted(left_out, 'column')} more: --wide)" if left_out else ""
    return _laid_out(kept, style) + more


def _laid_out(columns: list[Column], style: str) -> str:
    rows = list(zip(*(column.values for column in columns), strict=True))
    align = ["right" if column.right else "left" for column in columns]
    return tabulated(rows, [column.head for column in columns], style, align)


def _width(text: str) -> int:
    return max(map(len, text.splitlines()))


def latex_table(run: RunReport) -> str:
    """A ``tabular`` to ``\\input`` into a float of one's own, after answer and notes as comments.

    It needs ``\\usepackage{booktabs}`` and an engine that reads UTF-8.
    """
    # After \\ a bracket or a star would be an argument of the line break.
    body = re.sub(r"(?m)^(\s*)(?=[\[*])", r"\1{}", table_text(run, "latex_booktabs"))
    comments = [f"% {plain(note)}" for note in [*run.answer, *run.notes]]
    return "\n".join([r"% needs \usepackage{booktabs}", *comments, body, ""])


def group_table(run: RunReport) -> tuple[list[str], list[list[str]]]:
    """Scores per group of test examples, such as ranges of length: heads, and a line for each row.

    A score is the mean over seeds with its 95% t-interval. Without groups there are no lines.
    """
    groups = list(dict.fromkeys(name for row in run.rows for name in row.groups))
    counts = [next((n for row in run.rows if (n := row.examples_of(name))), 0) for name in groups]
    named = zip(groups, counts, strict=True)
    heads = ["row", *(f"{name} ({count:,} {run.metric.scored})" for name, count in named)]
    lines = [
        [run.short_name(row), *(_group_score(run.metric, row, name) for name in groups)]
        for row in run.rows
        if row.groups
    ]
    return heads, lines


def group_text(run: RunReport, style: str = "simple") -> str:
    """That table under a title; empty without groups."""
    heads, lines = group_table(run)
    if not lines:
        return ""
    label = (markdown if style == "github" else plain)(run.metric.label)
    return f"By group of test examples, {label}:\n\n{tabulated(lines, heads, style)}"


def _group_score(metric: MetricDescription, row: Row, group: str) -> str:
    interval = over_seeds(list(row.groups.get(group, {}).values()))
    if interval is None:
        return ""
    if row.deterministic:  # the same fit with every seed
        return metric.format(interval.mean)
    return interval.text(f"{{:.{metric.digits}f}}")
