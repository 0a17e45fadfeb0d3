"""``zoo stale``: which records of a run are not of the code that is here now."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from code_copy import changed_file
from factory import train_record, write_records
from small_runs import CLASSIFY, bench, executor_plugin

from zoo.cli import main
from zoo.sweep.records import FILE

PLUGIN = '''
from zoo import hookimpl
from zoo.components.pool.pools import Mean

class Mine(Mean):
    """A mean."""

@hookimpl
def zoo_register(register):
    register("pool", "mine", Mine, summary="mine")
'''
ROPE = "fused+rope+layer+gelu+pre+mean"
SIN, MINE = (f"fused+sin+layer+gelu+pre+{pool}" for pool in ("mean", "mine"))
BASELINE = "majority"
OLD = "made before the hashes of code were kept"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three cells, of which one has a part of a plug-in, and a baseline; trained and measured."""
    root = tmp_path_factory.mktemp("made")
    plugin = root / "mine.py"
    plugin.write_text(PLUGIN)
    options = {
        **CLASSIFY,
        "data": "newswire(train=24,test=8)",
        "epochs": 1,
        "design": "one-factor",
        "attention": "fused",
        "pe": "sin,rope",
        "pool": "mean,mine",
        "baseline": BASELINE,
        "blocks": 1,
    }
    executor = executor_plugin(root, "made-up", "made_up_costs:MadeUpCosts")
    run = bench(root / "run", options, on="made-up", plugins=(plugin, executor))
    assert {record.status for record in run.records} == {"ok"}
    return root


@pytest.fixture
def stale(made, capsys) -> Callable[..., dict[str, Any]]:
    """Row to its stale records, by kind, and what has changed."""

    def call(directory: Path | None = None, plugin: Path | None = None) -> dict[str, Any]:
        files = ["--plugin", str(plugin or made / "mine.py")]
        status = main(["stale", str(directory or made), *files, "--json"])
        found = json.loads(capsys.readouterr().out)
        assert status == (1 if found else 0)
        return {each["row"]: (each["records"], each["changes"]) for each in found}

    return call


BOTH = {"train": 1, "cost": 1}


def kinds(row: str) -> dict[str, int]:
    """A baseline that fits itself has no cost."""
    return {"train": 1} if row == BASELINE else BOTH


@pytest.mark.parametrize(
    ("file", "more", "rows"),
    [
        ("training/trainer.py", "# a comment\n", []),
        ("components/pe/rope.py", "CHANGED = True\n", [ROPE]),
        ("training/trainer.py", "CHANGED = True\n", [ROPE, SIN, MINE, BASELINE]),
    ],
)
def test_a_change_of_code_makes_the_rows_stale_that_depend_on_it(file, more, rows, stale, package):
    assert stale() == {}
    with changed_file(package / file, (package / file).read_text() + more):
        assert stale() == {row: (kinds(row), [f"{file} changed"]) for row in rows}


def test_a_cost_depends_on_the_reference_that_is_measured_beside_it(stale, package):
    changes = ["components/pe/sin.py removed"]
    with changed_file(package / "components" / "pe" / "sin.py", None):
        assert stale() == {
            SIN: (BOTH, changes),
            MINE: (BOTH, changes),
            ROPE: ({"cost": 1}, changes),
        }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text, None),
        (lambda text: text.replace("A mean.", "In other words.") + "# a comment\n", None),
        (lambda text: text.replace("(Mean):", "(Mean):\n    scale = 2"), "mine.py changed"),
        (None, "mine.py not given here (--plugin)"),
    ],
    ids=["same", "docstring", "other", "not given"],
)
def test_a_plug_in_file_counts_as_a_whole(change, says, stale, tmp_path):
    plugin = tmp_path / ("mine.py" if change else "other.py")
    plugin.write_text(change(PLUGIN) if change else PLUGIN)
    assert stale(plugin=plugin) == ({MINE: (BOTH, [says])} if says else {})


@pytest.mark.parametrize("library", ["torch", "tokenizers"])
def test_another_version_of_a_library_makes_records_stale(library, made, stale, tmp_path):
    lines = (made / "run" / FILE).read_text().splitlines()
    old = json.loads(lines[0])
    old["environment"][library] = "0.1"
    (tmp_path / FILE).write_text("\n".join([json.dumps(old), *lines[1:]]) + "\n")
    ((_, changes),) = stale(tmp_path).values()
    assert changes == [f"{library} 0.1, here {version(library)}"]


def test_what_a_person_reads(made, tmp_path, said):
    assert said("stale", made, "--plugin", made / "mine.py").out == "No record is stale.\n"
    write_records(tmp_path / "old", [train_record("rope", seed, 5) for seed in (0, 1)])
    row, count = said("stale", tmp_path, status=1).out.splitlines()
    assert row.startswith(f"{tmp_path / 'old' / FILE}: ")
    assert row.endswith(f": 2 train: {OLD}")
    assert count == "Stale: 2 records."
    assert "mine.py not given here (--plugin)" in said("stale", made, status=1).out
    absent = tmp_path / "absent.py"
    assert "absent.py: no such file" in said("stale", made, "--plugin", absent, status=2).err
    (tmp_path / "empty").mkdir()
    assert "empty: no records.jsonl" in said("stale", tmp_path / "empty", made, status=2).err
