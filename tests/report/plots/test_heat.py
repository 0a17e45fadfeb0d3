"""Heat maps: colours, pale ties, cells that say why they are empty, and groups of equal ranks."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from example import SVG
from factory import cell, seeds, train_record
from rendered import rendered

from zoo.report.plots.heat import _in_lines, _short, heat_plots
from zoo.report.plots.plot import styled
from zoo.report.run_report import RunReport


def test_a_heat_map_of_ties_is_pale_and_cells_without_a_number_say_why():
    # Without the cells that are made worse than the others.
    records = [one for one in rendered("small").run.records if one.cell.get("pe") != "none"]
    with styled():
        (grid,) = heat_plots(RunReport(records))
    assert "Pale: no two cells are known to differ in accuracy." in grid.about
    assert "fill-opacity: 0.22" in grid.svg
    texts = [e.text for e in ElementTree.fromstring(grid.svg).iter(f"{SVG}text")]
    assert "skipped" in texts
    assert "not run" in texts


def test_where_nothing_can_be_said_no_colour_says_it():
    """One seed: 0.768 beside 0.806 is pale, and of the same colour."""
    wrong = {"rope": 194, "sin": 232}
    records = [train_record(cell(attention=attention, pe=pe), 0, range(w))
               for attention in ("fused", "naive") for pe, w in wrong.items()]  # fmt: skip
    with styled():
        (plot,) = heat_plots(RunReport(records))
    assert "fill-opacity: 0.22" in plot.svg
    assert len(set(fills(plot).values())) == 1
    assert "known to differ in accuracy" in plot.about


def test_what_can_be_told_apart_is_at_most_half_of_the_colours():
    """Seeds vary by some 5 points, cells by less than one."""
    records = [
        *seeds(cell(), [100, 150, 90, 140, 125]),
        *seeds(cell(pe="sin"), [120, 115, 150, 100, 130]),
        *seeds(cell(attention="linear"), [140, 95, 120, 150, 100]),
        *seeds(cell(attention="linear", pe="sin"), [90, 145, 125, 110, 140]),
    ]
    run = RunReport(records)
    with styled():
        (plot,) = heat_plots(run)
    light = fills(plot).values()
    assert run.verdicts.visible() > 0.01
    assert 0 < max(light) - min(light) < 20, "of 255"


@pytest.fixture
def apart():
    """Two of attention and three of pe, of which one is much worse."""
    wrong = {"rope": 20, "sin": 30, "none": 400}
    return [
        train_record(cell(attention=attention, pe=pe), seed, range(w + seed))
        for attention in ("fused", "naive")
        for pe, w in wrong.items()
        for seed in range(4)
    ]


def fills(plot):
    """The title of each cell to the colour of its square."""
    found = {}
    for mark in ElementTree.fromstring(plot.svg).iter():
        if mark.get("class") == "mark":
            path = next(mark.iter(f"{SVG}path"))
            hue = path.get("style").partition("fill: #")[2][:6]
            light = np.dot([int(hue[i : i + 2], 16) for i in (0, 2, 4)], [0.2126, 0.7152, 0.0722])
            found[mark.findtext(f"{SVG}title").partition(":")[0]] = light
    return found


def test_lighter_is_better_and_the_scale_has_both_ends(apart):
    with styled():
        (plot,) = heat_plots(RunReport(apart))
    found = fills(plot)
    assert found["fused+rope"] > found["fused+sin"] > found["fused+none"]
    assert found["naive+rope"] == found["fused+rope"]
    assert "Pale" not in plot.about
    assert min(found.values()) < 40
    assert max(found.values()) > 200
    assert heat_plots(RunReport([r for r in apart if r.cell["pe"] == "rope"])) == []


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("0.954 =", ".95="), ("1.000", "1.0"), ("0.996", "1.0"), ("12.345", "12.3"),
        ("-0.25", "-0.25"), ("not run", "–"), ("skipped", "skipped"), ("2/3 · .79", "2/3"),
    ],
)  # fmt: skip
def test_numbers_in_narrow_cells_are_short(text, short):
    assert _short(text) == short


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fused+rope", "fused+rope"),
        ("linear+relative/x", "linear+\nrelative/x"),
        ("performer(features=256)", "performer(featu\nres=256)"),
    ],
)
def test_long_names_are_divided_after_a_sign(name, lines):
    assert _in_lines(name) == lines
