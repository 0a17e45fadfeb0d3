"""What a result depends on: a change of it makes another key, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import factory
import pytest
from code_copy import changed_file, forget
from small_runs import QUICK, prepared

from zoo.registry import code_hash
from zoo.registry.code_hash import plugin_modules
from zoo.registry.loading import built_ins, load
from zoo.sweep.keys import (
    HARMLESS,
    JOB_CODE,
    OF_COSTS,
    ROOTS,
    code_of,
    result_key,
    stale_rows,
)
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import code_versions

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
CODE = {"models/build.py": "12345678"}


def hashes(file: Path) -> dict[str, str]:
    registry = load([file]).registry
    choices = [registry.choose("attention", "mine"), registry.choose("norm", "mine")]
    return {code.distribution: repr(code) for code in code_versions((), choices)[1:]}


def test_a_plugin_is_known_by_the_content_of_its_file(tmp_path, registry):
    assert plugin_modules([registry.choose("attention", "fused")]) == {}  # the zoo's own
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    first = hashes(file)
    assert hashes(file) == first
    assert set(first) == {"mine.py"}
    file.write_text(PLUGIN.replace("    pass", "    width = 2"))
    assert hashes(file) != first
    file.write_text(PLUGIN + "# changed\n")  # its version is a hash of the whole file
    assert hashes(file) != first


def test_every_component_of_a_pattern_counts(tmp_path):
    files = [tmp_path / f"{name}.py" for name in ("one", "other")]
    for file in files:
        file.write_text(PLUGIN.replace("mine", file.stem))
    registry = load(files).registry
    request = make_request({"norm": "layer/one/other", "layers": 3}, registry)
    (row,) = [row for row in make_plan(request, registry).rows if not row.baseline]
    assert {"one.py", "other.py"} == {name for name, _ in plugin_modules(row.choices)}


@pytest.mark.parametrize("kind", ["train", "cost"])
@pytest.mark.parametrize(
    "change",
    [
        {"kind": "scale"},
        {"model": {"cell": {"attention": "naive"}, "baseline": ""}},
        {"config": {"sizes": {"dim": 32}}},
        {"code": {"models/build.py": "87654321"}},
        {"code": {**CODE, "zoo_mine": "12345678"}},
        {"environment": {**MACHINE, "torch": "3"}},
        {"environment": {**MACHINE, "tokenizers": "1"}},
    ],
    ids=str,
)
def test_every_input_of_a_result_is_in_its_key(kind, change):
    same = {"kind": kind, "model": MODEL, "config": {}, "code": CODE, "environment": MACHINE}
    assert result_key(**same) == result_key(**same)
    assert result_key(**{**same, **change}) != result_key(**same)
    assert len({result_key(*same.values(), more) for more in (0, 1, "reference")}) == 3


def test_options_at_their_defaults_are_in_no_key():
    """A release with one more option reuses what the one before has trained."""
    run = prepared({**QUICK, "keep_duplicates": False})
    (row,) = run.plan.rows
    options = {n: v for n, v in run.config["task_options"].items() if n != "keep_duplicates"}
    keys = []
    for changed in (run.config["task_options"], options, {**options, "head_hidden": 8}):
        run.config = {**run.config, "task_options": changed}
        keys.append(run.key("train", row, run.request.training, 0))
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("field", ["device", "device_name", "threads", "precision"])
def test_costs_depend_on_the_machine_and_trainings_do_not(field):
    def keys(**changes: Any) -> list[str]:
        environment = {**MACHINE, **changes}
        return [result_key(kind, MODEL, {}, CODE, environment) for kind in ("train", "cost")]

    (train, cost), (other_train, other_cost) = keys(), keys(**{field: "other"})
    assert (train == other_train, cost == other_cost) == (True, False)
    # What is not the machine's hardware or software does not decide.
    assert keys(git={"commit": "abc"}, platform="elsewhere") == [train, cost]


ROWS = {
    "rope": {"attention": "fused", "pe": "rope", "task": "classify", "metric": "accuracy"},
    "sin": {"attention": "fused", "pe": "sin", "task": "classify", "metric": "accuracy"},
    "fit": {"baseline": "tfidf-logreg", "task": "classify", "metric": "accuracy"},
    "lm": {"attention": "naive", "pe": "rope", "task": "lm", "metric": "bits_per_byte"},
}
KINDS = ("train", "cost", "scale")


def all_code() -> dict[str, dict[str, str]]:
    """The code that each kind of record of each row depends on, as it is now."""
    registry = built_ins()
    found = {}
    for name, parts in ROWS.items():
        choices = [registry.choose(kind, part) for kind, part in parts.items()]
        builder = registry.choose("task", parts["task"]).build().builder.partition(":")[0]
        for kind in KINDS:
            found[f"{name} {kind}"] = code_of(kind, choices, builder)
    found["init train"] = code_of("train", choices, builder, pretrained=True)
    return found


@pytest.fixture(scope="module")
def before(package) -> dict[str, dict[str, str]]:
    """That code, where nothing is changed."""
    return all_code()


def comment(source: str) -> str:
    return "# a comment\n" + source.replace("\n\n\n", "\n\n\n# another\n\n\n")


def docstring(source: str) -> str:
    changed = source.replace('"""', '"""In other words. ', 1)
    assert changed != source
    return changed.replace('    """', '    """In other words: ', 1)


def new_docstring(source: str) -> str:
    head = "    def __init__(self, trainer: Trainer) -> None:\n"
    assert head in source
    return source.replace(head, f'{head}        """trainer: that of an epoch."""\n')


def statement(source: str) -> str:
    return f"{source}\nCHANGED = True\n"


EVERY = {f"{row} {kind}" for row in ROWS for kind in KINDS} | {"init train"}
TRAININGS = {one for one in EVERY if one.endswith("train")}
NAIVE = {"lm train", "lm cost", "lm scale", "init train"}
ROPE = {f"rope {kind}" for kind in KINDS} | NAIVE
CHANGES: list[tuple[str, Callable[[str], str], set[str]]] = [
    ("training/trainer.py", comment, set()),
    ("training/trainer.py", docstring, set()),
    ("training/trainer.py", new_docstring, set()),
    ("training/trainer.py", statement, EVERY),
    ("components/pe/rope.py", docstring, set()),
    ("components/pe/rope.py", statement, ROPE),
    ("components/pe/sin.py", statement, {f"sin {kind}" for kind in KINDS}),
    ("components/attention/naive.py", statement, NAIVE),
    ("components/attention/base.py", statement, EVERY),
    ("components/baseline/tfidf_logreg.py", statement, {f"fit {kind}" for kind in KINDS}),
    ("tasks/classify.py", statement, EVERY - NAIVE),
    ("tasks/metrics.py", statement, TRAININGS),
    ("data/batches.py", statement, EVERY),
    ("data/tokenizer.py", statement, EVERY),
    ("data/sources/newswire.py", statement, set()),
    ("models/build.py", statement, EVERY),
    ("registry/cell.py", statement, EVERY),
    ("registry/loading.py", statement, set()),
    ("execution/train_job.py", statement, TRAININGS),
    ("execution/pretrain.py", statement, {"init train"}),
    ("execution/open_setup.py", statement, EVERY),
    ("execution/machine.py", statement, EVERY),
    ("execution/process.py", statement, set()),
    ("execution/cost_steps.py", docstring, set()),
    ("execution/cost_steps.py", statement, EVERY - TRAININGS),
    ("measure/memory.py", statement, EVERY - TRAININGS),
    ("execution/cost_job.py", statement, EVERY - TRAININGS),
    ("sweep/cost.py", statement, {one for one in EVERY if one.endswith("scale")}),
    ("sweep/run.py", statement, set()),
    ("report/rows.py", statement, set()),
    ("cli/bench.py", statement, set()),
]


def test_all_the_code_that_is_named_is_there():
    named = {*JOB_CODE, *HARMLESS, *OF_COSTS, *(path for paths in ROOTS.values() for path in paths)}
    assert [path for path in named if not (code_hash.PACKAGE / path).exists()] == []


@pytest.mark.parametrize(("file", "change", "changed"), CHANGES)
def test_records_depend_on_the_code_that_makes_their_numbers(
    package, before, file, change, changed
):
    with changed_file(package / file, change((package / file).read_text())):
        after = all_code()
    assert {name for name in before if after[name] != before[name]} == changed
    for name in changed:
        assert {one for one in before[name] if after[name][one] != before[name][one]} == {file}


@pytest.mark.parametrize(
    ("place", "counts"), [("def later():\n    ", True), ("if TYPE_CHECKING:\n    ", False)]
)
def test_a_module_counts_once_it_is_imported(package, before, place, counts):
    rope, turns = (package / "components" / "pe" / name for name in ("rope.py", "turns.py"))
    turns.write_text("X = 1\n")
    forget()
    assert all_code() == before
    source = f"{rope.read_text()}\n{place}from zoo.components.pe.turns import X\n"
    with changed_file(rope, source):
        after = all_code()["rope train"]
    turns.unlink()
    more = {"components/pe/turns.py"} if counts else set()
    assert set(after) - set(before["rope train"]) == more


def test_each_rate_of_a_row_on_streamed_data_is_work_of_its_own():
    records = factory.streamed(factory.cell(), {0.001: [None, None], 0.01: [800, None]})
    (counts,) = stale_rows(records).values()  # they have no hashes
    assert counts["train"] == 4
