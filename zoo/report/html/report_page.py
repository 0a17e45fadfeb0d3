"""``report.html``: everything that is known of a run, on one page that needs nothing else."""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from zoo.errors import counted, listed
from zoo.report.comparable import differing_settings
from zoo.report.html.page_data import (
    details_of,
    environment_of,
    heads_of,
    incomplete_of,
    lines_of,
    tints_of,
)
from zoo.report.plots.plot import DARK, HUES, INK, MUTED, PAPER, RULE, SMALL, WIDTH, Plot
from zoo.report.profile import Profile
from zoo.report.profile_text import effects_table, profile_answer, profile_notes, scores_table
from zoo.report.run_report import MOST_DRAWN, RunReport
from zoo.report.tables.notes import made_on
from zoo.report.tables.table import group_table
from zoo.report.tables.text import plain

NAMED = 3  # choices of an axis, or rows, in a title
LEAST = 11  # pixels: of text in plots
POINTS = 72  # per inch


def report_page(run: RunReport, plots: Sequence[Plot], name: str = "") -> str:
    """The page as text; the same run gives the same text.

    name: of the run, for the title; by default what was compared.
    """
    # Strings are text and escaped; Markup is trusted.
    return (
        page_environment()
        .get_template("report.html")
        .render(
            title=name or _title(run),
            run=run,
            about=run_text(run),
            heads=heads_of(run),
            lines=lines_of(run),
            most=MOST_DRAWN,
            left_out=lambda of: f"{len(of) - MOST_DRAWN:,} more: see table.csv.",
            tints=tints_of(run),
            groups=group_table(run),
            differing=differing_settings(run.records),
            plots=[(plot, inline_svg(plot.svg)) for plot in plots],
            details=details_of(run),
            incomplete=incomplete_of(run),
            environment=environment_of(run),
            zoo=next((r.environment["zoo"] for r in run.records if "zoo" in r.environment), ""),
        )
    )


def profile_page(profile: Profile, plots: Sequence[Plot], name: str = "") -> str:
    """The page of a run on several data sets: the profile, and links to each report."""
    return (
        page_environment()
        .get_template("profile.html")
        .render(
            title=name or _on(profile.names.values(), counted(len(profile.data_sets), "data set")),
            answer=profile_answer(profile),
            scores=scores_table(profile),
            effects=effects_table(profile),
            notes=profile_notes(profile),
            plots=[(plot, inline_svg(plot.svg)) for plot in plots],
            data_sets=profile.data_sets,
        )
    )


@functools.cache
def page_environment(package: str = "") -> Environment:
    """The templates, with what all pages share; package: one that has templates of its own."""
    packages = filter(None, [package, "zoo.report.html"])
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: plain(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        keep_trailing_newline=True,
    )
    colours = {"ink": INK, "muted": MUTED, "rule": RULE, "paper": PAPER}
    colours |= {f"hue-{number}": hue for number, hue in enumerate(HUES)}
    made.globals["colours"] = {name: (hue, DARK[hue]) for name, hue in colours.items()}
    made.globals["zoo"] = ""
    # The policy of a page allows the script that is meant, and no other.
    made.filters["sha256"] = lambda text: b64encode(sha256(text.encode()).digest()).decode()
    # Names of parts and data sets may be divided before a bracket and after a sign.
    made.filters["breakable"] = lambda text: Markup(
        re.sub(r"(?=[(\[])|(?<=[,+/_=])", Markup("<wbr>"), str(escape(plain(text))))
    )
    return made


def inline_svg(svg: str) -> Markup:
    """A plot's SVG for a page: as wide as possible, with text of 11 pixels or more."""
    root = ElementTree.fromstring(svg)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    width = float(root.attrib["viewBox"].split()[2])
    if width > POINTS * WIDTH:  # too wide for a phone: it scrolls there
        root.set("style", f"min-width: {width * LEAST / SMALL:.0f}px")
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # made by us, with escaped text


def _title(run: RunReport) -> str:
    """What was compared: ``fused and naive × rope and sin on bbc-news``."""
    name = run.typical.config["data"]["name"]
    axes = " × ".join(listed(choices, NAMED) for choices in run.axes.values())
    return f"{axes} on {name}" if axes else _on(run.short_names(run.rows), name)


def _on(rows: Iterable[str], data: str) -> str:
    """``fused, naive, linear and 2 more on 5 data sets``."""
    return f"{listed(rows, NAMED)} on {data}"


def run_text(run: RunReport) -> str:
    """Cells and days, data, model and machine, in a few sentences."""
    baselines = sum(bool(row.baseline) for row in run.rows)
    what = counted(len(run.rows) - baselines, "cell")
    what += f" and {counted(baselines, 'baseline')}" if baselines else ""
    days = sorted({record.started[:10] for record in run.records if record.started})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"{what}{when}. {made_on(run.typical, run.metric)}"
