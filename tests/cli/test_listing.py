"""``zoo list``, ``zoo info`` and ``zoo plugins``."""

import json
import re

import pytest

from zoo import __version__
from zoo.registry import CAPABILITIES, KINDS
from zoo.registry.loading import DEFAULT_PLUGINS


def test_every_component_is_listed(registry, said):
    listed = [(c["kind"], c["name"]) for c in json.loads(said("list", "--json").out)]
    assert listed == [(kind, name) for kind in KINDS for name in registry.labels(kind)]
    head, *lines = said("list", "norm").out.splitlines()
    assert head.split() == ["NAME", "SUMMARY", "OWNER"]
    assert [line.split()[0] for line in lines] == [f"norm/{n}" for n in registry.labels("norm")]


@pytest.mark.parametrize("kind", KINDS)
def test_info_shows_everything_about_each_component(registry, said, kind):
    for component in registry.components(kind):
        about = json.loads(said("info", f"{kind}/{component.name}", "--json").out)
        assert about["summary"] == component.summary
        assert about["owner"] == {"distribution": "encoder-zoo", "version": __version__}
        declared = {**component.parameters, **component.harness_parameters}
        assert about["parameters"] == declared
        assert about["capabilities"] == {
            name: CAPABILITIES[kind][name] for name in CAPABILITIES[kind] if component.can(name)
        }
        assert about["file"].endswith(".py")


def test_info_as_text(said):
    text = said("info", "ffn/swiglu").out
    assert text.startswith("ffn/swiglu ")
    for name, value in (
        ("source", "Shazeer 2020"),
        ("owner", "encoder-zoo"),
        ("parameter", "matched=True"),
        ("capability", "gated: multiplies two projections"),
    ):
        assert re.search(rf"^{name} +{value}", text, re.MULTILINE)


def test_info_shows_what_streamed_data_bring(said):
    lines = [line.split(maxsplit=1) for line in said("info", "data/even-pairs").out.splitlines()]
    own = dict(line.split("=", 1) for kind, line in lines if kind == "recipe")
    assert own["seeds"] == "6"
    assert len(own["lr"].split(",")) == 4


def test_info_takes_a_name_with_parameters(said):
    assert said("info", "pe/rope(base=500.0)") == said("info", "pe/rope")


def test_plugins_lists_the_builtins_like_any_other(said):
    found = json.loads(said("plugins", "--json").out)
    rows = [row for row in found if row["distribution"] == "encoder-zoo"]
    common = {"distribution": "encoder-zoo", "version": __version__, "status": "ok", "error": ""}
    assert rows == [{"name": name, **common} for name in DEFAULT_PLUGINS]
