"""``report.html``: everything that is known of a run, on one page that needs no network."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from zoo.errors import counted, listed
from zoo.report.plots.plot import Plot
from zoo.report.profile import Profile
from zoo.report.rows import ReportRow, environment_of
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import sentence
from zoo.report.tables.notes import made_on
from zoo.report.tables.text import plain

NAMED = 3  # choices of an axis, or rows, in a title


def report_page(report: RunReport | Profile, plots: Sequence[Plot], name: str = "") -> str:
    """The page as text; the same records give the same text.

    name: of the run, for the title; by default what was compared. Of a run on several data sets:
    the profile, and links to each report.
    """
    svgs = [Markup(plot.svg) for plot in plots]  # Markup is trusted, strings are escaped
    shared = {"report": report, "plots": list(zip(plots, svgs, strict=True))}
    if isinstance(report, Profile):
        data = counted(len(report.data_sets), "data set")
        title = name or f"{listed(report.names.values(), NAMED)} on {data}"
        return _template("profile.html").render(title=title, **shared)
    best = next(iter(report.verdicts.tied()), "")
    return _template("report.html").render(
        title=name or _title(report),
        about=run_text(report),
        effects=[sentence(effect) for effect in report.effects.main] if report.effects else [],
        tints=[report.verdicts.verdict(row.name, best) for row in report.rows],
        commands=[(report.short_name(row, 120), row_command(row)) for row in report.rows],
        environment=environment_of(report.records),
        **shared,
    )


@functools.cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("zoo.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: plain(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _title(run: RunReport) -> str:
    """What was compared: ``fused and naive × rope and sin on bbc-news``."""
    axes = " × ".join(listed(choices, NAMED) for choices in run.axes.values())
    rows = axes or listed(map(run.short_name, run.rows), NAMED)
    return f"{rows} on {run.typical.config['data']['name']}"


def run_text(run: RunReport) -> str:
    """Cells and days, data, model and machine, in a few sentences."""
    baselines = sum(bool(row.baseline) for row in run.rows)
    what = counted(len(run.rows) - baselines, "cell")
    what += f" and {counted(baselines, 'baseline')}" if baselines else ""
    days = sorted({record.started[:10] for record in run.records if record.started})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"{what}{when}. {made_on(run.typical, run.metric)}"


def row_command(row: ReportRow) -> str:
    """The command that repeats the training of all of a row's seeds; "" if no record has one."""
    records = [*row.trained.values(), *row.failed, *row.cost_records]
    command = next((record.command for record in records if record.command), "")
    seeds = " ".join(f"--seed {seed}" for seed in sorted(row.trained))
    return re.sub(r"--seed \d+", seeds, command, count=1) if seeds else command
