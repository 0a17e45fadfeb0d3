"""Runs whose plots and page several tests look at; each is rendered once in a test session."""

import functools
from dataclasses import dataclass

from example import ACCURACIES, records_of
from factory import cell, failed
from hostile import CLOSING, LONG, NAMES, SCRIPT
from large_run import large_run

from zoo.report.page import report_page
from zoo.report.plots.plot import Plot
from zoo.report.plots.profile_plot import profile_plot
from zoo.report.profile import DataSetReport, Profile
from zoo.report.run_report import RunReport
from zoo.report.write import make_plots


@dataclass(frozen=True)
class Rendered:
    run: RunReport
    plots: dict[str, Plot]
    page: str


def render(records, plots=True):
    run = RunReport(records)
    made = make_plots(run) if plots else []
    return Rendered(run, {plot.name: plot for plot in made}, report_page(run, made))


def _hostile():
    records = large_run(cells=32, seeds=3, examples=200, names=NAMES)
    bad = failed(cell(attention=SCRIPT, norm="layer-std"), 0)
    return [*records, bad.model_copy(update={"reason": CLOSING, "config": records[0].config})]


_RUNS = {
    "large": large_run,
    "small": lambda: large_run(cells=24, seeds=3, examples=200),
    "long": lambda: large_run(cells=24, seeds=3, examples=200, names=LONG),
    "hostile": _hostile,
}


@functools.cache
def profile_page_of_six():
    """The page of a run on six data sets; on one of them all rows are at chance."""
    data_sets = [
        DataSetReport(name, name, RunReport(records_of(name, accuracies)))
        for name, accuracies in ACCURACIES.items()
    ]
    profile = Profile(data_sets)
    return report_page(profile, [profile_plot(profile)], "A run on six data sets")


@functools.cache
def rendered(name):
    """large: 100 cells; small: 24; long: the same with long names; hostile: names as markup."""
    return render(_RUNS[name]())
