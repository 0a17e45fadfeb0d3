"""Every component has its page, with what its registration says."""

import json
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest

from bench.docs.catalog import catalog, plugins
from bench.docs.component_pages import component_pages, documentation
from bench.docs.pictures import Picture, pictures
from bench.docs.place import ROOT
from zoo.registry import AXES, CAPABILITIES, KINDS, Component

PLUGINS = sorted((ROOT / "plugins").glob("*/pyproject.toml"))
COMPONENTS = [c for kind in KINDS for c in catalog().components(kind)]
# One of each kind of picture; with them the pages of all components take two seconds, not ten.
DRAWN = ("fused", "alibi", "sin")
# What a formula is written with.
SIGNS = re.compile(r"[=·√Σ⊙ᵀ‖⌊σφζγαβ₀₁ᵢ²]| [+-] |\w\(\w+[,)]|\b\w_\w+\b")


def names(component: Component) -> str:
    return f"{component.kind}/{component.name}"


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[str, list[Picture]]]:
    """Path to text and pictures, of which there is one of each kind."""

    def some(component: Component) -> Iterator[Picture]:
        return pictures(component) if component.name in DRAWN else iter(())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.docs.component_pages.pictures", some)
        return {path: (text, drawn) for path, text, drawn in component_pages()}


def test_the_catalogue_has_what_the_program_lists_and_this_repositorys_plug_ins():
    command = [sys.executable, "-m", "zoo", "list", "--json"]
    env = {"ZOO_PLUGINS": "", "PYTHONPATH": str(ROOT), "PATH": ""}
    listed = json.loads(subprocess.run(command, capture_output=True, env=env, check=True).stdout)
    found = {(c.kind, c.name) for c in COMPONENTS}
    assert {(one["kind"], one["name"]) for one in listed} <= found
    projects = [tomllib.loads(f.read_text("utf-8"))["project"] for f in PLUGINS]
    registering = {one["name"] for one in projects if "zoo" in one.get("entry-points", {})}
    found = {r.owner.distribution for r in plugins() if r.components}
    assert found == registering


def test_every_component_and_every_kind_has_a_page(made):
    wanted = {f"components/{c.kind}/{c.name}.md" for c in COMPONENTS}
    assert set(made) == wanted | {f"components/{kind}/index.md" for kind in KINDS}


@pytest.mark.parametrize("component", COMPONENTS, ids=names)
def test_a_page_has_summary_source_parameters_and_capabilities(component, made):
    text, _ = made[f"components/{component.kind}/{component.name}.md"]
    plain = text.replace("\\", "")
    assert component.summary[1:] in plain
    for address in re.findall(r"https?://[^\s;,]+", component.source):
        assert f"<{address}>" in text
    for name in {**component.parameters, **component.harness_parameters}:
        assert f"| `{name}`" in text
    for name in component.capabilities:
        assert CAPABILITIES[component.kind][name] in plain
    assert f"`zoo check {component.kind}/{component.name}` tries `declares`" in text


def test_the_certificate_of_a_part_is_on_its_page(made):
    text, _ = made["components/attention/naive.md"]
    # Width 16: four projections with biases; products with 64 keys, and their values.
    assert re.search(rf"\| parameters +\| {4 * 16 * 17:,} ", text)
    assert re.search(rf"in a text of 64 +\| {2 * (4 * 16 * 16 + 2 * 64 * 16):,} ", text)
    assert "| 32 before, 31 after |" in text
    assert re.search(r"numbers in the cache per token +\| 32 ", text)


@pytest.mark.parametrize("component", [c for c in COMPONENTS if c.kind in AXES], ids=names)
def test_a_part_has_an_equation_in_its_docstring(component):
    first, rest = documentation(component)
    if component.name in ("none", "torch"):  # nothing, and another library
        return
    assert SIGNS.search(" ".join([first, *rest[:2]])), "the docstring needs its equation"


def test_every_kind_of_picture_is_drawn(made):
    drawn = {picture.name: picture.svg for _, pictures in made.values() for picture in pictures}
    assert {"fused-reads", "alibi-bias", "sin-adds"} <= set(drawn)
    for svg in drawn.values():
        ElementTree.fromstring(svg)
