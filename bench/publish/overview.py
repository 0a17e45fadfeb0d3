"""``results/README.md``: every published run, by data set and machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.publish.markdown import grid, link
from bench.publish.page import Run
from bench.publish.profile_page import ProfileRun
from zoo.errors import counted
from zoo.report.profile_text import as_text, mark_notes, scores_table
from zoo.report.tables.text import escaped, from_to, line
from zoo.sweep.records import Record

ABOUT = """\
## All results

Everything here is made by `make results` from the records in each directory; nothing is written by
hand, and a test makes it again and compares every byte. ± is the 95% interval of the mean over
seeds. A rank of 1= means that no row is significantly better, and that there are several such rows.
× is a speed divided by the reference's; with ~ before it, the two are not told apart. The page of
each run says how ranks were decided and how speeds were measured."""
BEST = 5  # cells of a run that the overview shows
PROFILE_FILES = (("page", "README.md"), ("interactive", "report.html"), ("CSV", "profile.csv"))
LEFT_OUT = ("latency_ms", "seeds")
NO_GPU = "On a GPU: not yet measured."

SIMULATED = """\
How often verdicts are wrong, and what they find, is [simulated](simulations/README.md)."""


def overview(
    runs: Sequence[Run],
    profiles: Sequence[ProfileRun] = (),
    *,
    simulated: bool = False,
    others: Sequence[str] = (),
    questions: Sequence[str] = (),
) -> str:
    """The whole page, grouped by data set and machine.

    A run on several data sets is shown as one, by its profile. others: further parts, after the
    runs. questions: the part that stands first.
    """
    parts = ["# Published results", *questions, *([ABOUT, SIMULATED] if simulated else [ABOUT])]
    if not any(record.environment.get("device") == "cuda" for record in _records(runs)):
        parts.append(NO_GPU)
    for one in profiles:
        parts.append(f"## {line(one.published.title)}")
        links = [link(label, f"{one.place}/{name}") for label, name in PROFILE_FILES]
        parts += [" · ".join(links), as_text(scores_table(one.profile), "github")]
        if marks := mark_notes(one.profile):
            parts.append("\n".join(f"- {note}" for note in marks))
    of_profiles = tuple(f"{one.place}/" for one in profiles)
    runs = [run for run in runs if not run.place.startswith(of_profiles)] if profiles else runs
    for name, group in itertools.groupby(runs, lambda run: _group(run.place)):
        parts.append(f"## {line(name)}")
        # The largest tables first: those of one cell answer smaller questions.
        members = sorted(group, key=lambda run: -len(run.report.rows))
        texts = [run.published.data.strip() for run in members if run.published]
        parts += [escaped(text) for text in dict.fromkeys(texts) if text]
        for run in members:
            parts += _run(run)
    return "\n\n".join(filter(None, [*parts, *others])) + "\n"


def _records(runs: Sequence[Run]) -> Iterator[Record]:
    for run in runs:
        yield from run.report.records


def _group(place: str) -> str:
    """Data set and machine, the first two folders."""
    return ", ".join(Path(place).parts[:2])


def _run(run: Run) -> list[str]:
    place, table = run.place, run.report.table.frame
    cells = table[table["baseline"] == ""]
    seeds = (cells if len(cells) else table)["seeds"]
    number = from_to(int(seeds.min()), int(seeds.max()))
    bad = int((table["status"] != "ok").sum())
    files = [("page", "README.md"), ("interactive report", "report.html"), ("table", "table.md")]
    files += [("CSV", "table.csv"), ("records", "records.jsonl")]
    links = [link(label, f"{place}/{name}") for label, name in files]
    if run.suite is not None:
        top = run.home.parents[len(Path(place).parts) - 1]
        links.append(link("suite", Path(os.path.relpath(run.suite, top)).as_posix()))
    return [
        f"### {line(run.title)}",
        f"{counted(len(cells), 'cell')}, {number} seeds each"
        f"{f', {bad} failed or skipped' if bad else ''}. {line(run.report.notes[-1])}",
        " · ".join(links),
        _best(run),
    ]


def _best(run: Run) -> str:
    """The best rows and the baselines, in the most important columns."""
    table, texts = run.report.table.frame, run.report.table.texts
    cells = table[(table["baseline"] == "") & (table["status"] == "ok")]
    shown_rows = [*cells.head(BEST).index, *table[table["baseline"] != ""].index]
    left_out = {*LEFT_OUT, *(f"{metric.name}_mean" for metric in run.report.metrics[1:])}
    kept = [
        column
        for column in run.report.table.readable
        if column.key not in left_out and any(texts[column.key][number] for number in shown_rows)
    ]
    axes = [column.head for column in kept if column.key in run.report.axis_names]
    sizes, rows = _sizes(run.report.typical), []
    for number in shown_rows:
        shown = {column.head: line(texts[column.key][number]) for column in kept}
        chosen = {head: shown.pop(head) for head in axes}
        of_row = "" if table["baseline"][number] else sizes
        rows.append({**chosen, "layers × width": of_row, **shown})
    notes = []
    if tied := run.report.tied_cells()[1:]:
        others = counted(len(tied), "other cell")
        notes.append(f"{others} cannot be distinguished from the best cell.")
    if len(cells) > BEST:
        notes.append(f"{counted(len(cells) - BEST, 'more cell')} on its page.")
    return "\n\n".join(filter(None, [grid(rows), " ".join(notes)]))


def _sizes(record: Record) -> str:
    """Of the run's models: ``1 × 128``."""
    sizes = record.config["sizes"]
    return f"{sizes['layers']} × {sizes['dim']}"
