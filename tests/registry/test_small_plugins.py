"""A new attention, diagnostic, metric, task and command are one small file each."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from distributions import install
from sandbox import run_zoo
from small_runs import CLASSIFY, bench

FILES = sorted((Path(__file__).parent / "small").glob("*.py"))
PARTS = [file for file in FILES if file.stem != "my_command"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_small_and_imports_no_private_name(file):
    text = file.read_text("utf-8")
    assert len(text.splitlines()) <= 30
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += (getattr(node, "module", "") or "").split(".")
            assert not [name for name in names if name.startswith("_")], ast.unparse(node)


def test_they_are_listed(capsys):
    plugins = [word for file in PARTS for word in ("--plugin", str(file))]
    found = json.loads(run_zoo("list", "--json", *plugins, plugins="").stdout)
    assert {
        ("attention", "my-linear-relu", "my_attention.py"),
        ("data", "my-ends", "my_diagnostic.py"),
        ("metric", "worst_class", "my_metric.py"),
        ("task", "my-fair", "my_task.py"),
    } <= {(each["kind"], each["name"], each["owner"]["distribution"]) for each in found}


def test_one_bench_runs_them_all(tmp_path):
    options = {
        **{name: value for name, value in CLASSIFY.items() if name != "baseline"},
        "task": "my-fair",
        "data": "my-ends(train=40)",
        "attention": "my-linear-relu(floor=0.01),fused",
        "baseline": "none",
        "phases": "train",
        "epochs": 1,
    }
    records = bench(tmp_path, options, plugins=tuple(PARTS)).records
    assert [(r.status, r.reason) for r in records] == [("ok", "")] * 2
    assert records[0].cell["attention"] == "my-linear-relu(floor=0.01)"
    for record in records:
        assert record.metric_descriptions[0].label == "worst class"
        assert 0 <= record.metrics["worst_class"] <= record.metrics["accuracy"]
        assert record.config["data"]["train"] == 40


def test_the_attention_passes_its_checks():
    (file,) = [file for file in PARTS if file.stem == "my_attention"]
    only = ["padding-invariance", "causality", "contract"]
    words = [word for name in only for word in ("--only", name)]
    done = run_zoo("check", "attention/my-linear-relu", "--plugin", str(file), *words, plugins="")
    assert done.returncode == 0, done.stdout


def test_the_command_is_one_of_zoo(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (file,) = [file for file in FILES if file.stem == "my_command"]
    name = install(tmp_path, "zoo-count-parts", file.read_text("utf-8"))
    done = run_zoo("count-parts", "pool", plugins=name)
    assert (done.returncode, done.stdout) == (0, "2 of pool\n")
    assert "Count the parts of a kind." in run_zoo("--help", plugins=name).stdout
