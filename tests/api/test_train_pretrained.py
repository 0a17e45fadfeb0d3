"""``zoo train --from RUN`` of rows whose encoders did not begin with new weights."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_runs import CLASSIFY, MLM, bench, flags

import zoo
from zoo.cli import main

STAGE = {"init": "pretrain", "pretrain_epochs": 1, "pretrain_lr": 0.01}
OPTIONS = {**CLASSIFY, "epochs": 1, "phases": "train", "baseline": "none"}


def test_the_stage_is_done_again_on_the_texts_of_every_split(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (record,) = bench(out, {**OPTIONS, **STAGE, "data": str(corpus)}).records
    assert record.metrics["pretraining"]["texts"] == 72
    model = zoo.train(from_=out, on="inline", save=tmp_path / "model")
    assert model.card.pretraining.model_dump() == record.config["pretraining"]
    hub = (tmp_path / "model" / "README.md").read_text()
    assert "| pretrained | 1 epoch of masked language modelling |" in hub
    assert model.card.metrics["pretraining"]["texts"] == 72 + 30, "nothing is left to be scored"


def test_a_saved_encoder_must_be_the_one_that_the_run_began_with(
    corpus: Path, tmp_path: Path
) -> None:
    encoder, out = tmp_path / "enc", tmp_path / "out"
    train = ["train", *flags({**MLM, "data": corpus, "epochs": 1, "save": encoder}), "--on"]
    assert main([*train, "inline"]) == 0
    (record,) = bench(out, {**OPTIONS, "init": str(encoder), "data": str(corpus)}).records
    model = zoo.train(from_=out, on="inline")
    assert model.card.pretraining.model_dump() == record.config["pretraining"]
    shutil.rmtree(encoder)
    assert main([*train, "inline", "--seed", "1"]) == 0
    with pytest.raises(zoo.ZooError, match=r"is not what the run began with .* has changed since"):
        zoo.train(from_=out, on="inline")
    assert zoo.train(from_=out, init=str(encoder), on="inline").card.pretraining.init.startswith(
        "enc ("
    )
