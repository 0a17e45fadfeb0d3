"""``report.html``: everything that is known of a run, on one page."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from datetime import date

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.report.html.page_data import details_of, environments_of, heads_of, incomplete_of, lines_of
from zoo.report.plots.plot import HUES, INK, MUTED, PAPER, RULE, Plot
from zoo.report.run_report import RunReport
from zoo.report.tables.group_table import group_table
from zoo.report.tables.notes import held_out, machine_summary
from zoo.report.tables.same_settings import differing_settings
from zoo.report.tables.text import counted, from_to, plain


def report_page(run: RunReport, plots: Sequence[Plot]) -> str:
    """The page as text; the same run gives the same text."""
    data = run.typical.config["data"]
    measured = any(row.cost_record for row in run.rows)
    # Strings are text and escaped; Markup is trusted.
    return (
        page_environment()
        .get_template("report.html")
        .render(
            title=f"{data['name']}: {run.metric.label}{', speed and memory' if measured else ''}",
            run=run_sentence(run),
            outcome=" ".join(run.answer),
            heads=heads_of(run),
            lines=lines_of(run),
            axes=run.axes,
            notes=run.notes,
            groups=group_table(run),
            differing=differing_settings(run.records),
            plots=[(plot, inline_svg(plot.svg)) for plot in plots],
            details=details_of(run),
            incomplete=incomplete_of(run),
            environments=environments_of(run),
            zoo=next((r.environment["zoo"] for r in run.records if "zoo" in r.environment), ""),
        )
    )


_VARIABLES = {INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper"} | {
    hue: f"--hue-{number}" for number, hue in enumerate(HUES)
}


@functools.cache
def page_environment() -> Environment:
    """The templates, with what all pages share."""
    made = Environment(
        loader=PackageLoader("zoo.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: plain(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        keep_trailing_newline=True,
    )
    made.globals["hues"] = list(enumerate(HUES))
    return made


def inline_svg(svg: str) -> Markup:
    """A plot's SVG for a page: as wide as possible, in colours that follow dark mode."""
    root = ElementTree.fromstring(svg)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    for element in root.iter():
        style = element.get("style", "")
        for colour, variable in _VARIABLES.items():
            style = style.replace(f": {colour}", f": var({variable})")
        if style:
            element.set("style", style)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # made by us, with escaped text


def run_sentence(run: RunReport) -> str:
    """Cells, data, training and machine in one sentence."""
    config = run.typical.config
    data, training = config["data"], config.get("training", {})
    cells = sum(not row.baseline for row in run.rows)
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in run.axes.items())
    what = f"{counted(cells, 'cell')}{f' (of {shape})' if shape else ''}"
    if baselines := len(run.rows) - cells:
        what += f" and {counted(baselines, 'baseline')}"
    about = str(data.get("summary", "")).rstrip(".")
    if not about and "train" in data and "test" in data:
        about = f"{data['train']:,} training and {data['test']:,} test {run.metric.scored}"
    parts = [f"{what} on {data['name']}{f' ({about})' if about else ''}"]
    if seeds := sorted({len(row.trained) for row in run.rows if row.trained}):
        number = from_to(seeds[0], seeds[-1])
        epochs = counted(training["epochs"], "epoch") if training.get("epochs") else ""
        plural = "" if number == "1" else "s"
        parts.append(f"trained with {number} seed{plural} each{f' for {epochs}' if epochs else ''}")
    if held := held_out(run.typical, run.metric):
        parts.append(held.removeprefix("; "))
    if measured := [record for record in run.records if record.kind == "cost"]:
        parts.append(f"speed and memory measured on {machine_summary(measured[-1].environment)}")
    days = sorted({record.started[:10] for record in run.records if record.started})
    when = f"; {' to '.join(dict.fromkeys(map(_day, (days[0], days[-1]))))}" if days else ""
    return f"{', '.join(parts)}{when}."


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"  # strftime would follow the locale


_MONTHS = (
    "January February March April May June July August September October November December"
).split()
