"""A new attention, diagnostic, metric, task and command are one small file each."""

import ast
from pathlib import Path

import numpy as np
import pytest
from distributions import install
from sandbox import run_zoo
from small_runs import CLASSIFY, bench

from zoo.registry import scaffold
from zoo.registry.loading import load

SMALL = Path(__file__).parent / "small"
SCAFFOLD = Path(scaffold.__file__).parent  # `zoo new` writes copies of these
PARTS = [SMALL / "my_attention.py", *(SCAFFOLD / f"{k}.py" for k in ("data", "metric", "task"))]


@pytest.mark.parametrize("file", [SMALL / "my_command.py", *PARTS], ids=lambda file: file.stem)
def test_it_is_small_and_imports_no_private_name(file):
    text = file.read_text("utf-8")
    assert len(text.splitlines()) <= 50
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += (getattr(node, "module", "") or "").split(".")
            private = [name for name in names if name.startswith("_") and name != "__future__"]
            assert not private, ast.unparse(node)


def test_one_bench_runs_them_all(tmp_path):
    options = {
        **{name: value for name, value in CLASSIFY.items() if name != "baseline"},
        "task": "my-task",
        "data": "my-data(train=40,test=20)",
        "attention": "my-attention(temperature=3.0),fused",
        "baseline": "none",
        "phases": "train",
        "epochs": 1,
    }
    records = bench(tmp_path, options, plugins=tuple(PARTS)).records
    assert [(r.status, r.reason) for r in records] == [("ok", "")] * 2
    assert records[0].cell["attention"] == "my-attention(temperature=3.0)"
    for record in records:
        assert record.metric_descriptions[0].name == "macro_f1"
        assert record.config["data"]["train"] == 40


def test_the_metric_is_the_lowest_recall():
    (metric,) = [file for file in PARTS if file.stem == "metric"]
    choice = load([metric]).registry.choose("metric", "my-metric")
    labels, predicted = np.array([0, 0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 0, 2])
    assert choice.build().compute({"labels": labels, "predicted": predicted}) == 0.5


def test_the_command_is_one_of_zoo(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = install(tmp_path, "zoo-count-parts", (SMALL / "my_command.py").read_text("utf-8"))
    done = run_zoo("count-parts", "pool", plugins=name)
    assert (done.returncode, done.stdout) == (0, "2 of pool\n")
    assert "Count the parts of a kind." in run_zoo("--help", plugins=name).stdout
