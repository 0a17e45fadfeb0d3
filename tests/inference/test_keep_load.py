"""Whatever is not a sound model of components that are here is refused in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from kept import PLUGIN, change_config
from safetensors.torch import load_file, save_file

import zoo
from zoo.cli import main
from zoo.components.attention.fused import Fused
from zoo.inference.load import load_from
from zoo.registry import Owner, Register, Registry
from zoo.sweep.keys import component_hash


def cut(name: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        content = (directory / name).read_bytes()
        (directory / name).write_bytes(content[: len(content) // 2])

    return damage


def with_config(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    return lambda directory: change_config(directory, change)


def with_weights(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    """Other weights, vouched for as the file that was saved."""

    def swap(directory: Path) -> None:
        file = directory / "model.safetensors"
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        change_config(directory, lambda c: c["files"].update({file.name: digest}))

    return swap


def pickled(directory: Path) -> None:
    torch.save({"weights": torch.ones(3)}, directory / "model.safetensors")
    digest = hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest()
    change_config(directory, lambda c: c["files"].update({"model.safetensors": digest}))


RUNS_CODE = "encoder-zoo:rope(base=__import__('os').mkdir('ran'))"
DAMAGE = {
    "not there": (shutil.rmtree, "no directory"),
    "empty": (lambda d: [f.unlink() for f in d.iterdir()], "holds no model: it has no config"),
    "config cut short": (cut("config.json"), "cannot be read, it may be cut short"),
    "not JSON": (lambda d: (d / "config.json").write_bytes(b"\xff\x00"), "cannot be read"),
    "a list": (lambda d: (d / "config.json").write_text("[]"), "is not the zoo's"),
    "of another library": (
        lambda d: (d / "config.json").write_text('{"model_type": "bert"}'),
        "is not the zoo's",
    ),
    "newer": (
        with_config(lambda c: c.update(schema_version=2, attention_sink=True)),
        "written by a newer zoo (schema 2; this one reads 1): upgrade",
    ),
    "a field too many": (with_config(lambda c: c.update(extra=1)), "extra"),
    "a field too few": (with_config(lambda c: c.pop("labels")), "labels"),
    "negative length": (with_config(lambda c: c["sizes"].update(max_length=-1)), "max_length"),
    "no attention": (with_config(lambda c: c["parts"].pop("attention")), "names no attention"),
    "weights cut short": (cut("model.safetensors"), "model.safetensors is damaged"),
    "weights missing": (lambda d: (d / "model.safetensors").unlink(), "is missing"),
    "weights pickled": (pickled, "does not fit"),
    "tokenizer cut short": (cut("tokenizer.json"), "tokenizer.json is damaged"),
    "tokenizer missing": (lambda d: (d / "tokenizer.json").unlink(), "is missing"),
    "other sizes": (with_config(lambda c: c["sizes"].update(hidden=64)), "does not fit"),
    "impossible sizes": (with_config(lambda c: c["sizes"].update(heads=3)), "cannot be built"),
    "a weight missing": (with_weights(lambda t: t.popitem()), "does not fit"),
    "other weights": (
        with_weights(lambda t: [w.mul_(1.1) for w in t.values()]),
        "gives other scores here than when it was saved",
    ),
    "a component nobody has": (
        with_config(lambda c: c["parts"]["pe"].update(choice="encoder-zoo:rop")),
        "needs pe 'rop' of encoder-zoo",
    ),
    "a plug-in nobody has": (
        with_config(
            lambda c: c["parts"]["pe"].update(choice="zoo-far:near", owner="zoo-far", version="3.1")
        ),
        "needs pe 'near' of zoo-far 3.1, which is not among the plug-ins here",
    ),
    "code for a parameter": (
        with_config(lambda c: c["parts"]["pe"].update(choice=RUNS_CODE)),
        "must be a plain value",
    ),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=DAMAGE)
def test_a_directory_that_is_no_sound_model_is_one_line(
    damage: Callable[[Path], Any],
    told: str,
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    monkeypatch.chdir(tmp_path)
    damage(kept)
    with pytest.raises(zoo.ZooError) as raised:
        zoo.load(kept)
    assert told in str(raised.value)
    assert str(kept) in str(raised.value)
    assert main(["predict", str(kept), "some text"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1), printed.err
    assert not (tmp_path / "ran").exists()


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(zoo.ZooError, match="holds no model"):
        zoo.load(tmp_path / "model.safetensors")


def test_a_plug_in_file_must_be_named_again_and_be_the_same(
    mapless: tuple[Path, Path], tmp_path: Path
) -> None:
    directory, plugin = mapless
    assert zoo.load(directory, plugins=[plugin]).labels == ["market", "music", "sport"]
    with pytest.raises(zoo.ZooError, match=r"plug-in file mapless\.py: name it with --plugin"):
        zoo.load(directory)
    changed = tmp_path / "mapless.py"
    changed.write_text(PLUGIN.format(scale=2.0))
    with pytest.raises(zoo.ZooError, match=r"trained with attention 'mapless' of mapless\.py"):
        zoo.load(directory, plugins=[changed])
    assert zoo.load(directory, plugins=[changed], allow_changed=True).labels


def foreign(registry: Registry, kept: Path, version: str) -> Registry:
    """The zoo with a ``zoo-far`` of that version, whose ``far`` the kept model has at 1.0."""
    register = Register(Owner("zoo-far", version))
    register("attention", "far", Fused, summary="far", capabilities=("rotate", "padding", "cross"))
    registry.admit(register)
    code = component_hash(registry.choose("attention", "far"))
    part = {"choice": "zoo-far:far", "owner": "zoo-far", "version": "1.0", "code": code}
    change_config(kept, lambda c: c["parts"].update(attention=part))
    return registry


def test_a_component_of_another_version_is_refused_until_it_is_allowed(
    kept: Path, registry: Registry
) -> None:
    newer = foreign(registry, kept, "1.1")
    with pytest.raises(
        zoo.ZooError,
        match=r"trained with attention 'far' of zoo-far 1\.0, and here is 1\.1: install 1\.0",
    ):
        load_from(kept, newer)
    assert load_from(kept, newer, allow_changed=True).labels


def test_a_component_of_the_same_version_is_welcome_until_its_code_differs(
    kept: Path, registry: Registry
) -> None:
    same = foreign(registry, kept, "1.0")
    assert load_from(kept, same).labels
    change_config(kept, lambda c: c["parts"]["attention"].update(code="other"))
    with pytest.raises(zoo.ZooError, match="other code of attention 'far'"):
        load_from(kept, same)


class Louder(Fused):
    def attend(self, q, k, v, mask, bias):
        return 1.5 * super().attend(q, k, v, mask, bias)


def test_a_built_in_that_computes_something_else_is_known_by_its_answers(
    kept: Path, registry: Registry
) -> None:
    changed = Registry()
    for component in registry.components("attention"):
        register = Register(Owner("encoder-zoo", "0.2.0"))
        factory = Louder if component.name == "fused" else component.factory
        able = component.capabilities
        register("attention", component.name, factory, summary="", capabilities=able)
        changed.admit(register)
    for axis in ("pe", "norm", "ffn", "block", "pool"):
        for component in registry.components(axis):
            register = Register(component.owner)
            register.components.append(component)
            changed.admit(register)
    with pytest.raises(zoo.ZooError, match=r"gives other scores here.*attention \(encoder-zoo"):
        load_from(kept, changed)
    assert load_from(kept, changed, allow_changed=True).labels


def test_the_command_can_be_told_to_allow_it(kept: Path, capsys) -> None:
    change_config(kept, lambda c: c["witness"].update(logits=[[0, 0, 0], [0, 0, 0]]))
    assert main(["predict", str(kept), "a goal"]) == 2
    assert "--allow-changed" in capsys.readouterr().err
    assert main(["predict", str(kept), "a goal", "--allow-changed", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "a goal"
