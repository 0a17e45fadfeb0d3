"""``report.html``: everything that is known of a run, on one page."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.html.details import details_of, environments_of, failures_of, labels_of
from zoo.report.html.render import inline_svg, render
from zoo.report.html.run_summary import outcome_sentence, run_sentence
from zoo.report.html.table_cells import heads_of, lines_of
from zoo.report.plots.plot import Plot
from zoo.report.tables.report_data import Facts
from zoo.report.tables.settings import differing
from zoo.report.tables.table import caption


def report_page(facts: Facts, plots: Sequence[Plot]) -> str:
    """The page as text; the same facts give the same text."""
    data = facts.records[-1].config["data"]
    details = details_of(facts)
    probed = any(row.probe for row in facts.rows)
    return render(
        "report.html",
        title=f"{data['name']}: {facts.score.label}{', speed and memory' if probed else ''}",
        run=run_sentence(facts),
        outcome=outcome_sentence(facts),
        score=facts.score,
        heads=heads_of(facts),
        lines=lines_of(facts),
        axes=facts.axes,
        notes=caption(facts.records, facts.table).splitlines(),
        differing=differing(facts.records),
        plots=[(plot, inline_svg(plot.svg)) for plot in plots],
        details={"labels": labels_of(facts), "score": facts.score.label, "rows": details},
        failures=failures_of(facts),
        environments=environments_of(facts),
        zoo=next((r.environment["zoo"] for r in facts.records if "zoo" in r.environment), ""),
    )
