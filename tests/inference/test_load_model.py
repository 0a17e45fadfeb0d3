"""A directory that is damaged, or needs components that are missing or changed, is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from refused import refusal, refused
from saved_models import PLUGIN, change_config, change_weights, note_weights

import zoo
from zoo.components.attention.fused import Fused
from zoo.inference.saved_model import WEIGHTS, load_from
from zoo.registry import Owner, Register, Registry


def truncated(name: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        content = (directory / name).read_bytes()
        (directory / name).write_bytes(content[: len(content) // 2])

    return damage


def with_config(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    return lambda directory: change_config(directory, change)


def with_weights(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    return lambda directory: change_weights(directory, change)


def pickled(directory: Path) -> None:
    torch.save({"weights": torch.ones(3)}, directory / WEIGHTS)
    note_weights(directory)


RUNS_CODE = "encoder-zoo:rope(base=__import__('os').mkdir('ran'))"
DAMAGE = {
    "not there": (shutil.rmtree, "no directory"),
    "empty": (lambda d: [f.unlink() for f in d.iterdir()], "holds no model: config.json"),
    "config cut short": (truncated("config.json"), "cannot be read, it may be cut short"),
    "not JSON": (lambda d: (d / "config.json").write_bytes(b"\xff\x00"), "cannot be read"),
    "of another library": (
        lambda d: (d / "config.json").write_text('{"model_type": "bert"}'),
        "does not describe a model",
    ),
    "of another version": (
        with_config(lambda c: c.update(schema_version=2)),
        "schema_version: Input should be 3",
    ),
    "a field too many": (with_config(lambda c: c.update(extra=1)), "extra"),
    "a field too few": (with_config(lambda c: c.pop("labels")), "labels"),
    "no attention": (
        with_config(lambda c: c["parts"].pop("pe")),
        "cannot be built here",
    ),
    "an empty pattern": (
        with_config(lambda c: c["parts"].update(attention=[])),
        "cannot be built here",
    ),
    "weights cut short": (truncated("model.safetensors"), "model.safetensors is damaged"),
    "weights pickled": (pickled, "files do not match"),
    "tokenizer missing": (lambda d: (d / "tokenizer.json").unlink(), "is missing"),
    "other sizes": (with_config(lambda c: c["sizes"].update(ffn_dim=64)), "do not match"),
    "impossible sizes": (with_config(lambda c: c["sizes"].update(heads=3)), "cannot be built"),
    "a weight missing": (with_weights(lambda t: t.popitem()), "do not match"),
    "other weights": (
        with_weights(lambda t: [w.mul_(1.1) for w in t.values()]),
        "gives other outputs here than when it was saved",
    ),
    "a component nobody has": (
        with_config(lambda c: c["parts"].update(pe=["encoder-zoo:rop"])),
        "no pe 'encoder-zoo:rop'",
    ),
    "a plug-in nobody has": (
        with_config(lambda c: c["parts"].update(pe=["zoo-far:near"])),
        "no pe 'zoo-far:near'",
    ),
    "a task nobody has": (with_config(lambda c: c.update(task="nobodys")), "no task 'nobodys'"),
    "another task": (
        with_config(lambda c: c.update(task="seq2seq")),
        "no option ",
    ),
    "code for a parameter": (
        with_config(lambda c: c["parts"].update(pe=[RUNS_CODE])),
        "must be of type",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_directory_without_an_intact_model_is_refused_in_one_line(
    damage, message, copied, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    damage(copied)
    line = refusal(lambda: zoo.load(copied))
    assert message in line
    assert str(copied) in line
    assert not (tmp_path / "ran").exists()


def test_a_file_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    refused("holds no model", zoo.load, tmp_path / "model.safetensors")


def test_a_plug_in_file_must_be_given_and_unchanged(mapless, tmp_path):
    directory, plugin = mapless
    assert zoo.load(directory, plugins=[plugin]).labels == ["market", "music", "sport"]
    refused(
        r"trained with encoder-zoo .*, mapless\.py .*plug-in file with --plugin",
        zoo.load,
        directory,
    )
    changed = tmp_path / "mapless.py"
    changed.write_text(PLUGIN.format(scale=2.0))
    refused("gives other outputs here", zoo.load, directory, plugins=[changed])
    assert zoo.load(directory, plugins=[changed], allow_changed=True).labels


class Scaled(Fused):
    def attend(self, q, k, v, mask, bias):
        return 1.5 * super().attend(q, k, v, mask, bias)


def test_a_changed_built_in_is_found_by_the_models_outputs(copied, registry):
    changed = Registry()
    for component in registry.components("attention"):
        register = Register(Owner("encoder-zoo", "0.2.0"))
        factory = Scaled if component.name == "fused" else component.factory
        capabilities = component.capabilities
        register("attention", component.name, factory, summary="", capabilities=capabilities)
        changed.admit(register)
    for axis in ("pe", "norm", "ffn", "block", "pool", "task"):
        for component in registry.components(axis):
            register = Register(component.owner)
            register.components.append(component)
            changed.admit(register)
    change_config(copied, lambda c: c["versions"].update({"encoder-zoo": "0.1"}))
    says = r"gives other outputs here.*; it was trained with encoder-zoo 0.1"
    refused(says, load_from, copied, changed)
    assert load_from(copied, changed, allow_changed=True).labels


def test_the_command_can_allow_it(copied, rows, refused_command):
    change_config(copied, lambda c: c["sample_outputs"].update(scores=[[0, 0, 0], [0, 0, 0]]))
    assert "--allow-changed" in refused_command("predict", copied, "a goal")
    (found,) = rows(copied, "a goal", "--allow-changed")
    assert found["text"] == "a goal"
