"""All plots of a run."""

from __future__ import annotations

from zoo.report.plots.epochs import epoch_plots
from zoo.report.plots.forest import forest_plots
from zoo.report.plots.front import front_plots
from zoo.report.plots.heat import heat_plots
from zoo.report.plots.plot import Plot
from zoo.report.plots.style import styled
from zoo.report.run_report import RunReport

NAMES = ("pareto-speed", "pareto-memory", "grid", "effects", "epochs")


def make_plots(run: RunReport) -> list[Plot]:
    """Those of NAMES that the records have enough data for."""
    with styled():
        return [*front_plots(run), *heat_plots(run), *forest_plots(run.effects), *epoch_plots(run)]
