"""The readable table on a terminal: as many columns as fit, the most asked-for ones first."""

from __future__ import annotations

import pandas as pd

from zoo.report.tables.readable import aligned, axes_in, metrics_in, readable
from zoo.report.tables.text import plain
from zoo.wording import counted

REASON = 24  # characters of a status with its reason, where not everything fits
# After name, score, speed and memory, in the order in which they get what room is left.
NEXT = ("rank", "× train", "infer tok/s", "seeds", "train s", "params", "latency ms", "front")


def fitted_text(table: pd.DataFrame, width: int | None) -> str:
    """The readable table in at most ``width`` characters a line, and how many columns are left out.

    width: None for the whole table. Name, score, speed in training and memory are always there,
    however narrow the terminal is.
    """
    shown = readable(table)
    text = aligned(table, shown)
    if width is None or _width(text) <= width:
        return text
    if "status" in shown:
        shown["status"] = [plain(text, REASON) for text in shown["status"]]
    metric = metrics_in(table)[0].label
    first = [*axes_in(table), "status", metric, "train tok/s", "memory MiB"]
    kept = [head for head in shown.columns if head in first]
    for head in [*NEXT, *shown.columns]:
        wider = [name for name in shown.columns if name in {*kept, head}]
        if head in shown.columns and _width(aligned(table, shown[wider])) <= width:
            kept = wider
    left_out = len(shown.columns) - len(kept)
    more = f"\n({counted(left_out, 'column')} more: --wide)" if left_out else ""
    return aligned(table, shown[kept]) + more


def _width(text: str) -> int:
    return max(map(len, text.splitlines()))
