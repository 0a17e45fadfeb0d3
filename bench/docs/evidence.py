"""What the published tables say of a component: its best row in each."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Mapping

from bench.docs.place import RESULTS
from bench.publish.markdown import grid, link
from zoo.registry import AXES, Component
from zoo.report.tables.text import code, line

RATIOS = {"× train": "train_ratio", "× infer": "infer_ratio", "× memory": "memory_ratio"}
Row = Mapping[str, str]


@functools.cache
def tables() -> dict[str, list[Row]]:
    """The rows of every published table that have a rank, the best first, by its directory."""
    ranked: dict[str, list[Row]] = {}
    for file in sorted(RESULTS.rglob("table.csv")):
        with file.open(encoding="utf-8", newline="") as opened:
            rows = [row for row in csv.DictReader(opened) if row["rank"]]
        ranked[file.parent.relative_to(RESULTS).as_posix()] = sorted(
            rows, key=lambda row: int(row["rank"])
        )
    return ranked


def results_section(component: Component, up: str) -> str:
    """The component's best row in each published table that has it; empty without any.

    up: the path from the component's page to the site's root.
    """
    rows = [
        {"table": link(place, f"{up}results/{place}/README.md"), **shown}
        for place, table in tables().items()
        if (shown := next(_rows(component, table), None))
    ]
    return grid(rows) if rows else ""


def _rows(component: Component, table: list[Row]) -> Iterator[dict[str, str]]:
    """The rows that have the component, alone or in a hybrid."""
    # The name alone, or as one of several: a/b, a(x=1).
    name = re.compile(rf"(?:^|[/:]){re.escape(component.name)}(?=$|[/(])")
    for row in table:
        baseline = row["baseline"]
        own = baseline if component.kind == "baseline" else row.get(component.kind, "")
        if not name.search(own) or bool(baseline) != (component.kind == "baseline"):
            continue
        mean = next(key for key in row if key.endswith("_mean"))
        cell = "+".join(row[axis] for axis in AXES if row.get(axis))
        ratios = {head: row.get(key) for head, key in RATIOS.items()}
        yield {
            "best row with it": code(baseline or cell),
            "score": f"{line(mean.removesuffix('_mean'))} {float(row[mean]):.3f}",
            **{head: f"{float(ratio):.2f}" for head, ratio in ratios.items() if ratio},
        }
