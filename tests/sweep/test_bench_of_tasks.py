"""A bench of language models, and one of an encoder-decoder, from options to table."""

import math
import os

import pandas as pd
import pytest
from small_runs import LM, SEQ2SEQ, command

from zoo.sweep.records import RecordFile


def test_a_language_model_and_the_ngram_have_bits_speed_and_memory(book, tmp_path, capsys):
    assert command({**LM, "data": str(book), "blocks": 1}, tmp_path) == 0
    shown = capsys.readouterr().out
    assert "bits/byte" in shown
    assert "accuracy" not in shown
    table = pd.read_csv(tmp_path / "table.csv").set_index("attention")
    assert set(table.index) == {"fused", "ngram"}
    for column in ("bits_per_byte_mean", "nats_per_token_mean", "params"):
        assert (table[column] > 0).all(), column
    for column in "train_tokens_per_s infer_tokens_per_s latency_ms peak_memory_mib".split():
        assert table.loc["fused", column] > 0, column
    # 256 bytes of which nothing is known take 8 bits each.
    assert (table.bits_per_byte_mean < 8).all()

    record = next(r for r in RecordFile(tmp_path).read() if r.status == "ok" and r.cell)
    assert record.task == record.config["task"] == "lm"
    assert record.command.startswith("zoo bench --task lm --attention fused --pe rope")
    assert "--pool" not in record.command
    assert f"--data {os.path.relpath(book)}" in record.command
    nats = record.metrics["nats_per_token"] * record.metrics["tokens"]
    bits = nats / math.log(2) / record.metrics["bytes"]
    assert record.metrics["bits_per_byte"] == pytest.approx(bits)
    assert record.metrics["scored"] == "validation"


def test_an_encoder_decoder_has_its_scores_on_its_row(tmp_path, capsys):
    out = tmp_path / "out"
    options = {**SEQ2SEQ, "phases": "train", "validation": 0.1}
    assert command(options, out) == 0
    row = pd.read_csv(out / "table.csv").iloc[0]
    assert 0 <= row.exact_match_mean <= 1
    assert 0 < row.token_accuracy_mean <= 1
    printed = capsys.readouterr()
    notes = (out / "table.md").read_text()
    assert "20 pairs" in notes  # a tenth of the training pairs
    assert "10% of the training" in notes
    assert "documents" not in printed.out + notes
    assert f"seed 0: exact match {row.exact_match_mean:.3f} [" in printed.err
    record = next(r for r in RecordFile(out).read() if r.kind == "train")
    assert record.metrics["scored"] == "validation"
    assert record.metrics["examples"] == 20
