"""Curves of training, and of costs by length."""

import numpy as np
import pytest
from example import scale_sweep
from large_run import large_run

from zoo.report.plots.curves import _curve, epoch_plots, scale_plot
from zoo.report.plots.plot import styled
from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport


def curves_of(records):
    """The plot of the curves in these records."""
    with styled():
        (plot,) = epoch_plots(RunReport(records))
    return plot


@pytest.fixture(scope="module")
def records():
    return large_run(cells=3, seeds=2, failures=False)


def test_a_curve_has_the_epochs_that_all_seeds_have():
    """And only quantities that every step of every seed has."""
    records = [r for r in large_run(cells=1, seeds=2, failures=False) if r.kind == "train"][:2]
    short = [{**step, "validation_accuracy": 0.5} for step in records[1].curve[:4]]
    records[1] = records[1].model_copy(update={"curve": short})
    (row,) = make_rows(records)
    found = _curve(row)
    assert set(found) == {"number", "loss", "accuracy"}
    assert found["number"].tolist() == [[1, 2, 3, 4]] * 2
    expected = [[step["loss"] for step in r.curve[:4]] for r in records]
    np.testing.assert_array_equal(found["loss"], expected)


def test_a_run_of_one_epoch_and_one_without_curves_have_no_plot(records):
    for epochs in (0, 1):
        cut = [r.model_copy(update={"curve": r.curve[:epochs]}) for r in records]
        assert epoch_plots(RunReport(cut)) == []


def test_the_rest_is_grey_and_counted():
    plot = curves_of(large_run(cells=9, seeds=2, failures=False))
    assert "The reference and the best are in colour; the other 3 are grey." in plot.about


@pytest.mark.parametrize(("ends", "log"), [((1.0, 9.0), False), ((1.0, 11.0), True)])
def test_a_loss_that_falls_to_a_tenth_has_a_logarithmic_axis(monkeypatch, ends, log):
    from matplotlib.axes import Axes

    scales = []
    whole = Axes.set_yscale
    monkeypatch.setattr(
        Axes, "set_yscale", lambda axes, scale: scales.append(scale) or whole(axes, scale)
    )
    steps = [{"number": number, "loss": loss} for number, loss in enumerate(ends[::-1], start=1)]
    (record,) = (r for r in large_run(cells=1, seeds=1) if r.cell and r.kind == "train")
    curves_of([record.model_copy(update={"curve": steps})])
    assert (scales == ["log"]) is log


def test_the_plot_of_a_scale_describes_every_line():
    plot = scale_plot(scale_sweep())
    assert "length to the power of 2.00" in plot.svg
    assert "128" in plot.svg
    assert "mathdefault" not in plot.svg
