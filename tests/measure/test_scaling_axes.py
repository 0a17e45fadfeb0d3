"""The values after ``--lengths`` and ``--values``, and the sizes that follow from them."""

from __future__ import annotations

import pytest
from refused import refused

from zoo.config.sizes import Sizes
from zoo.measure.scaling import known_axis, parse_values, sizes_at

BASE = Sizes(dim=64, layers=2, heads=4, ffn_dim=256, max_length=100)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("128", (128,)),
        ("128, 300,301", (128, 300, 301)),
        ("128,256,…,2048", (128, 256, 512, 1024, 2048)),
        ("1,3,...,81", (1, 3, 9, 27, 81)),
        ("100,150,..,300", (100, 150, 200, 250, 300)),
        ("2,4,…,8,9", (2, 4, 8, 9)),
    ],
)
def test_a_list_is_read_and_a_gap_is_filled(text, values):
    assert parse_values(text, "--lengths") == values


@pytest.mark.parametrize(
    "text", ["", "a", "0,1", "-1", "4,2", "2,2", "1.5", "1,…,8", "1,2,…", "…,8", "1,2,…,…,8", "²"]
)
def test_anything_but_a_rising_list_is_refused_in_one_line(text):
    refused("--lengths", parse_values, text, "--lengths")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5,10,…,10000000", "never reaches"),
        ("8,99999999999999999999", "more than 1,073,741,824"),
        ("1,2,…,4,5,6,…,100", "more than 64"),
    ],
)
def test_too_large_or_too_many_values_are_refused(text, message):
    refused(message, parse_values, text, "--lengths")


@pytest.mark.parametrize(
    ("over", "changed", "batch"),
    [
        ("length", {"max_length": 32}, 3),
        ("dim", {"dim": 32, "ffn_dim": 128}, 3),
        ("layers", {"layers": 32}, 3),
        ("batch", {}, 32),
    ],
)
def test_one_size_changes_and_the_inner_width_follows(over, changed, batch):
    sizes, found = sizes_at(over, 32, BASE, 3)
    assert sizes == BASE.model_copy(update=changed)
    assert found == batch


def test_an_unknown_axis_is_refused_with_the_known_ones():
    refused(r"length, dim, layers, batch.*did you mean 'layers'", known_axis, "layer")
