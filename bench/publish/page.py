"""The page of one published run, as Markdown, from its records and its suite's ``[published]``."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench.publish.classes import class_report
from bench.publish.published_figures import Figure, PublishedDifference, make_figures
from bench.publish.published_figures import published_differences as differences_of
from bench.publish.suite_page import Published
from zoo.registry import AXES
from zoo.report.stats.intervals import Interval
from zoo.report.tables.layout import as_text, counted
from zoo.report.tables.markdown import bullets, code, escaped, grid, line, link
from zoo.report.tables.rows import Row, make_rows
from zoo.report.tables.table import caption, find_reference
from zoo.report.write import PLOTS
from zoo.sweep.records import Record
from zoo.tasks.score import Score

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Run:
    """One published run. place: its directory under the published one, with slashes.

    directory: where its page is written. home: where it is published, which links start from.
    suite: its suite's file, None where none names it. table: as ``write_report`` made it.
    """

    place: str
    directory: Path
    home: Path
    records: Sequence[Record]
    table: pd.DataFrame
    suite: Path | None = None
    published: Published | None = None

    @property
    def title(self) -> str:
        """What its suite calls it, else its place."""
        return self.published.title if self.published else self.place

    def rows(self) -> list[Row]:
        """In the order in which they first appear."""
        return make_rows(self.records)


def page(run: Run) -> str:
    """The whole page."""
    rows = run.rows()
    parts = [f"# {line(run.title)}", _about(run), _files(run)]
    parts += ["## What came out", as_text(run.table, "github")]
    parts += [bullets([line(note) for note in caption(run.records, run.table).splitlines()])]
    if run.published and run.published.beside:
        parts += _beside(rows, run.published)
    parts += _bought(rows, run)
    parts += _plots(run.directory)
    parts += _classes(rows, run)
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(run: Run) -> str:
    published = run.published
    return (
        "\n\n".join(escaped(t.strip()) for t in (published.text, published.data) if t)
        if published
        else ""
    )


def _files(run: Run) -> str:
    """Links to everything the page stands on."""
    lines = []
    if run.suite is not None:
        path = Path(os.path.relpath(run.suite, run.home)).as_posix()
        shown = Path(os.path.relpath(run.suite, run.home.parents[len(Path(run.place).parts)]))
        lines.append(f"Suite: [{shown.as_posix()}]({path}); its header has the command.")
    there = [
        name
        for name in ("report.html", "table.csv", "table.tex")
        if (run.directory / name).exists()
    ]
    lines.append(f"Files: {', '.join(link(n, n) for n in [*there, 'records.jsonl'])}. ")
    lines[-1] += "Every record holds the command that repeats it."
    return bullets(lines)


def _beside(rows: Sequence[Row], published: Published) -> list[str]:
    """The table of figures, how they were made, and which differences are real."""
    figures = make_figures(rows, published.beside)
    score = figures[0].row.score
    parts = ["## Beside the published figures", _figures(figures, score)]
    notes = [line(note) for note in published.notes]
    if any(f.published.seconds for f in figures):
        notes.append(
            "Seconds of training were published for another machine: only their ratios, to the "
            "first row, can be held together. Ours are means over seeds, each on one machine "
            "beside whatever else ran there; speeds proper are those of the probes."
        )
    parts.append(bullets(notes))
    if found := differences_of(figures):
        parts += ["### Which of the published differences are real", _told(found, score)]
        parts.append(_differences(found, score))
    return parts


def _figures(figures: Sequence[Figure], score: Score) -> str:
    first = figures[0]
    rows = []
    for one in figures:
        rows.append(
            {
                "published as": line(one.published.name),
                "here": code("+".join(one.published.cell.values())),
                "published": _value(one.published.value, score),
                "ours": _interval(one.ours, score.form),
                "published s": _value(one.published.seconds, "{:,.0f}"),
                "× published": _times(one.published.seconds, first.published.seconds),
                "our s": _interval(one.seconds, "{:,.1f}"),
                "× ours": _times(
                    one.seconds.mean if one.seconds else None,
                    first.seconds.mean if first.seconds else None,
                ),
                "source": line(one.published.source),
            }
        )
    return grid(rows)


def _told(found: Sequence[PublishedDifference], score: Score) -> str:
    """The sentence that a reader takes away."""
    seeds = min((d.here.seeds for d in found if d.here), default=0)
    by = {v: [d for d in found if d.verdict == v] for v in ("real", "reversed", "tie", "")}
    said = [f"Of {len(found)} published differences, {len(by['real'])} hold over {seeds} seeds"]
    if by["real"]:
        said[-1] += f": {'; '.join(_pair(d, score) for d in by['real'])}"
    if by["reversed"]:
        told = "; ".join(_pair(d, score) for d in by["reversed"])
        said.append(f"{len(by['reversed'])} are real the other way round: {told}")
    if by["tie"]:
        told = "; ".join(_names(d) for d in by["tie"])
        said.append(f"{len(by['tie'])} cannot be told from chance: {told}")
    if by[""]:
        said.append(f"Of {len(by[''])} nobody can say: too few seeds")
    return ". ".join(said) + "."


def _differences(found: Sequence[PublishedDifference], score: Score) -> str:
    words = {"real": "real", "tie": "tie", "reversed": "real, reversed", "": "unknown"}
    table = grid(
        [
            {
                "difference": _names(d),
                "published": score.told(d.there),
                "ours": score.told(d.here.mean, d.here.half) if d.here else "",
                "p": f"{d.here.adjusted:.3f}" if d.here and d.here.adjusted is not None else "",
                "verdict": words[d.verdict],
            }
            for d in found
        ]
    )
    return (
        f"{table}\n\n"
        "- Ours: mean over seeds, paired, with its 95% t-interval; p: the larger of a paired "
        "t-test's over seeds and McNemar's over documents, after Holm's correction for these "
        f"{len(found)}."
    )


def _names(one: PublishedDifference) -> str:
    return " against ".join(
        code("+".join(f.published.cell.values())) for f in (one.first, one.second)
    )


def _pair(one: PublishedDifference, score: Score) -> str:
    assert one.here is not None
    return f"{_names(one)} ({score.told(one.here.mean, one.here.half)})"


def _bought(rows: Sequence[Row], run: Run) -> list[str]:
    """A line for each component's effect, where the records are enough for any."""
    from zoo.report.stats.one_factor import effects_anyhow
    from zoo.report.tables.sentences import sentence

    reference = str(run.table["reference"].iloc[0]) if "reference" in run.table else ""
    found = effects_anyhow(rows, reference or find_reference(rows))
    if found is None:
        return []
    lines = bullets([sentence(effect) for effect in found.effects])
    return ["## What each choice bought", f"{line(found.about)}\n\n{lines}"]


def _plots(directory: Path) -> list[str]:
    """The plots that there are, each with its title and how to read it."""
    from zoo.report.plots.draw_all import NAMES

    files = [directory / PLOTS / f"{name}.svg" for name in NAMES]
    shown = []
    for file in [file for file in files if file.exists()]:
        root = ElementTree.parse(file).getroot()
        title, about = (line(root.findtext(f"{SVG}{tag}", "")) for tag in ("title", "desc"))
        shown.append(f"### {title}\n\n![{title}]({PLOTS}/{file.name})\n\n{about}")
    return ["## Plots", *shown] if shown else []


def _classes(rows: Sequence[Row], run: Run) -> list[str]:
    """Precision, recall, F1 and support of the best cell; F1 of every row."""
    ordered = _in_order(rows, run.table)
    reports = [(row, report) for row in ordered if (report := class_report(row))]
    if not reports:
        return []
    best, report = next(((r, c) for r, c in reports if not r.baseline), reports[0])
    whole = grid(
        [
            {
                "class": line(one.label),
                "precision": _interval(one.precision, "{:.3f}"),
                "recall": _interval(one.recall, "{:.3f}"),
                "F1": _interval(one.f1, "{:.3f}"),
                "support": f"{one.support:g}",
            }
            for one in report
        ]
    )
    every = grid(
        [
            {"row": code(_short(row, rows))}
            | {line(one.label): _interval(one.f1, "{:.3f}") for one in found}
            for row, found in reports
        ]
    )
    seeds = len(best.trials)
    return [
        "## By class",
        f"{code(_short(best, rows))}, mean over {counted(seeds, 'seed')} with its 95% t-interval; "
        "support: documents of the class that each seed scores.",
        whole,
        "F1 of every row:",
        every,
    ]


def _in_order(rows: Sequence[Row], table: pd.DataFrame) -> list[Row]:
    """In the table's order: best first."""
    named = {row.name: row for row in rows}
    columns = table[["baseline", *AXES]].itertuples(index=False)
    return [named[baseline or "+".join(cell)] for baseline, *cell in columns]


def _short(row: Row, rows: Sequence[Row]) -> str:
    """A row by what tells it from the others."""
    cells = [r.cell for r in rows if not r.baseline]
    axes = [axis for axis in row.cell if len({cell[axis] for cell in cells}) > 1]
    return row.baseline or "+".join(row.cell[axis] for axis in axes or row.cell)


def _interval(value: Interval | None, form: str) -> str:
    if value is None:
        return ""
    said = form.format(value.mean)
    return said if value.half is None else f"{said} ± {form.format(value.half)}"


def _value(value: float | None, form: str | Score) -> str:
    if value is None:
        return ""
    return (form if isinstance(form, str) else form.form).format(value)


def _times(value: float | None, first: float | None) -> str:
    return f"{value / first:.2f}" if value and first else ""
