"""``report.html``: everything that is known of a run, on one page."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.html.details import details_of, environments_of, failures_of
from zoo.report.html.page_table import heads_of, lines_of
from zoo.report.html.render import inline_svg, render
from zoo.report.html.run_summary import outcome_sentence, run_sentence
from zoo.report.plots.plot import Plot
from zoo.report.run_report import RunReport
from zoo.report.tables.same_settings import differing_settings


def report_page(run: RunReport, plots: Sequence[Plot]) -> str:
    """The page as text; the same run gives the same text."""
    data = run.records[-1].config["data"]
    measured = any(row.cost_record for row in run.rows)
    return render(
        "report.html",
        title=f"{data['name']}: {run.metric.label}{', speed and memory' if measured else ''}",
        run=run_sentence(run),
        outcome=outcome_sentence(run),
        heads=heads_of(run),
        lines=lines_of(run),
        axes=run.axes,
        notes=run.notes,
        differing=differing_settings(run.records),
        plots=[(plot, inline_svg(plot.svg)) for plot in plots],
        details=details_of(run),
        failures=failures_of(run),
        environments=environments_of(run),
        zoo=next((r.environment["zoo"] for r in run.records if "zoo" in r.environment), ""),
    )
