"""``report.html``: everything that is known of a run, on one page that needs nothing else."""

from __future__ import annotations

import functools
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.errors import counted, listed
from zoo.report.html.page_data import lines_of
from zoo.report.plots.plot import HUES, INK, MUTED, PAPER, RULE, Plot
from zoo.report.profile import Profile
from zoo.report.profile_text import effects_table, profile_answer, profile_notes, scores_table
from zoo.report.rows import environment_of
from zoo.report.run_report import RunReport
from zoo.report.tables.notes import made_on
from zoo.report.tables.text import plain

NAMED = 3  # choices of an axis, or rows, in a title


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
            lines=lines_of(run),
            plots=[(plot, Markup(plot.svg)) for plot in plots],
            environment=environment_of(run.records),
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
            plots=[(plot, Markup(plot.svg)) for plot in plots],
            data_sets=profile.data_sets,
        )
    )


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
    made.globals["colours"] = {"ink": INK, "muted": MUTED, "rule": RULE, "paper": PAPER} | {
        f"hue-{number}": hue for number, hue in enumerate(HUES)
    }
    made.globals["zoo"] = ""
    # The policy of a page allows the script that is meant, and no other.
    made.filters["sha256"] = lambda text: b64encode(sha256(text.encode()).digest()).decode()
    return made


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
