"""Plots: the same bytes each time, names as text, and none without data for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from example import REFERENCE, run
from factory import cell, failed, name, skipped
from hostile import DOLLARS, SCRIPT
from large_run import large_run
from rendered import rendered

from zoo.report.plots.curves import epoch_plots
from zoo.report.plots.plot import INK, MUTED, PAPER, styled
from zoo.report.run_report import RunReport
from zoo.report.write import NAMES, write_report

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def large():
    return rendered("large")


def titles(svg):
    """Row number to the title of its mark; effects have no row."""
    marks = [e for e in ElementTree.fromstring(svg).iter() if e.get("class") == "mark"]
    return {mark.get("data-row"): mark.findtext(f"{SVG}title") for mark in marks}


def test_a_large_run_has_all_plots_and_every_row_is_named_in_them(large):
    run, plots = large.run, large.plots
    assert list(plots) == [name for name in NAMES if name != "by-group"]
    measured = {str(n) for n, line in enumerate(run.lines) if line["train_ratio"] is not None}
    for plot in ("pareto-speed", "pareto-memory", "epochs"):
        named = titles(plots[plot].svg)
        assert set(named) == measured, plot
        for row, title in named.items():
            assert title.startswith(f"{run.short_name(run.rows[int(row)])}: ")
            assert "accuracy 0." in title
    effects = ElementTree.fromstring(plots["effects"].svg)
    found = [e.findtext(f"{SVG}title") for e in effects.iter() if e.get("class") == "mark"]
    assert any(text.startswith("rope against none: +") for text in found)


def test_ids_are_unique_and_every_reference_has_its_target(large):
    ids, wanted = [], set()
    for plot in large.plots.values():
        for element in ElementTree.fromstring(plot.svg).iter():
            ids += [element.get("id")] if element.get("id") else []
            for value in element.attrib.values():
                wanted |= set(re.findall(r"url\(#(.+?)\)", value))
            wanted |= {v[1:] for k, v in element.items() if k.endswith("href")}
    assert len(ids) == len(set(ids))
    assert wanted
    assert wanted <= set(ids)


def test_cells_without_a_number_say_why_in_the_grid(large):
    texts = [e.text for e in ElementTree.fromstring(large.plots["grid"].svg).iter(f"{SVG}text")]
    assert "skipped" in texts
    assert "not run" in texts


def test_every_axis_has_a_unit(large):
    for plot, units in {
        "pareto-speed": ["× that of fused+rope+layer", "share of documents"],
        "pareto-memory": ["MiB", "share of documents"],
        "grid": ["share of documents", "× the reference's"],
        "effects": ["percentage points", "training speed, ×", "peak memory, ×"],
        "epochs": ["nats", "share right", "epoch"],
    }.items():
        for unit in units:
            assert unit in large.plots[plot].svg, (plot, unit)


def test_a_heat_map_whose_differences_are_all_ties_is_pale(large):
    grid = rendered("small").plots["grid"]
    assert "Pale: no two cells differ significantly in accuracy." in grid.about
    assert "fill-opacity: 0.22" in grid.svg
    assert "Pale" not in large.plots["grid"].about
    assert "fill-opacity: 0.22" not in large.plots["grid"].svg


def curves_of(records):
    """The plot of the curves in these records."""
    with styled():
        (plot,) = epoch_plots(RunReport(records))
    return plot


def test_rows_with_the_same_results_are_one_line_that_names_them():
    records = large_run(cells=3, seeds=2, failures=False)
    assert "have one line" not in curves_of(records).about
    twins = {tuple(r.cell.values()): r.cell for r in records if r.cell}
    first, twin, *_ = twins.values()
    same = [r for r in records if r.kind != "train" or r.cell != twin]
    same += [
        r.model_copy(update={"cell": twin}) for r in same if r.kind == "train" and r.cell == first
    ]
    plot = curves_of(same)
    assert re.search(r"have one line: (layer, rms|rms, layer)\.", plot.about)
    assert re.search(">(layer = rms|rms = layer)<", plot.svg)


def test_scores_of_texts_held_out_are_in_the_curves():
    records = large_run(cells=2, seeds=2, failures=False)
    assert "held out for validation" not in curves_of(records).about
    assert "Circles: the score of the trained models" in curves_of(records).about
    scored = [
        r.model_copy(update={"curve": [s | {"validation_accuracy": 0.8} for s in r.curve]})
        for r in records
    ]
    assert "Dotted lines with crosses: on the texts held out" in curves_of(scored).about


def test_a_picture_follows_dark_mode(large):
    """Every colour of ink, paper and lines has a twin; colours of heat maps work on both."""
    for title, plot in large.plots.items():
        style = next(e.text for e in ElementTree.fromstring(plot.svg).iter(f"{SVG}style"))
        assert "prefers-color-scheme: dark" in style
        used = set(
            re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", plot.svg.partition("</style>")[2])
        )
        known = set(re.findall(r": (#[0-9a-f]{6})\"", style))
        assert {INK, MUTED, PAPER} <= used, title
        assert title == "grid" or used <= known, title


def test_names_are_text():
    plots = rendered("hostile").plots
    for plot in plots.values():
        root = ElementTree.fromstring(plot.svg)
        assert not list(root.iter(f"{SVG}script"))
        assert "onerror" not in {key for e in root.iter() for key in e.attrib}
    grid = [e.text for e in ElementTree.fromstring(plots["grid"].svg).iter(f"{SVG}text")]
    assert DOLLARS in grid, "a dollar sign started a formula"
    assert any(SCRIPT in text for text in titles(plots["pareto-speed"].svg).values())


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes_in_any_process(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write_report(RunReport(run()), folder)
    first = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert {p.suffix for p in first} >= {".png", ".svg", ".tex", ".md", ".csv"}
    here = Path(__file__).parent
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
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(here.parent), os.environ.get("PYTHONPATH", ""), str(here.parents[2])]
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    again = tmp_path / "again"
    assert first == {p.relative_to(again): p.read_bytes() for p in again.rglob("*") if p.is_file()}


def test_plots_without_data_are_not_made_and_older_ones_are_deleted(tmp_path):
    write_report(RunReport(run()), tmp_path)
    assert (tmp_path / "plots" / "pareto-speed.png").exists()
    write_report(RunReport([skipped(cell(), "no reason"), failed(cell(pe="sin"), 0)]), tmp_path)
    assert not list((tmp_path / "plots").iterdir())


def test_without_the_records_of_the_reference_all_else_is_made(tmp_path):
    """Every row was measured against it, but its own lines were removed."""
    left = RunReport([record for record in run() if record.name != REFERENCE])
    assert left.reference == REFERENCE
    assert left.effects is None
    write_report(left, tmp_path)
    assert (tmp_path / "report.html").exists()
    names = {path.stem for path in (tmp_path / "plots").iterdir()}
    assert "pareto-memory" in names
    assert "effects" not in names


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
