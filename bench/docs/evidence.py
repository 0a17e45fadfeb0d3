"""What the published records hold about a component: its profile over tasks, and its cost."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bench.docs.place import RESULTS, ROOT
from bench.publish.__main__ import published_pages
from bench.publish.markdown import grid, link
from zoo.registry import AXES, Component
from zoo.report.profile import DataSet, Profile, read_profile
from zoo.report.profile_text import (
    TIED_EFFECTS,
    as_text,
    cell_text,
    effects_table,
    mark_notes,
)
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.text import bullets, code, line
from zoo.sweep.complete import read_run
from zoo.sweep.records import FILE

# Of a run's table, by its headings.
COSTS = ("train tok/s", "× train", "infer tok/s", "× infer", "latency ms", "memory MiB", "params")


@dataclass(frozen=True)
class Run:
    """A published directory. place: under results/. report: of one data set; profile: of several.

    One of the two is None.
    """

    place: str
    title: str
    report: RunReport | None = None
    profile: Profile | None = None

    @property
    def page(self) -> str:
        """Its page, as a path under results/."""
        return f"{self.place}/README.md"


@functools.cache
def published_runs() -> list[Run]:
    """Every published run that a suite describes, those on several data sets first."""
    runs = []
    for place, (_, published) in published_pages(ROOT / "bench" / "suites").items():
        directory = RESULTS / place
        if (directory / FILE).exists():
            wanted = (published.reference, published.metric)
            runs.append(Run(place, published.title, report=RunReport(read_run(directory), *wanted)))
        elif profile := read_profile(directory):
            runs.append(Run(place, published.title, profile=profile))
    return sorted(runs, key=lambda run: run.profile is None)


def has(row: Row, component: Component) -> bool:
    """Whether the component is in the row, alone or in a pattern."""
    if bool(row.baseline) != (component.kind == "baseline"):
        return False
    text = row.baseline or row.cell.get(component.kind, "")
    return bool(re.search(rf"(?:^|[/(:]){re.escape(component.name)}(?=$|[/(),])", text))


def of_one_change(rows: Sequence[Row], reference: str, component: Component) -> list[Row]:
    """The rows with the component whose other choices are the reference's, and the reference."""
    base = next((row for row in rows if row.name == reference), None)
    others = [axis for axis in AXES if axis != component.kind]
    found = [
        row
        for row in rows
        if has(row, component)
        and (row.baseline or base is None or all(row.cell[a] == base.cell[a] for a in others))
    ]
    return [base, *(row for row in found if row is not base)] if found and base else found


def profile_section(component: Component, up: str) -> str:
    """Its scores on the published tasks, and what exchanging it changed; empty without any.

    up: the path from the component's page to the site's root.
    """
    parts = []
    for run in published_runs():
        if run.profile is None:
            continue
        if component.kind == "data":
            parts += _of_data(run, run.profile, component, up)
        else:
            parts += _of_part(run, run.profile, component, up)
    return "\n\n".join(parts)


def _of_data(run: Run, profile: Profile, component: Component, up: str) -> list[str]:
    parts = []
    for data in profile.data_sets:
        if data.name.partition("(")[0] == component.name:
            rows = [
                {"row": code(short), data.metric.label: line(cell_text(data.scores[name], data))}
                for name, short in profile.names.items()
                if name in data.scores
            ]
            page = f"{up}results/{run.place}/{data.directory}/README.md"
            parts += [f"**{link(line(data.name), page)}**, {_chance(data)}", grid(rows)]
            parts.append(bullets([line(note) for note in mark_notes(profile)]))
    return parts


def _chance(data: DataSet) -> str:
    if data.run.chance is None:
        return "best row first:"
    return f"chance is {data.metric.format(data.run.chance)}; best row first:"


def _of_part(run: Run, profile: Profile, component: Component, up: str) -> list[str]:
    chosen: dict[str, None] = {}
    for data in profile.data_sets:
        rows = of_one_change(data.run.rows, data.run.reference, component)
        chosen |= {row.name: None for row in rows}
    if not chosen:
        return []
    scores = [
        {"task": line(data.name)}
        | {
            code(profile.names[name]): line(cell_text(data.scores.get(name), data))
            for name in chosen
        }
        for data in profile.data_sets
    ]
    title = link(line(run.title), f"{up}results/{run.page}")
    if component.kind == "baseline":
        parts = [f"{title}:", grid(scores)]
    else:
        kind = code(component.kind)
        about = f"{title}: the reference, and the rows that differ from it in {kind} alone."
        parts = [about, grid(scores)]
    heads, lines = effects_table(profile)
    effects = [
        cells
        for (axis, *names), cells in zip(profile.effects, lines, strict=True)
        if axis == component.kind
        and any(re.fullmatch(rf"{re.escape(component.name)}(\(.*\))?", name) for name in names)
    ]
    if effects:
        turned = [list(cells) for cells in zip(heads, *effects, strict=True)]
        parts.append(as_text((["task", *turned[0][1:]], turned[1:]), "github"))
    notes = [*mark_notes(profile), *([f"Effects in points; {TIED_EFFECTS}."] if effects else [])]
    return [*parts, bullets([line(note) for note in notes])]


def cost_section(component: Component, up: str) -> str:
    """Its score, speed and memory in the published runs on one data set; empty without any."""
    parts = []
    for run in published_runs():
        report = run.report
        if report is None:
            continue
        rows = []
        for row in of_one_change(report.rows, report.reference, component):
            shown = report.table.shown.iloc[report.position[row.name]]
            label = report.metric.label
            values = {head: line(shown[head]) for head in (label, *COSTS) if head in shown}
            rows.append({"row": code(report.short_name(row))} | values)
        if rows:
            parts += [link(line(run.title), f"{up}results/{run.page}") + ":", grid(rows)]
    return "\n\n".join(parts)
