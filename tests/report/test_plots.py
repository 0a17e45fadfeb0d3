"""Plots: the same bytes each time, names as text, and none without data for it."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from example import ACCURACIES, SVG, profile_of_skills, records_of, run, scale_sweep
from factory import LM, cell, name
from hostile import DOLLARS, SCRIPT
from large_run import large_run
from rendered import rendered

from zoo.report.plots.curves import epoch_plots, losses_of, scale_plot
from zoo.report.plots.front import front_of
from zoo.report.plots.profile_plot import profile_plot
from zoo.report.profile import DataSetReport, Profile
from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport
from zoo.report.write import NAMES, make_plots, write_report


def texts_of(plot):
    return [text.text for text in ElementTree.fromstring(plot.svg).iter(f"{SVG}text")]


def plots_of(records):
    return {plot.name: plot for plot in make_plots(RunReport(records))}


@pytest.fixture
def small():
    return rendered("small")


def test_a_run_has_all_plots_each_with_its_title_and_how_to_read_it(small):
    assert tuple(small.plots) == NAMES
    for plot in small.plots.values():
        root = ElementTree.fromstring(plot.svg)
        assert (root[0].text, root[1].text) == (plot.title, plot.about)


def test_ids_are_unique_on_a_page_and_every_reference_has_its_target(small):
    ids, wanted = [], set()
    for plot in small.plots.values():
        for element in ElementTree.fromstring(plot.svg).iter():
            ids += [element.get("id")] if element.get("id") else []
            for value in element.attrib.values():
                wanted |= set(re.findall(r"url\(#(.+?)\)", value))
            wanted |= {v[1:] for k, v in element.items() if k.endswith("href")}
    assert len(ids) == len(set(ids))
    assert wanted
    assert wanted <= set(ids)


def test_every_axis_has_a_unit(small):
    for plot, units in {
        "pareto-speed": ["× that of fused+rope+layer", "share of documents"],
        "epochs": ["nats", "epoch"],
    }.items():
        for unit in units:
            assert unit in small.plots[plot].svg, (plot, unit)


def test_another_task_has_its_own_metric_and_direction():
    records = []
    for record in large_run(cells=6, seeds=3, failures=False):
        fields = {"config": record.config | {"task": "lm"}, "metric_descriptions": LM}
        if record.kind == "train":
            bits = 4 - 2 * record.metrics["accuracy"]
            fields["metrics"] = {"params": 9, "bits_per_byte": bits, "nats": 2 * bits}
        records.append(record.model_copy(update=fields))
    plots = plots_of(records)
    assert "bits/byte (lower is better)" in plots["pareto-speed"].svg


def test_names_are_text():
    plots = rendered("hostile").plots
    for plot in plots.values():
        root = ElementTree.fromstring(plot.svg)
        assert not list(root.iter(f"{SVG}script"))
        assert "onerror" not in {key for e in root.iter() for key in e.attrib}
    names = [text for plot in plots.values() for text in texts_of(plot)]
    assert any(SCRIPT[:10] in text for text in names)
    plot = plots_of(large_run(cells=3, seeds=2, names={"layer": DOLLARS}))["epochs"]
    assert any(DOLLARS in text for text in texts_of(plot)), "a dollar sign started a formula"


@pytest.mark.parametrize(("score", "cost", "front"), [(1, 1, "dc"), (1, -1, "db"), (-1, 1, "ac")])
def test_the_front_is_what_no_other_point_beats_on_both(score, cost, front):
    """(score, cost): of equal scores the one with the better cost counts."""
    points = {"a": (0.5, 2.0), "b": (0.5, 1.0), "c": (0.7, 4.0), "d": (0.9, 3.0)}
    signed = {key: (score * y, cost * x) for key, (y, x) in points.items()}
    assert front_of(signed) == list(front)


def test_speeds_are_ratios_to_the_reference_where_there_are_ratios():
    plots = plots_of(run())
    assert "training speed, × that of rope" in texts_of(plots["pareto-speed"])
    assert {"rope", "none"} <= set(texts_of(plots["pareto-speed"]))
    few = [r for r in run() if r.cell in ({}, cell(pe="sin")) or r.kind == "train"]
    assert plots_of(few) == {}, "one cell with a speed is no front"
    left = plots_of([r for r in run() if r.name != name()])
    assert f"training speed, × that of {name()[:21]}…" in texts_of(left["pareto-speed"])


def test_a_curve_has_the_epochs_that_all_seeds_have():
    records = [r for r in large_run(cells=1, seeds=2, failures=False) if r.kind == "train"][:2]
    records[1] = records[1].model_copy(update={"curve": records[1].curve[:4]})
    expected = [[step["loss"] for step in r.curve[:4]] for r in records]
    np.testing.assert_array_equal(losses_of(make_rows(records)[0]), expected)


def test_curves_are_of_the_reference_and_the_best_and_there_are_none_of_one_epoch():
    records = large_run(cells=9, seeds=2, failures=False)
    (plot,) = epoch_plots(RunReport(records))
    assert plot.about.endswith("Shown are the reference and the best of 9 rows.")
    for epochs in (0, 1):
        cut = [r.model_copy(update={"curve": r.curve[:epochs]}) for r in records]
        assert epoch_plots(RunReport(cut)) == []


def test_the_plot_of_a_scale_names_cells_and_sizes():
    plot = scale_plot(scale_sweep())
    assert {"fused", "naive", "128", "8,192", "ms", "MiB", "length, tokens"} <= set(texts_of(plot))


def test_the_picture_of_a_profile_can_be_understood_alone():
    data_sets = [
        DataSetReport(name, name, RunReport(records_of(name, accuracies)))
        for name, accuracies in ACCURACIES.items()
    ]
    texts = set(texts_of(profile_plot(Profile(data_sets))))
    assert {"Mean score on each data set", "low", "high", "mean score", "rope"} <= texts
    assert {"alpha", "zeta", "0.990 =", "positional encoding"} <= texts
    texts = set(texts_of(profile_plot(profile_of_skills())))
    assert {"never", "every seed, the fastest", "6/6 · 8.4k", "2/6 · >40k", "0/6 · .53"} <= texts


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes_in_any_process(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write_report(RunReport(run()), folder)
    first = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert {p.suffix for p in first} >= {".png", ".svg", ".tex", ".md", ".csv"}
    code = f"""
import matplotlib
from pathlib import Path
from example import run
from zoo.report.run_report import RunReport
from zoo.report.write import write_report
matplotlib.rcParams.update({{"font.size": 20, "lines.linewidth": 9}})
write_report(RunReport(run()), Path({str(tmp_path / "again")!r}))
"""
    (tmp_path / "again").mkdir()
    environment = os.environ | {"PYTHONHASHSEED": "123", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    again = tmp_path / "again"
    assert first == {p.relative_to(again): p.read_bytes() for p in again.rglob("*") if p.is_file()}
