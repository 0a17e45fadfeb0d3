"""``zoo train --from RUN``: a row of a run once more, on all the data."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused
from small_runs import CLASSIFY, LM, MLM, SEQ2SEQ, bench, prepared, write_book

import zoo
from zoo.config.settings import Training
from zoo.execution.open_setup import open_setup
from zoo.inference.train import find_training
from zoo.report.run_report import RunReport
from zoo.sweep.records import RecordFile

GRID = {**CLASSIFY, "attention": "fused", "pe": "sin,none", "lr": "0.001,0.02", "phases": "train"}


@pytest.fixture(scope="module")
def run(tmp_path_factory, corpus) -> Path:
    """Two cells and a baseline; the learning rate was chosen for each."""
    out = tmp_path_factory.mktemp("run") / "out"
    bench(out, {**GRID, "data": str(corpus), "dropout": 0.05, "head_hidden": 8, "pool": "cls"})
    return out


def test_the_row_of_the_answer_has_its_settings_and_all_the_data(run, tmp_path, said):
    save = tmp_path / "model"
    told = said("train", "--from", run, "--save", save, "--on", "inline").out
    report = RunReport(RecordFile(run).read())
    best = report.best
    assert told.startswith(f"{best.name}, seed 0: trained on all the data of corpus")
    model: Any = zoo.load(save)
    config = best.trained[0].config
    assert model.card.training.model_dump() == config["training"]
    assert model.card.sizes.model_dump() == config["sizes"]
    assert model.card.task_options == config["task_options"]
    assert model.card.cell == best.name
    assert (model.card.metrics["scored"], "accuracy" in model.card.metrics) == ("", False)
    assert model.predict(["the goal of the team"])[0].label in model.labels


def test_another_row_from_python_with_another_seed(run):
    report = RunReport(RecordFile(run).read())
    (other,) = [row for row in report.rows if row.cell and row is not report.best]
    model = zoo.train(from_=run, row=f"fused+{other.cell['pe']}", on="inline", seed=5)
    assert (model.card.cell, model.card.seed) == (other.name, 5)
    assert model.card.training.lr == other.trained[0].config["training"]["lr"]


def test_a_setting_that_was_a_default_once_is_that_of_the_record(run, tmp_path):
    """A command does not name what was a default when it was written."""
    old = Path(shutil.copytree(run, tmp_path / "old"))
    file = old / "records.jsonl"
    text = file.read_text()
    file.write_text(re.sub(r",batch_size=\d+", "", text))
    record = find_training(old)
    known = record.config["training"]["batch_size"]
    assert "batch_size" not in record.command
    assert known != Training().batch_size
    assert zoo.train(from_=old, on="inline").card.training.batch_size == known


def test_an_option_that_was_null_once_and_cannot_be_now_has_its_default(run, tmp_path):
    old = Path(shutil.copytree(run, tmp_path / "old"))
    file = old / "records.jsonl"
    file.write_text(file.read_text().replace('"quotes": true', '"quotes": null'))
    record = find_training(old)
    assert record.config["task_options"]["quotes"] is None
    assert zoo.train(from_=old, on="inline").card.task_options["quotes"] is True


def test_what_bench_returned_can_be_trained_from_where_its_data_have_not_changed(corpus, tmp_path):
    copied = Path(shutil.copytree(corpus, tmp_path / "corpus"))
    options = {**CLASSIFY, "phases": "train", "baseline": "none", "on": "inline", "epochs": 1}
    options |= {"seeds": 1, "blocks": None}
    result = zoo.bench("fused", "sin", data=str(copied), out=tmp_path / "out", **options)
    model: Any = zoo.train(from_=result, save=tmp_path / "model", on="inline")
    assert model.card.cell == result.best
    again: Any = zoo.load(tmp_path / "model")
    assert torch.equal(again.logits(["the goal"]), model.logits(["the goal"]))
    with (copied / "train.csv").open("a") as file:
        file.write("one more goal,sport\n")
    refused("not those of the run", zoo.train, from_=result, on="inline")
    assert zoo.train(from_=result, data=str(copied), on="inline").card.data["train"] == 73


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "RUN", "--row", "fused+rope"], "RUN: --row fused+rope: no such cell"),
        (
            ["--from", "RUN", "--row", "fused"],
            "--row fused may be fused+sin+",
        ),
        (["--from", "nowhere"], "nowhere"),
        (["--row", "fused"], "say which with --from"),
        (["--from", "RUN", "--suite", "diagnostics"], "use one of them"),
        (
            ["--from", "RUN", "--epochs", "9", "--attention", "naive", "--set", "ffn_dim=48"],
            "--attention, --epochs and --set ffn_dim: --from trains with the settings that",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_row_or_run_is_one_line(arguments, says, run, tmp_path, refused_command):
    words = [str(run) if word == "RUN" else word for word in arguments]
    line = refused_command("train", *words, "--save", tmp_path / "model")
    assert says.replace("RUN", str(run)) in line
    assert not (tmp_path / "model").exists()


STAGE = {"init": "pretrain", "pretrain_epochs": 1, "pretrain_lr": 0.01}
ONE_ROW = {**CLASSIFY, "epochs": 1, "phases": "train", "baseline": "none"}


def test_the_stage_is_done_again_on_the_texts_of_every_split(corpus, tmp_path):
    out = tmp_path / "out"
    (record,) = bench(out, {**ONE_ROW, **STAGE, "data": str(corpus)}).records
    assert record.metrics["pretraining"]["texts"] == 72
    model = zoo.train(from_=out, on="inline", save=tmp_path / "model")
    assert model.card.pretraining.model_dump() == record.config["pretraining"]
    assert model.card.metrics["pretraining"]["texts"] == 72 + 30, "nothing is left to be scored"


def rows_of(split: Any) -> Counter[tuple[int, ...]]:
    """The token ids of a split's examples."""
    found: Counter[tuple[int, ...]] = Counter()
    for row in range(len(split)):
        batch = split.batch(np.array([row]))
        sides = (batch.ids, batch.decoder_ids) if hasattr(batch, "decoder_ids") else (batch.ids,)
        found[tuple(int(token) for side in sides for token in side[0])] += 1
    return found


@pytest.mark.parametrize("task", ["classify", "tag", "lm", "mlm", "seq2seq"])
def test_all_examples_are_those_of_every_split(task, corpus, tmp_path):
    tag = {name: value for name, value in CLASSIFY.items() if name != "baseline"}
    options = {
        "classify": {**CLASSIFY, "data": str(corpus)},
        "tag": {**tag, "task": "tag", "data": "recall(train=20,test=6,pairs=4,values=2)"},
        "lm": {**LM, "data": str(write_book(tmp_path / "book.txt"))},
        "mlm": {**MLM, "data": str(corpus)},
        "seq2seq": SEQ2SEQ,
    }[task]
    opened = open_setup(prepared(options).setup)
    device = torch.device("cpu")
    whole = opened.task.split(opened, opened.data.splits, device)
    train, scored = opened.task.splits(opened, device)
    if task == "mlm":  # a batch has masks, which are drawn for all texts together
        ids = [part.arrays.ids.tolist() for part in (whole, train, scored)]
        assert ids[0] == ids[1] + ids[2]
        assert len(whole) == len(train) + len(scored)
    elif task == "lm":  # one text, cut at other places
        assert whole.ids.tolist() == [*train.ids.tolist(), *scored.ids.tolist()]
    else:
        parts = [train, scored]
        if "validation" in opened.data.splits:
            parts.append(opened.task.split(opened, ["validation"], device))
        assert len(whole) == sum(map(len, parts))
        assert rows_of(whole) == sum(map(rows_of, parts), Counter())
