"""The plot of effects: what is better, worse or a tie, and what is drawn at all."""

import xml.etree.ElementTree as ElementTree

import pytest
from example import SVG, run
from factory import cell, lm, name
from large_run import large_run

from zoo.report.plots.forest import _estimates, forest_plots
from zoo.report.plots.plot import styled
from zoo.report.run_report import RunReport


def test_each_estimate_has_its_interval_in_its_unit_and_its_verdict(report):
    sin, none = report.effects.main
    scored, speed, memory = _estimates(none)
    assert scored[0] == pytest.approx(100 * none.difference.mean)
    assert scored[1:] == (
        pytest.approx(100 * none.difference.low),
        pytest.approx(100 * none.difference.high),
        1,
    )
    ratio = none.speed["train"]
    assert speed == (ratio.value, ratio.low, ratio.high, -1)
    assert memory == (1.0, None, None, 0)
    assert [estimate[3] for estimate in _estimates(sin)] == [0, 0, 0]


def test_fewer_bits_are_better():
    records = [*lm(cell(), [2.5, 2.51, 2.52]), *lm(cell(pe="sin"), [2.0, 2.01, 2.02])]
    (effect,) = RunReport(records).effects.main
    scored, speed, memory = _estimates(effect)
    assert (scored[0], scored[3]) == (pytest.approx(0.5), -1)
    assert (speed, memory) == (None, None)


def test_panels_without_a_number_are_left_out(report):
    with styled():
        (whole,) = forest_plots(report.effects)
        (scored,) = forest_plots(RunReport([r for r in run() if r.kind == "train"]).effects)
    assert forest_plots(None) == []
    assert "not corrected. Memory is measured once." in whole.about
    assert whole.svg.count("<title") == 1 + 6
    assert "Memory" not in scored.about
    assert "training speed" not in scored.svg
    texts = [e.text for e in ElementTree.fromstring(scored.svg).iter(f"{SVG}text")]
    assert {"rope", "vs sin", "vs none"} <= set(texts)


def test_effects_of_one_factor_at_a_time_where_the_grid_is_not_full():
    all_records = large_run(cells=12, seeds=4, failures=False)
    records = [r for r in all_records if r.cell.get("pe") in ("rope", "none")]
    left = [r for r in records if (r.cell["pe"], r.cell["norm"]) != ("none", "rms")]
    others = [name(pe="none"), name(norm="rms"), name(norm="none")]
    run = RunReport(left, left[0].name)
    found = run.effects
    assert found.about == f"With everything else as in the reference, {left[0].name}."
    assert [(e.axis, e.component, e.against) for e in found.main] == [
        ("pe", "rope", "none"),
        ("norm", "layer", "rms"),
        ("norm", "layer", "none"),
    ]
    full = RunReport(records, records[0].name).effects
    assert full.about == "Averaged over the full grid of 2 pe × 3 norm."
    pairs = [run.verdicts.pair(left[0].name, one) for one in others]
    assert [e.difference for e in found.main] == pairs, "an effect of one factor is a pair"
