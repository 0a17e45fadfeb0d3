"""``results/README.md``: every published run, by data set and machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from bench.publish.page import Run
from bench.publish.scaling import ScaleRun, scale_overview
from zoo.report.tables.columns import scores_in
from zoo.report.tables.layout import readable
from zoo.report.tables.markdown import escaped, grid, line, link
from zoo.report.tables.table import caption

ABOUT = """\
# Published results

Everything here is made from the records beside it by `zoo results`; nothing is written by hand, and
a test makes it again and compares every byte. ± is the 95% t-interval of the mean over seeds. A
rank of 1= says that nobody can tell the row from the best one; the page of each run says how that
was decided, and how far its machine's own noise reaches."""
BEST = 5  # rows of a run that the overview shows
LEFT_OUT = ("train s", "latency ms", "front", "seeds")


def overview(runs: Sequence[Run], scales: Sequence[ScaleRun] = ()) -> str:
    """The whole page; runs of one data set and machine stand together, cost alone at the end."""
    parts = [ABOUT]
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(", ".join(Path(run.place).parts[:2]), []).append(run)
    for name, members in groups.items():
        parts.append(f"## {line(name)}")
        parts += list(
            dict.fromkeys(
                escaped(r.published.data.strip())
                for r in members
                if r.published and r.published.data
            )
        )
        for run in members:
            parts += _run(run)
    for name, of_one in itertools.groupby(scales, lambda s: ", ".join(Path(s.place).parts[:2])):
        parts.append(f"## {line(name)}")
        for scale in of_one:
            parts += scale_overview(scale)
    return "\n\n".join(parts) + "\n"


def _run(run: Run) -> list[str]:
    place = run.place
    cells = run.table[run.table["baseline"] == ""]
    seeds = cells["seeds"] if len(cells) else run.table["seeds"]
    ran = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}, {_range(seeds)} seeds each"
    bad = int((run.table["status"] != "ok").sum())
    files = [link("page", f"{place}/README.md")]
    files += [
        link(said, f"{place}/{name}")
        for said, name in (
            ("interactive report", "report.html"),
            ("table", "table.md"),
            ("CSV", "table.csv"),
        )
        if (run.directory / name).exists()
    ]
    files.append(link("records", f"{place}/records.jsonl"))
    if run.suite is not None:
        top = run.home.parents[len(Path(place).parts) - 1]
        files.append(link("suite", Path(os.path.relpath(run.suite, top)).as_posix()))
    made_on = line(caption(run.records, run.table).splitlines()[-1])
    told = [f"{ran}{f', {bad} failed or skipped' if bad else ''}. {made_on}", " · ".join(files)]
    return [f"### {line(run.title)}", *told, _best(run)]


def _best(run: Run) -> str:
    """The best rows and the baselines, in the columns that matter at a glance."""
    table = run.table
    cells = table[(table["baseline"] == "") & (table["status"] == "ok")]
    shown = table.loc[[*cells.head(BEST).index, *table[table["baseline"] != ""].index]]
    text = readable(table).loc[shown.index]
    left_out = {*LEFT_OUT, *(score.label for score in scores_in(table)[1:])}
    keep = [c for c in text.columns if c not in left_out and (text[c] != "").any()]
    rows = [dict(zip(keep, map(line, row), strict=True)) for row in text[keep].values.tolist()]
    said = grid(rows)
    tied = int((table["rank"] == 1).sum())
    notes = []
    if tied > 1:
        notes.append(f"{tied} rows cannot be told from the best.")
    if len(cells) > BEST:
        notes.append(f"{len(cells) - BEST} more on its page.")
    return f"{said}\n\n{' '.join(notes)}" if notes else said


def _range(counts: pd.Series) -> str:
    few, many = int(counts.min()), int(counts.max())
    return f"{few}" if few == many else f"{few} to {many}"
