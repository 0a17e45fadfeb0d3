"""``--save-models``: the models of a run can be loaded, and an interruption loses none."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_runs import CLASSIFY, Stop, StopAfter, result_of

import zoo
from zoo.api import run_bench
from zoo.execution.base import Ended
from zoo.registry.loading import load
from zoo.report.run_report import RunReport
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Silent
from zoo.sweep.records import Record, RecordFile
from zoo.sweep.run import Run

PAIR = {**CLASSIFY, "attention": "fused,naive", "pe": "sin", "seeds": 2, "phases": "train"}


def run(out: Path, corpus: Path, **options: Any) -> Run:
    progress = options.pop("progress", Silent())
    loaded = load()
    request = make_request({**PAIR, "data": str(corpus), **options}, loaded.registry)
    on = loaded.registry.choose("executor", "inline")
    settings = {"name": "", "on": on, "out": out, "fresh": False}
    (done,) = run_bench([request], loaded, progress, **settings).runs
    return done


def cells(outcome: Run) -> list[Record]:
    return [record for record in outcome.records if record.cell]


def names(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "models").iterdir())


@pytest.fixture(scope="module")
def everything(tmp_path_factory, corpus) -> Path:
    """The directory of a run that kept all models."""
    out = tmp_path_factory.mktemp("all") / "out"
    run(out, corpus, save_models="all")
    return out


@pytest.fixture
def copied(everything, tmp_path) -> Path:
    return Path(shutil.copytree(everything, tmp_path / "copied"))


def test_every_model_predicts_what_its_record_says_and_tables_say_where_it_is(everything, corpus):
    records = [record for record in RecordFile(everything).read() if record.cell]
    assert len({record.model for record in records}) == 4
    test = pd.read_csv(corpus / "test.csv")
    for record in records:
        model = zoo.load(everything / record.model)
        assert (model.card.key, model.card.seed) == (record.key, record.seed)
        assert model.card.metrics["accuracy"] == record.metrics["accuracy"]
        predicted = [p.label for p in model.predict(test.text)]
        wrong = [row for row, label in enumerate(test.label) if label != predicted[row]]
        assert wrong == [error[0] for error in record.metrics["errors"]]
    table = pd.read_csv(everything / "table.csv")
    kept = table[table.baseline.isna()].model
    assert all((everything / place / "model.safetensors").is_file() for place in kept)
    best = RunReport(records).best
    note = "4 models kept in this directory, for zoo predict; of the best row: "
    assert note + best.trained[0].model in (everything / "table.md").read_text()
    assert not (everything / "unfinished").exists()


def test_a_run_that_kept_no_models_trains_again_only_what_it_keeps_now(tmp_path, corpus):
    out = tmp_path / "out"
    before = run(out, corpus)
    assert not {path.name for path in out.iterdir()} & {"models", "unfinished"}
    assert "model" not in RunReport(before.records).table.columns
    after = run(out, corpus, save_models="best")
    assert after.trained == 2
    assert {r.name for r in cells(after) if r.model} == {RunReport(after.records).best.name}
    assert [result_of(r) for r in after.records] == [result_of(r) for r in before.records]
    whole = run(out, corpus, save_models="all")
    assert whole.trained == 2
    assert all(record.model for record in cells(whole))
    assert len(names(out)) == 4
    assert run(out, corpus, save_models="all").trained == 0


def test_a_model_that_is_missing_or_has_no_record_costs_one_training_each(copied, corpus):
    """Deleted by somebody, and left by a kill between model and record."""
    first = names(copied)[0]
    weights = (copied / "models" / first / "model.safetensors").read_bytes()
    (copied / "models" / first / "model.safetensors").unlink()
    shutil.rmtree(copied / "models" / names(copied)[1])
    file = copied / "records.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    model = json.dumps(f"models/{names(copied)[-1]}")
    file.write_text("".join(line for line in lines if model not in line))
    leave = (
        "import os, pathlib, sys, zoo.files; "
        "draft = zoo.files.draft_directory(pathlib.Path(sys.argv[1])); "
        "draft.__enter__(); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", leave, copied / "models" / "something"], check=False)
    (draft,) = copied.glob("models/.something.*.draft")
    outcome = run(copied, corpus, save_models="all")
    assert outcome.trained == 3
    assert not draft.exists()
    assert (copied / "models" / first / "model.safetensors").read_bytes() == weights
    assert all((copied / record.model / "config.json").is_file() for record in cells(outcome))


@pytest.mark.parametrize("which", ["best", "all"])
def test_an_interrupted_run_ends_with_all_its_models(which, tmp_path, corpus):
    out = tmp_path / "out"
    with pytest.raises(Stop):
        run(out, corpus, save_models=which, progress=StopAfter(Ended))
    assert len(RecordFile(out).read()) == 1
    outcome = run(out, corpus, save_models=which)
    assert outcome.trained == 4  # three cells and the baseline
    kept = [record for record in cells(outcome) if record.model]
    assert len(kept) == (4 if which == "all" else 2)
    assert names(out) == sorted(Path(record.model).name for record in kept)
    if which == "best":
        best = RunReport(outcome.records).best
        assert {record.model for record in kept} == {r.model for r in best.trained.values()}
    for record in kept:
        assert zoo.load(out / record.model).card.key == record.key
    assert not (out / "unfinished").exists()


def test_a_tuned_row_is_kept_with_the_settings_that_were_chosen(tmp_path, corpus):
    options = {"attention": "fused", "seeds": 1, "lr": "0.001,0.02", "baseline": "none"}
    outcome = run(tmp_path / "out", corpus, save_models="all", **options)
    (record,) = [record for record in outcome.records if record.kind == "train"]
    card = zoo.load(tmp_path / "out" / record.model).card
    assert card.training.lr == record.config["training"]["lr"]
    assert [r.model for r in outcome.records if r.kind == "tune"] == ["", ""]
