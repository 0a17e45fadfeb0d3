"""Which components can be exported: all but those that docs/transformers.md names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from zoo_export.export import PLAIN
from zoo_export.program import FORMATS, write_program

from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry import AXES, Choice, Owner, Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins, read_plugin

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "transformers.md").read_text("utf-8")
PLUGINS = ("zoo-efficient", "zoo-modern")
SIZES = Sizes(dim=16, layers=1, heads=2, ffn_dim=32, max_length=24, vocab_size=60)
ENCODINGS = ("none", "sin", "learned", "rope", "alibi")
POOL_NAMES = ("mean", "cls", "attention", "multi-query", "max", "last")


@pytest.fixture(scope="module")
def everything() -> Registry:
    """The built-ins, and the components of the plug-ins, which need not be installed."""
    registry = built_ins()
    for name in PLUGINS:
        directory = ROOT / "plugins" / name
        project = tomllib.loads((directory / "pyproject.toml").read_text("utf-8"))["project"]
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(directory)
            for module in project["entry-points"]["zoo"].values():
                registry.admit(read_plugin(module, Owner(name, project["version"])))
    return registry


def refused() -> set[str]:
    """``kind/choice`` of everything that the page's table names."""
    rows = re.findall(r"^\| (\w+) \| (`.*?`) \|", PAGE, re.MULTILINE)
    return {f"{kind}/{name}" for kind, names in rows for name in re.findall(r"`([^`]+)`", names)}


def components(registry: Registry, kind: str) -> list[Choice]:
    """Every component of a kind."""
    return [registry.example(component) for component in registry.components(kind)]


def cell_of(**parts: Sequence[Choice]) -> Cell:
    plain = Cell.parse(built_ins(), PLAIN)
    return Cell({**plain.axes, **{axis: tuple(c) for axis, c in parts.items()}})


def obstacle(cell: Cell, layers: int) -> str:
    sizes = SIZES.model_copy(update={"layers": layers})
    return cell.refusal(sizes, {"attention": {"padding"}})


def export(cell: Cell, layers: int, directory: Path, to: str = "onnx") -> None:
    """Write the cell's model and compare it; raises where either is not possible."""
    assert not obstacle(cell, layers)
    sizes = SIZES.model_copy(update={"layers": layers})
    model = build_classifier(cell, sizes, vocab_size=60, classes=3, seed=0).eval()
    form = FORMATS[to]
    assert write_program(model, 60, sizes.max_length, form, directory / form.file)


def exportable(registry: Registry, kind: str) -> list[Choice]:
    """What can be exported to ONNX."""
    return [one for one in components(registry, kind) if f"{kind}/{one}" not in refused()]


def of_plugins(found: Sequence[Choice]) -> list[Choice]:
    """Those of the plug-ins; those of the zoo are tried with one another."""
    return [one for one in found if one.component.owner.distribution in PLUGINS]


# Each model tries a pool as well: one for every encoding of the zoo, and one for the plug-ins'
# attentions.
POOLS = dict(zip((*ENCODINGS, "others"), POOL_NAMES, strict=True))


def test_every_pool_is_tried(everything: Registry) -> None:
    assert sorted(POOL_NAMES) == sorted(map(str, exportable(everything, "pool")))


@pytest.mark.slow
@pytest.mark.parametrize("pe", ENCODINGS)
def test_every_attention_of_the_zoo_with_every_encoding_of_the_zoo(
    pe: str, everything: Registry, tmp_path: Path
) -> None:
    """One model for each encoding: its layers have the attentions that take it, in turn."""
    registry = built_ins()
    assert set(registry.labels("pe")) == set(ENCODINGS)
    encoding = [registry.choose("pe", pe)]
    attentions = [
        one
        for one in exportable(registry, "attention")
        if not obstacle(cell_of(attention=[one], pe=encoding), 1)
    ]
    assert len(attentions) == len(registry.labels("attention")) - 1 - (pe == "rope")
    pool = [everything.choose("pool", POOLS[pe])]
    export(cell_of(attention=attentions, pe=encoding, pool=pool), len(attentions), tmp_path)


@pytest.mark.slow
def test_every_norm_ffn_and_block_and_the_attentions_of_plugins(
    everything: Registry, tmp_path: Path
) -> None:
    """One model: each of its layers has the next component of every kind, in turn."""
    attentions = of_plugins(exportable(everything, "attention"))
    found = {kind: exportable(everything, kind) for kind in ("norm", "ffn", "block")}
    layers = len(attentions)
    assert layers >= max(map(len, found.values()))
    turns = {kind: [found[kind][i % len(found[kind])] for i in range(layers)] for kind in found}
    pool = [everything.choose("pool", POOLS["others"])]
    export(cell_of(attention=attentions, pool=pool, **turns), layers, tmp_path)


@pytest.mark.slow
def test_the_encodings_of_plugins(everything: Registry, tmp_path: Path) -> None:
    """One model whose layers have them in turn; only one may add to the embeddings."""
    found = of_plugins(exportable(everything, "pe"))
    assert not any(one.can("embed") for one in found)
    export(cell_of(pe=found, ffn=[everything.choose("ffn", "none")]), len(found), tmp_path)


@pytest.mark.slow
def test_what_is_on_the_page_cannot_be_exported(everything: Registry, tmp_path: Path):
    named = {f"{k}/{one}": one for k in AXES for one in components(everything, k)}
    assert refused() <= set(named)
    for name in sorted(refused()):
        cell = cell_of(**{name.partition("/")[0]: [named[name]]})
        with pytest.raises(Exception, match=r"\S"):
            export(cell, 1, tmp_path, "torch")
