"""Metric against cost: the front of the means, its styles, and what is named where."""

import xml.etree.ElementTree as ElementTree

import pytest
from example import run
from factory import ACCURACY, BITS_PER_BYTE, cell, name

from zoo.report.plots.front import Point, _stairs, front_plots
from zoo.report.plots.plot import styled
from zoo.report.run_report import RunReport


@pytest.mark.parametrize(
    ("metric", "more", "front"),
    [
        (ACCURACY, True, [3, 2]),
        (ACCURACY, False, [3, 1]),
        (BITS_PER_BYTE, True, [0, 2]),
        (BITS_PER_BYTE, False, [1]),
    ],
)
def test_the_front_is_what_no_other_point_beats_on_both(metric, more, front):
    """(cost, score): of equal scores the one with the better cost counts."""
    at = [(2.0, 0.5), (1.0, 0.5), (4.0, 0.7), (3.0, 0.9)]
    points = [Point(number, x, y, None, None) for number, (x, y) in enumerate(at)]
    assert [point.number for point in _stairs(points, metric, more)] == front


def plots_of(records):
    with styled():
        return {plot.name: plot for plot in front_plots(RunReport(records))}


def texts_of(plot):
    return " ".join(" ".join(ElementTree.fromstring(plot.svg).itertext()).split())


def test_speeds_are_ratios_to_the_reference_where_there_are_ratios():
    plot, memory = plots_of(run()).values()
    assert "training speed, × that of rope, which does" in texts_of(plot)
    assert "1,000 tokens/s (right is better)" in texts_of(plot)
    assert "words: 0.980" in texts_of(plot)
    assert plot.about.startswith(
        "Filled, and joined by the dashed line, is the front of the means: rope, none."
    )
    assert "peak memory in training, MiB (left is better)" in texts_of(memory)
    assert memory.about.endswith("memory is measured once, so it has none.")
    few = [r for r in run() if r.cell in ({}, cell(pe="sin")) or r.kind == "train"]
    assert plots_of(few) == {}, "one cell with a speed is no front"
    left = [r for r in run() if r.name != name()]
    for one in left:
        one.metrics.pop("peak_memory_mib", None)
    (plot,) = plots_of(left).values()
    assert "training speed, tokens/s (right is better)" in texts_of(plot)
