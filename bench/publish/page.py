"""The pages of published runs and their overview, as Markdown, from records and suites."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.commit import commit_sentence, written
from bench.publish.markdown import code, link
from bench.publish.published import Published
from zoo.report.page import run_text
from zoo.report.profile import Profile
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import sentence
from zoo.report.tables.text import bullets, escaped, line
from zoo.report.write import NAMES, PLOTS
from zoo.sweep.keys import stale_rows
from zoo.sweep.records import Record

PAGE = "README.md"
CURRENT, NOT_CURRENT = "Current:", "Not current:"  # how a line on this begins
SVG = "{http://www.w3.org/2000/svg}"
# What readers open, where it was written.
FILES = (
    *("report.html", "table.md", "table.csv", "table.tex", "profile.csv"),
    *("records.jsonl", "records.jsonl.xz"),
)
ABOUT = """\
## All results

Everything here is made by `make results` from the records in each directory; nothing is written by
hand, and a test makes it again and compares every byte. ± is the 95% interval of the mean over
seeds. How often verdicts are wrong, and what they find, is [simulated](simulations/README.md)."""
NO_GPU = "On a GPU: not yet measured."


@dataclass(frozen=True)
class Run:
    """One published run, on one data set or on several.

    place: its directory under the published one, with slashes. home: that directory, which links
    are relative to. directory: where its page is written. suite: its suite's file, None where none
    names it.
    """

    place: str
    home: Path
    directory: Path
    report: RunReport | Profile
    title: str
    suite: Path | None = None
    published: Published | None = None


def page(run: Run) -> str:
    """The whole page; the run's report must have been written."""
    report, published = run.report, run.published
    used = [record for each in _reports(run) for row in each.recorded_rows for record in row.used]
    plots, notes = _plots(run.directory), [*report.notes, *(published.notes if published else ())]
    texts = (published.text, published.data) if published else ()
    parts = [f"# {line(run.title)}", *(escaped(text.strip()) for text in texts), _files(run)]
    if isinstance(report, Profile):
        links = [link(line(data.name), f"{data.directory}/{PAGE}") for data in report.data_sets]
        names, table, after = {}, report.text("github"), ["## Data sets", bullets(links)]
        parts += plots
    else:
        names = {row.name: code(report.short_name(row)) for row in report.rows}
        table, after = report.table.text("github"), ["## Plots", *plots] if plots else []
        parts += _effects(report)
    answer = line(" ".join(report.answer))
    parts += ["## Results", table, currency(used, names), answer]
    parts += [bullets([line(note) for note in notes]), *after]
    parts.append(commit_sentence(written(record.environment.get("git") or {}) for record in used))
    return "\n\n".join(part for part in parts if part) + "\n"


def overview(runs: Sequence[Run], others: Sequence[str], questions: Sequence[str]) -> str:
    """``results/README.md``: every published run, with what it answers.

    A run on several data sets is shown as one. others: further parts, after the runs. questions:
    the part that stands first.
    """
    inner = tuple(f"{run.place}/" for run in runs if isinstance(run.report, Profile))
    parts = ["# Published results", *questions, ABOUT]
    records = (record for run in runs for report in _reports(run) for record in report.records)
    if not any(record.environment.get("device") == "cuda" for record in records):
        parts.append(NO_GPU)
    for run in runs:
        report, answer = run.report, line(" ".join(run.report.answer))
        if isinstance(report, Profile):
            shown = [report.text("github"), answer, bullets(report.notes)]
        else:
            shown = [answer, line(run_text(report))] if not run.place.startswith(inner) else []
        if shown:
            title = link(line(run.title), f"{run.place}/{PAGE}")
            parts += [f"### {title}", *shown]
    return "\n\n".join(filter(None, [*parts, *others])) + "\n"


def currency(records: Sequence[Record], names: Mapping[str, str]) -> str:
    """One line: that the numbers are current, or the rows whose code has changed since.

    It is of the code that publishes: see ``zoo stale``. names: of rows on the page.
    """
    stale = dict.fromkeys(row for row, _ in stale_rows(records))
    if not stale:
        return f"{CURRENT} no code that these numbers depend on has changed since."
    rows = "all rows" if stale.keys() == {record.name for record in records} else ""
    rows = rows or ", ".join(names.get(row) or code(row) for row in stale)
    return f"{NOT_CURRENT} code has changed since ({rows}); `zoo stale` says what."


def _reports(run: Run) -> list[RunReport]:
    if isinstance(run.report, Profile):
        return [data.run for data in run.report.data_sets]
    return [run.report]


def _effects(report: RunReport) -> list[str]:
    """First on the page: averages over many cells tell more than single rows."""
    if not report.effects:
        return []
    effects = bullets([sentence(effect, code) for effect in report.effects.main])
    return ["## Effect of each choice", line(report.effects.about), effects]


def _files(run: Run) -> str:
    there = [
        name for name in FILES if (run.directory / name).exists() or (run.home / name).exists()
    ]
    lines = [f"Files: {', '.join(link(name, name) for name in there)}."]
    if run.suite is not None:
        path = Path(os.path.relpath(run.suite, run.home)).as_posix()
        lines.append(f"Suite: {link(run.suite.name, path)}; its header has the command.")
    return bullets(lines)


def _plots(directory: Path) -> list[str]:
    """The plots that were written, each with its title and how to read it."""
    files = [directory / PLOTS / f"{name}.svg" for name in (*NAMES, "profile")]
    shown = []
    for file in (file for file in files if file.exists()):
        root = ElementTree.parse(file).getroot()
        title, about = (line(root.findtext(f"{SVG}{tag}", "")) for tag in ("title", "desc"))
        shown.append(f"### {title}\n\n![{title}]({PLOTS}/{file.name})\n\n{about}")
    return shown
