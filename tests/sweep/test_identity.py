"""What a trial hangs on: a change of it is another trial, and nothing else is."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from zoo.components.attention.fused import Fused
from zoo.execution.base import Subject
from zoo.registry import Component, Owner, Registry
from zoo.registry.loading import load
from zoo.sweep.keys import plugin_hashes, trial_key

PLUGIN = """\
import functools
import torch
from zoo import hookimpl

class Mine(torch.nn.Module):
    pass

@hookimpl
def zoo_register(register):
    register("attention", "mine", Mine, summary="mine")
    register("norm", "mine", functools.partial(Mine), summary="mine")
"""


def hashes(file: Path) -> dict[str, str]:
    registry = load([file]).registry
    return plugin_hashes([registry.choose("attention", "mine"), registry.choose("norm", "mine")])


def test_a_plugin_is_known_by_its_content(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("ZOO_PLUGINS", "")
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    first, again = hashes(file), hashes(file)
    assert first == again
    assert set(first) == {"mine.py"}
    file.write_text(PLUGIN + "# changed\n")
    assert hashes(file) != first


def test_the_zoos_own_parts_need_no_hash(registry: Registry):
    assert plugin_hashes([registry.choose("attention", "fused")]) == {}


def test_a_partial_stands_in_the_file_of_what_it_wraps():
    wrapped = functools.partial(functools.partial(Fused, heads=2), dropout=0.1)
    component = Component(
        "attention", "part", wrapped, "", "", frozenset(), {}, Owner("somebody", "1")
    )
    assert component.file() is not None
    assert component.file().endswith("attention/fused.py")


@pytest.mark.parametrize(
    "change",
    [
        {"subject": Subject(cell=(("attention", "naive"),))},
        {"seed": 1},
        {"config": {"sizes": {"dim": 32}}},
        {"plugins": {"zoo-mine": "1.0 abc"}},
    ],
)
def test_any_change_of_what_decides_is_another_trial(change: dict):
    same = {
        "subject": Subject(cell=(("attention", "fused"),)),
        "seed": 0,
        "config": {"sizes": {"dim": 16}},
        "plugins": {},
    }
    assert trial_key(**same) == trial_key(**same)
    assert trial_key(**{**same, **change}) != trial_key(**same)
