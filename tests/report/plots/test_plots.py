"""Plots: the same bytes each time, names as text, and none without data for it."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from example import SVG, run
from factory import LM
from hostile import DOLLARS, SCRIPT
from large_run import large_run
from rendered import rendered

from zoo.report.run_report import RunReport
from zoo.report.write import NAMES, make_plots, write_report


@pytest.fixture
def small():
    return rendered("small")


def titles(plot):
    """The descriptions of its marks."""
    return [e.text for e in ElementTree.fromstring(plot.svg).iter(f"{SVG}title")][1:]


def test_a_run_has_all_plots_and_every_row_is_named_in_them(small):
    run, plots = small.run, small.plots
    assert tuple(plots) == NAMES
    measured = {run.describe(n) for n, o in enumerate(run.lines) if o["train_ratio"] is not None}
    for plot in ("pareto-speed", "pareto-memory", "epochs"):
        assert set(titles(plots[plot])) == measured, plot
    assert any(text.startswith("rope against none: +") for text in titles(plots["effects"]))


def test_ids_are_unique_and_every_reference_has_its_target(small):
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
        "pareto-memory": ["MiB", "share of documents"],
        "effects": ["percentage points", "training speed, ×", "peak memory, ×"],
        "epochs": ["nats", "share right", "epoch"],
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
            loss_alone = [{k: v for k, v in s.items() if k != "accuracy"} for s in record.curve]
            fields["curve"] = loss_alone
        records.append(record.model_copy(update=fields))
    plots = {plot.name: plot.svg for plot in make_plots(RunReport(records))}
    assert "bits/byte (lower is better)" in plots["pareto-speed"]
    assert "bits/byte, bits per byte" in plots["effects"]
    assert "Bits/byte against memory" in plots["pareto-memory"]
    assert "accuracy" not in plots["epochs"]


def test_names_are_text():
    plots = rendered("hostile").plots
    for plot in plots.values():
        root = ElementTree.fromstring(plot.svg)
        assert not list(root.iter(f"{SVG}script"))
        assert "onerror" not in {key for e in root.iter() for key in e.attrib}
    legend = [e.text for e in ElementTree.fromstring(plots["effects"].svg).iter(f"{SVG}text")]
    assert any(DOLLARS in (text or "") for text in legend), "a dollar sign started a formula"
    assert any(SCRIPT in text for text in titles(plots["pareto-speed"]))


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
