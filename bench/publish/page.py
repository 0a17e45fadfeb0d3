"""The page of one published run, as Markdown, from its records and its suite's ``[published]``."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.commit import commit_sentence, written
from bench.publish.markdown import grid, link
from bench.publish.published import Figure, Published, PublishedDifference, published_differences
from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import sentence
from zoo.report.stats.intervals import Interval
from zoo.report.tables.text import bullets, code, escaped, line
from zoo.report.write import NAMES, PLOTS
from zoo.sweep.keys import stale_rows
from zoo.sweep.records import Record

PAGE = "README.md"
CURRENT, NOT_CURRENT = "Current:", "Not current:"  # how a line on this begins
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Run:
    """One published run. place: its directory under the published one, with slashes.

    directory: where its page is written. home: where it is published, which links are relative to.
    suite: its suite's file, None where none names it. figures: those of the suite, with our rows.
    """

    place: str
    directory: Path
    home: Path
    report: RunReport
    suite: Path | None = None
    published: Published | None = None
    figures: Sequence[Figure] = ()

    @property
    def title(self) -> str:
        """The title from its suite, else its place."""
        return self.published.title if self.published else self.place


def page(run: Run) -> str:
    """The whole page; the run's report must have been written."""
    report, published = run.report, run.published
    used = [record for row in report.recorded_rows for record in row.used]
    texts = (published.text, published.data) if published else ()
    parts = [
        f"# {line(run.title)}",
        *(escaped(text.strip()) for text in texts),
        _files(run),
        *_effects(report),
        "## Results",
        report.table.text("github"),
        currency(used, {row.name: code(report.short_name(row)) for row in report.rows}),
        line(" ".join(report.answer)),
        bullets([line(note) for note in report.notes]),
        *_figures(run),
    ]
    if published and published.notes and not run.figures:
        parts += ["## Notes", bullets([line(note) for note in published.notes])]
    parts += _plots(run.directory)
    parts.append(_commit(used))
    return "\n\n".join(part for part in parts if part) + "\n"


def currency(records: Sequence[Record], names: Mapping[str, str]) -> str:
    """One line: that the numbers are current, or which rows are not and what has changed.

    It is of the code that publishes: see ``zoo stale``. names: of rows on the page.
    """
    changed: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row, changes in stale_rows(records):
        name = names.get(row) or code(row)
        if name not in changed[changes]:
            changed[changes].append(name)
    if not changed:
        return f"{CURRENT} no code that these numbers depend on has changed since."
    every = len({record.name for record in records})
    parts = (
        f"{'all rows' if len(rows) == every else ', '.join(rows)} ({line(', '.join(what))})"
        for what, rows in changed.items()
    )
    return f"{NOT_CURRENT} {'; '.join(parts)}."


def _commit(records: Sequence[Record]) -> str:
    return commit_sentence(written(record.environment.get("git") or {}) for record in records)


def _effects(report: RunReport) -> list[str]:
    """First on the page: averages over many cells tell more than single rows."""
    if not (found := report.effects):
        return []
    effects = bullets([sentence(effect, code) for effect in found.main])
    return ["## Effect of each choice", line(found.about), effects]


def _files(run: Run) -> str:
    lines = []
    if run.suite is not None:
        path = Path(os.path.relpath(run.suite, run.home)).as_posix()
        shown = Path(os.path.relpath(run.suite, run.home.parents[len(Path(run.place).parts)]))
        lines.append(f"Suite: [{shown.as_posix()}]({path}); its header has the command.")
    files = [n for n in ("report.html", "table.csv", "table.tex") if (run.directory / n).exists()]
    lines.append(f"Files: {', '.join(link(n, n) for n in [*files, 'records.jsonl'])}. ")
    lines[-1] += "Every record has the command that repeats it."
    return bullets(lines)


def _figures(run: Run) -> list[str]:
    """The table of published figures, how they were made, and which differences are real."""
    if not run.published or not run.figures:
        return []
    figures, metric = run.figures, run.report.metric
    parts = ["## Compared with published figures", _figures_table(figures, metric)]
    notes = [line(note) for note in run.published.notes]
    if any(f.published.seconds for f in figures):
        notes.append(
            "The published seconds of training are from another machine: only ratios to the first "
            "row can be compared. Ours are means over seeds; other work may have run at the same "
            "time, so for speed see the cost measurements above."
        )
    parts.append(bullets(notes))
    if found := published_differences(figures, run.report.verdicts):
        parts.append("### Which of the published differences are real")
        parts.append(_differences_table(found, metric, run.report.verdicts.tests))
    return parts


def _figures_table(figures: Sequence[Figure], metric: MetricDescription) -> str:
    first, digits = figures[0], metric.digits
    ours = [f.seconds.mean if f.seconds else None for f in figures]
    return grid(
        [
            {
                "published as": line(one.published.name),
                "here": code(one.cell),
                "published": _shown(one.published.value, digits),
                "ours": _shown(one.ours, digits),
                "published s": _shown(one.published.seconds, 0),
                "× published": _ratio(one.published.seconds, first.published.seconds),
                "our s": _shown(one.seconds, 1),
                "× ours": _ratio(seconds, ours[0]),
                "source": line(one.published.source),
            }
            for one, seconds in zip(figures, ours, strict=True)
        ]
    )


def _differences_table(
    found: Sequence[PublishedDifference], metric: MetricDescription, tests: int
) -> str:
    words = {"real": "real", "tie": "tie", "reversed": "real, reversed", "": "unknown"}
    table = grid(
        [
            {
                "difference": d.names,
                "published": metric.format_difference(d.published),
                "ours": d.ours_text,
                "p": f"{d.ours.adjusted:.3f}" if d.ours and d.ours.adjusted is not None else "",
                "verdict": words[d.verdict],
            }
            for d in found
        ]
    )
    return (
        f"{table}\n\n"
        "- Ours: mean over seeds, paired, with its 95% interval; p: as in the table of results, "
        f"after Holm's correction for all {counted(tests, 'comparison')} of this page."
    )


def _plots(directory: Path) -> list[str]:
    """The plots that were written, each with its title and how to read it."""
    files = [directory / PLOTS / f"{name}.svg" for name in NAMES]
    shown = []
    for file in [file for file in files if file.exists()]:
        root = ElementTree.parse(file).getroot()
        title, about = (line(root.findtext(f"{SVG}{tag}", "")) for tag in ("title", "desc"))
        shown.append(f"### {title}\n\n![{title}]({PLOTS}/{file.name})\n\n{about}")
    return ["## Plots", *shown] if shown else []


def _shown(value: Interval | float | None, digits: int) -> str:
    if value is None:
        return ""
    return value.text(digits) if isinstance(value, Interval) else f"{value:,.{digits}f}"


def _ratio(value: float | None, first: float | None) -> str:
    return f"{value / first:.2f}" if value and first else ""
