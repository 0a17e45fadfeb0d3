"""The picture of a profile can be understood alone."""

import xml.etree.ElementTree as ElementTree

import pytest
from example import ACCURACIES, SVG, records_of

from zoo.report.plots.profile_plot import _in_lines, profile_plot
from zoo.report.profile import DataSet, Profile
from zoo.report.run_report import RunReport


def test_it_names_rows_data_sets_scores_and_the_ends_of_its_scale():
    data_sets = [
        DataSet(name, name, RunReport(records_of(name, accuracies)))
        for name, accuracies in ACCURACIES.items()
    ]
    svg = ElementTree.fromstring(profile_plot(Profile(data_sets)).svg)
    texts = {text.text for text in svg.iter(f"{SVG}text")}
    assert {"Which part solves which task", "chance", "solved", "mean score", "rope"} <= texts
    assert {"alpha", "zeta", "5/5 · .99", "positional encoding"} <= texts
    titles = [title.text for title in svg.iter(f"{SVG}title")]
    assert len(titles) == 1 + 18
    assert "rope on alpha: accuracy 5/5 solved · .99" in titles


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
