"""All plots of a run."""

from __future__ import annotations

from zoo.report.plots.epochs import epoch_plots
from zoo.report.plots.forest import forest_plots
from zoo.report.plots.front import front_plots
from zoo.report.plots.heat import heat_plots
from zoo.report.plots.plot import Plot
from zoo.report.plots.style import styled
from zoo.report.stats.one_factor import effects_anyhow
from zoo.report.tables.report_data import Facts

NAMES = ("pareto-speed", "pareto-memory", "grid", "effects", "epochs")


def make_plots(facts: Facts) -> list[Plot]:
    """Those of NAMES that the records have enough for."""
    with styled():
        return [
            *front_plots(facts),
            *heat_plots(facts),
            *forest_plots(effects_anyhow(facts.made, facts.reference)),
            *epoch_plots(facts),
        ]
