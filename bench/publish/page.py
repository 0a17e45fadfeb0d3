"""The page of one published run, as Markdown, from its records and its suite's ``[published]``."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.commit import commit_sentence, written
from bench.publish.markdown import grid, link
from bench.publish.published import Figure, Published, PublishedDifference, published_differences
from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.rows import Row, class_scores
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import Interval
from zoo.report.stats.scores import Scores, row_intervals
from zoo.report.tables.effects_text import sentence
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
    parts += [*_classes(report), _commit(used)]
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
        parts += ["### Which of the published differences are real", _summary(found)]
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


def _summary(found: Sequence[PublishedDifference]) -> str:
    seeds = min((d.ours.seeds for d in found if d.ours), default=0)
    by = {v: [d for d in found if d.verdict == v] for v in ("real", "reversed", "tie", "")}
    listed = {v: "; ".join(f"{d.names} ({d.ours_text})" for d in of) for v, of in by.items()}
    real = f"{len(by['real'])} hold over {seeds} seeds"
    sentences = [f"Of {len(found)} published differences, {real}"]
    if by["real"]:
        sentences[-1] += f": {listed['real']}"
    if by["reversed"]:
        count = len(by["reversed"])
        sentences.append(f"{count} are real in the other direction: {listed['reversed']}")
    if by["tie"]:
        ties = "; ".join(d.names for d in by["tie"])
        sentences.append(f"{len(by['tie'])} cannot be distinguished from chance: {ties}")
    if by[""]:
        sentences.append(f"{len(by[''])} are unknown: too few seeds")
    return ". ".join(sentences) + "."


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


def _classes(report: RunReport) -> list[str]:
    """Precision, recall, F1 and support of the best cell; F1 of every row."""
    found = {row.name: c for row in report.rows if (c := row.confusions) is not None}
    rows = [row for row in report.rows if row.name in found]
    if not rows:
        return []
    best = next((row for row in rows if not row.baseline), rows[0])
    labels = best.labels or [str(number) for number in range(found[best.name].shape[1])]
    support = found[best.name].sum(axis=2).mean(axis=0)
    # (seeds, classes, 3) of each row
    scores = {name: class_scores(confusions) for name, confusions in found.items()}
    shares = _share_intervals(rows, scores, support)

    def cell(name: str, label: int, kind: int) -> str:
        return _shown(shares[name, label, kind], 3)

    kinds = ("precision", "recall", "F1")
    return [
        "## By class",
        f"{code(report.short_name(best))}, mean over {counted(len(best.trained), 'seed')} with its "
        f"95% interval; support: {report.metric.scored} of the class that are scored.",
        grid(
            [
                {"class": line(label)}
                | {kind: cell(best.name, i, k) for k, kind in enumerate(kinds)}
                | {"support": f"{support[i]:g}"}
                for i, label in enumerate(labels)
            ]
        ),
        "F1 of every row:",
        grid(
            [
                {"row": code(report.short_name(row))}
                | {line(label): cell(row.name, i, 2) for i, label in enumerate(labels)}
                for row in rows
            ]
        ),
    ]


def _share_intervals(
    rows: Sequence[Row], scores: dict[str, NDArray[np.float64]], support: NDArray[np.float64]
) -> dict[tuple[str, int, int], Interval | None]:
    """By row, class and kind of score: the mean over seeds, as the table has it of accuracy."""
    found = {}
    unlisted = np.empty((0, 0, 0), dtype=bool), np.empty((0, 0), dtype=bool)
    seeds = max(len(of_row) for of_row in scores.values())
    fixed = np.array([row.deterministic for row in rows])
    for label, kind in np.ndindex(len(support), 3):
        values = np.full((len(rows), seeds), np.nan)
        for number, row in enumerate(rows):
            values[number, : len(scores[row.name])] = scores[row.name][:, label, kind]
        of_class = Scores(values, fixed, True, 0, int(support[label]), *unlisted)
        for row, interval in zip(rows, row_intervals(of_class), strict=True):
            found[row.name, label, kind] = interval
    return found


def _shown(value: Interval | float | None, digits: int) -> str:
    if value is None:
        return ""
    return value.text(digits) if isinstance(value, Interval) else f"{value:,.{digits}f}"


def _ratio(value: float | None, first: float | None) -> str:
    return f"{value / first:.2f}" if value and first else ""
