"""What a result depends on: a change of it makes another key, and nothing else does."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.components.attention.fused import Fused
from zoo.registry import Component, Owner, Registry, code_hash
from zoo.registry.code_hash import hash_of, plugin_hashes
from zoo.registry.loading import load
from zoo.sweep.keys import (
    COST_CODE,
    JOB_CODE,
    SCALE_CODE,
    TRAINING_CODE,
    cost_key,
    digest,
    training_key,
)
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan

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
MODEL = {"cell": {"attention": "fused"}, "baseline": ""}
MACHINE = {"device": "cpu", "device_name": "a CPU", "threads": 1, "torch": "2", "precision": "fp32"}


def hashes(file: Path) -> dict[str, str]:
    registry = load([file]).registry
    return plugin_hashes([registry.choose("attention", "mine"), registry.choose("norm", "mine")])


def test_a_plugin_is_known_by_the_content_of_its_file(tmp_path: Path, registry: Registry) -> None:
    assert plugin_hashes([registry.choose("attention", "fused")]) == {}  # the zoo's own
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    first = hashes(file)
    assert hashes(file) == first
    assert set(first) == {"mine.py"}
    file.write_text(PLUGIN.replace("    pass", "    width = 2"))
    assert hashes(file) != first
    file.write_text(PLUGIN + "# changed\n")  # its version is a hash of the whole file
    assert hashes(file) != first


def test_every_component_of_a_pattern_counts(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.py" for name in ("one", "other")]
    for file in files:
        file.write_text(PLUGIN.replace("mine", file.stem))
    registry = load(files).registry
    request = make_request({"norm": "layer/one/other", "layers": 3}, registry)
    (row,) = [row for row in make_plan(request, registry).rows if not row.model.baseline]
    assert {"one.py", "other.py"} == set(plugin_hashes(row.choices))


def test_the_file_of_a_partial_is_that_of_what_it_wraps() -> None:
    wrapped = functools.partial(functools.partial(Fused, heads=2), dropout=0.1)
    component = Component("attention", "part", wrapped, "", Owner("somebody", "1"))
    assert component.file() is not None
    assert component.file().endswith("attention/fused.py")


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"cell": {"attention": "naive"}, "baseline": ""}},
        {"seed": 1},
        {"config": {"sizes": {"dim": 32}}},
        {"plugins": {"zoo-mine": "1.0 abc"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_input_of_a_training_is_in_its_key(change: dict[str, Any]) -> None:
    same = {"model": MODEL, "seed": 0, "config": {"sizes": {"dim": 16}}, "plugins": {}}
    assert training_key(**same) == training_key(**same)
    assert training_key(**{**same, **change}) != training_key(**same)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "scale"},
        {"config": {"sizes": {"dim": 32}}},
        *({"environment": {**MACHINE, name: "other"}} for name in MACHINE),
    ],
    ids=str,
)
def test_every_input_of_a_cost_is_in_its_key(change: dict[str, Any]) -> None:
    same = {
        "kind": "cost", "model": MODEL, "config": {}, "plugins": {}, "environment": MACHINE
    }  # fmt: skip
    assert cost_key(**{**same, **change}) != cost_key(**same)
    # What is not the machine's hardware or software does not decide.
    other_commit = {**MACHINE, "git": {"commit": "abc"}, "platform": "elsewhere"}
    assert cost_key(**{**same, "environment": other_commit}) == cost_key(**same)
    assert cost_key(*same.values(), "reference") != cost_key(*same.values())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of some of the zoo's code, from which keys are made."""
    for file in CODE:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(code_hash.PACKAGE / file, tmp_path / file)
    monkeypatch.setattr(code_hash, "PACKAGE", tmp_path)
    return tmp_path


def all_keys() -> dict[str, str]:
    """The keys of the same work, of every kind."""
    hash_of.cache_clear()
    return {
        "train": training_key(MODEL, 0, {}, {}),
        "cost": cost_key("cost", MODEL, {}, {}, MACHINE),
        "scale": cost_key("scale", MODEL, {}, {}, MACHINE),
    }


def comment(source: str) -> str:
    return "# a comment\n" + source.replace("\n\n\n", "\n\n\n# another\n\n\n")


def docstring(source: str) -> str:
    changed = source.replace('"""', '"""In other words. ', 1)
    assert changed != source
    return changed.replace('    """', '    """In other words: ', 1)


def new_docstring(source: str) -> str:
    head = "    def _lr(self) -> float:\n"
    assert head in source
    return source.replace(head, f'{head}        """The learning rate of the next step."""\n')


def statement(source: str) -> str:
    return f"{source}\nCHANGED = True\n"


CHANGES = [
    ("training/trainer.py", comment, ""),
    ("training/trainer.py", docstring, ""),
    ("training/trainer.py", new_docstring, ""),
    ("training/trainer.py", statement, "train cost scale"),
    ("tasks/classify.py", statement, "train cost scale"),
    ("components/attention/fused.py", statement, "train cost scale"),
    ("data/batches.py", statement, "train cost scale"),
    ("models/build.py", statement, "train cost scale"),
    ("registry/cell.py", statement, "train cost scale"),
    ("execution/train_job.py", statement, "train cost scale"),
    ("execution/open_setup.py", statement, "train cost scale"),
    ("execution/worker.py", statement, "train cost scale"),
    ("measure/timing.py", docstring, ""),
    ("measure/timing.py", statement, "cost scale"),
    ("measure/memory.py", statement, "cost scale"),
    ("execution/cost_job.py", statement, "cost scale"),
    ("execution/cost_steps.py", statement, "cost scale"),
    ("sweep/cost.py", statement, "scale"),
    ("report/__init__.py", statement, ""),
    ("cli/bench.py", statement, ""),
    ("sweep/run.py", statement, ""),
]
CODE = {file for file, _, _ in CHANGES}


def test_all_the_code_that_keys_name_is_there() -> None:
    for part in {*TRAINING_CODE, *COST_CODE, *SCALE_CODE, *JOB_CODE}:
        assert (code_hash.PACKAGE / part).exists(), part


@pytest.mark.parametrize(("file", "change", "changed"), CHANGES)
def test_keys_follow_the_code_that_makes_the_number(
    package: Path, file: str, change: Callable[[str], str], changed: str
) -> None:
    before = all_keys()
    path = package / file
    path.write_text(change(path.read_text()))
    after = all_keys()
    assert [kind for kind in before if after[kind] != before[kind]] == changed.split()


def test_files_that_are_added_or_renamed_and_descriptions_change_the_key(package: Path) -> None:
    keys = [all_keys()]
    (package / "training" / "more.py").write_text("X = 1\n")
    keys.append(all_keys())
    (package / "training" / "more.py").rename(package / "training" / "other.py")
    keys.append(all_keys())
    (package / "data" / "built_in.toml").write_text("[order]\nparameters = { seed = 1 }\n")
    keys.append(all_keys())
    for kind in keys[0]:
        assert len({found[kind] for found in keys}) == 4, kind


def test_a_file_that_is_not_python_still_counts(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def broken(:\n")
    first = hash_of(file)
    file.write_text("def broken(:  # changed\n")
    hash_of.cache_clear()
    assert hash_of(file) != first


def test_a_digest_depends_on_content_and_not_on_order() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest({"a": 1, "b": [1, 2]}) != digest({"a": 1, "b": [2, 1]})
