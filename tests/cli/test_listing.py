"""``zoo list``, ``zoo info`` and ``zoo plugins``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from console import ENV, run_zoo

from zoo import __version__
from zoo.registry import CAPABILITIES, KINDS, Registry
from zoo.registry.loading import DEFAULT_PLUGINS

COMMANDS = [["list"], ["list", "pe"], ["info", "attention/fused"], ["plugins"], ["--help"]]


def json_of(*arguments: str) -> Any:
    done = run_zoo(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_none_of_them_imports_torch(arguments: list[str]) -> None:
    program = (
        f"import sys; from zoo.cli import main; status = main({arguments!r}); "
        "print(status, 'torch' in sys.modules, 'numpy' in sys.modules, 'pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 False False False"


def test_every_component_is_listed(registry: Registry) -> None:
    listed = [(c["kind"], c["name"]) for c in json_of("list")]

    assert listed == [(kind, name) for kind in KINDS for name in registry.labels(kind)]


def test_the_plain_list_has_a_line_for_each(registry: Registry) -> None:
    lines = run_zoo("list", "norm").stdout.splitlines()

    assert lines[0].split() == ["NAME", "SUMMARY", "OWNER"]
    assert [line.split()[0] for line in lines[1:]] == [f"norm/{n}" for n in registry.labels("norm")]


@pytest.mark.parametrize("kind", KINDS)
def test_info_tells_everything_of_each_component(registry: Registry, kind: str) -> None:
    for component in registry.components(kind):
        about = json_of("info", f"{kind}/{component.name}")

        assert about["summary"] == component.summary
        assert about["owner"] == {"distribution": "encoder-zoo", "version": __version__}
        assert about["parameters"] == dict(component.parameters)
        assert about["capabilities"] == {
            name: CAPABILITIES[kind][name] for name in CAPABILITIES[kind] if component.can(name)
        }
        assert about["file"].endswith(".py")


def test_info_reads_well() -> None:
    text = run_zoo("info", "ffn/swiglu").stdout

    assert text.startswith("ffn/swiglu\n")
    assert "source:      Shazeer 2020" in text
    assert "owner:       encoder-zoo" in text
    assert "  matched=True\n" in text
    assert "  gated  multiplies two projections" in text
    assert "ffn/swiglu.py\n" in text.replace("components/", "")


def test_info_takes_a_bare_name_that_is_one_component_and_a_name_with_parameters() -> None:
    assert run_zoo("info", "rope").stdout == run_zoo("info", "pe/rope").stdout
    assert run_zoo("info", "pe/rope(base=500.0)").stdout == run_zoo("info", "pe/rope").stdout


def test_plugins_lists_the_builtins_like_any_other() -> None:
    rows = [row for row in json_of("plugins") if row["distribution"] == "encoder-zoo"]

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
