"""``zoo list``, ``zoo info`` and ``zoo plugins``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from zoo import __version__
from zoo.cli import main
from zoo.registry import CAPABILITIES, KINDS
from zoo.registry.loading import DEFAULT_PLUGINS


@pytest.fixture
def output(capsys) -> Callable[..., str]:
    """What a command that succeeds prints."""

    def run(*arguments: str) -> str:
        assert main(arguments) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


def test_every_component_is_listed(registry, output):
    listed = [(c["kind"], c["name"]) for c in json.loads(output("list", "--json"))]
    assert listed == [(kind, name) for kind in KINDS for name in registry.labels(kind)]
    head, *lines = output("list", "norm").splitlines()
    assert head.split() == ["NAME", "SUMMARY", "OWNER"]
    assert [line.split()[0] for line in lines] == [f"norm/{n}" for n in registry.labels("norm")]


@pytest.mark.parametrize("kind", KINDS)
def test_info_shows_everything_about_each_component(registry, output, kind):
    for component in registry.components(kind):
        about = json.loads(output("info", f"{kind}/{component.name}", "--json"))

        assert about["summary"] == component.summary
        assert about["owner"] == {"distribution": "encoder-zoo", "version": __version__}
        declared = {**component.parameters, **component.harness_parameters}
        assert about["parameters"] == declared
        assert about["capabilities"] == {
            name: CAPABILITIES[kind][name] for name in CAPABILITIES[kind] if component.can(name)
        }
        assert about["file"].endswith(".py")


def test_info_as_text(output):
    text = output("info", "ffn/swiglu")

    assert text.startswith("ffn/swiglu\n")
    assert "source:      Shazeer 2020" in text
    assert "owner:       encoder-zoo" in text
    assert "  matched=True\n" in text
    assert "  gated  multiplies two projections" in text
    assert "ffn/swiglu.py\n" in text.replace("components/", "")


def test_info_takes_a_unique_bare_name_and_a_name_with_parameters(output):
    assert output("info", "rope") == output("info", "pe/rope")
    assert output("info", "pe/rope(base=500.0)") == output("info", "pe/rope")


def test_plugins_lists_the_builtins_like_any_other(output):
    found = json.loads(output("plugins", "--json"))
    rows = [row for row in found if row["distribution"] == "encoder-zoo"]

    assert rows == [
        {
            "name": name,
            "distribution": "encoder-zoo",
            "version": __version__,
            "status": "ok",
            "error": "",
        }
        for name in DEFAULT_PLUGINS
    ]
