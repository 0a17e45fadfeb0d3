"""``zoo bench --task lm`` and ``--task seq2seq``: from a request to a table."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from small import LM, SEQ2SEQ
from zoo.report.tables.sentences import effects_text

import zoo
from zoo.api import make_request
from zoo.cli import main
from zoo.errors import ZooError
from zoo.report.stats.effects import make_effects
from zoo.report.tables.rows import make_rows
from zoo.sweep.records import RecordFile

BACKWARD = '''
"""An attention that sees the whole text, whatever it is asked."""

from zoo import hookimpl


@hookimpl
def zoo_register(register):
    register("attention", "sees-all", "zoo.components.attention.fused:Fused", summary="not causal",
             capabilities=("padding", "cross", "rotate", "bias"))
'''


@pytest.fixture(scope="module")
def language(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of two attentions, one that cannot be causal, and the n-gram."""
    directory = tmp_path_factory.mktemp("lm")
    plugin, out = directory / "backward.py", directory / "out"
    plugin.write_text(BACKWARD)
    arguments = ["bench", *LM, "--attention", "fused,naive,sees-all", "--plugin", str(plugin)]
    more = ["--data", str(book), "--rounds", "1", "--seeds", "1", "--out", str(out)]
    assert main([*arguments, *more]) == 0
    return out


def test_language_models_and_the_ngram_have_bits_speed_and_memory_on_one_row(language: Path):
    table = pd.read_csv(language / "table.csv").set_index("attention")
    assert set(table.index[:2]) == {"fused", "naive"}
    assert list(table.index[2:]) == ["sees-all", "ngram"]
    ran = table.drop("sees-all")
    for column in (
        "bits_per_byte_mean validation_loss_mean train_tokens_per_s infer_tokens_per_s "
        "latency_ms peak_memory_mib params"
    ).split():
        assert (ran[column] > 0).all(), column
    # Exact attentions compute the same function from the same weights.
    assert table.bits_per_byte_mean["fused"] == pytest.approx(
        table.bits_per_byte_mean["naive"], abs=1e-3
    )
    # 256 bytes that nothing is known of take 8 bits each.
    assert (ran.bits_per_byte_mean < 8).all()


def test_what_cannot_be_causal_is_skipped_with_its_reason(language: Path):
    table = pd.read_csv(language / "table.csv").set_index("attention")
    assert table.status["sees-all"] == "skipped"
    assert "cannot attend to the past alone" in table.reason["sees-all"]


def test_records_tell_the_task_and_what_repeats_them(language: Path, book: Path):
    record = next(r for r in RecordFile(language).read() if r.status == "ok" and r.cell)
    assert record.task == record.config["task"] == "lm"
    assert record.command.startswith("zoo bench --task lm --attention fused --pe rope")
    assert "--pool" not in record.command
    assert f"--data {book}" in record.command
    assert record.metrics["bytes"] == record.config["data"]["test_bytes"]
    nats = record.metrics["validation_loss"] * record.metrics["tokens"]
    bits = nats / math.log(2) / record.metrics["bytes"]
    assert record.metrics["bits_per_byte"] == pytest.approx(bits)
    assert record.metrics["scored"] == "validation"


def test_a_language_run_is_collected_and_other_tasks_are_kept_out(
    language: Path, book: Path, capsys
):
    arguments = ["bench", *LM, "--data", str(book), "--out", str(language), "--seeds", "1"]
    assert main([*arguments, "--attention", "fused,naive", "--collect"]) == 0
    shown = capsys.readouterr().out
    assert "bits/byte" in shown
    assert "accuracy" not in shown
    assert main(["bench", *SEQ2SEQ, "--out", str(language)]) == 2
    assert "holds records of --task lm, not --task seq2seq" in capsys.readouterr().err
    rows = make_rows(RecordFile(language).read())
    only = {"attention": ["fused", "naive"]}
    assert "bits per byte" in effects_text(make_effects(rows, only=only))


def test_an_encoder_decoder_has_exact_matches_of_both_decodings_on_its_row(tmp_path: Path, capsys):
    out = tmp_path / "out"
    arguments = ["bench", *SEQ2SEQ, "--rounds", "1", "--validation", "0.1", "--out", str(out)]
    assert main(arguments) == 0
    row = pd.read_csv(out / "table.csv").iloc[0]
    assert 0 <= row.exact_match_mean <= 1
    assert 0 <= row.exact_match_beam_mean <= 1
    assert 0 < row.token_accuracy_mean <= 1
    assert row.test_documents == 20  # a tenth of the training pairs
    said = capsys.readouterr()
    assert "exact, beam" in said.out
    assert "Test set: 20 pairs;" in said.out
    assert "scored on 10% of the training pairs" in said.out
    assert "documents" not in said.out
    assert f"seed 0: exact match {row.exact_match_mean:.3f} [" in said.err
    record = next(r for r in RecordFile(out).read() if r.kind == "trial")
    assert record.config["beam"] == 3
    assert record.metrics["scored"] == "validation"
    assert main([*arguments, "--beam", "2"]) == 2
    assert "beam=3, not 2" in capsys.readouterr().err


def test_a_plan_says_which_cells_cannot_be_before_anything_runs(tmp_path: Path, capsys):
    plugin = tmp_path / "backward.py"
    plugin.write_text(BACKWARD)
    arguments = ["bench", "--task", "seq2seq", "--attention", "fused,sees-all", "--plan"]
    assert main([*arguments, "--plugin", str(plugin)]) == 0
    printed = capsys.readouterr().out
    assert "cannot attend to the past alone" in printed
    assert "1 to run, 1 skipped" in printed


IGNORED = [
    ("lm", ["--pool", "cls"], "--pool has no meaning with --task lm"),
    ("lm", ["--token-dropout", "0.1"], "--token-dropout has no meaning with --task lm"),
    ("lm", ["--head-hidden", "8"], "--head-hidden has no meaning"),
    ("lm", ["--members", "3"], "--members has no meaning with --task lm"),
    ("lm", ["--full-attention"], "--full-attention has no meaning"),
    ("lm", ["--beam", "2"], "--beam has no meaning"),
    ("lm", ["--baseline", "tfidf-logreg"], "does not stand beside a language model"),
    ("lm", ["--text-column", "body", "--data", "a.txt"], "'a.txt' is text"),
    ("lm", ["--vocab-size", "100"], "too small"),
    ("seq2seq", ["--pool", "mean"], "--pool has no meaning"),
    ("seq2seq", ["--members", "3"], "--members has no meaning"),
    ("seq2seq", ["--label-column", "x"], "--label-column has no meaning"),
    ("seq2seq", ["--baseline", "ngram"], "there is: none"),
    ("seq2seq", ["--beam", "0"], "--beam 0"),
    ("seq2seq", ["--max-length", "4"], "takes --max-length"),
    ("classify", ["--beam", "4"], "--beam has no meaning with --task classify"),
    ("classify", ["--baseline", "ngram"], "does not stand beside a classifier"),
    ("clasify", [], "did you mean 'classify'"),
]


@pytest.mark.parametrize(("task", "options", "told"), IGNORED, ids=lambda v: str(v))
def test_an_option_that_would_be_ignored_is_refused(
    task: str, options: list[str], told: str, tmp_path: Path, capsys
):
    data = [] if "--data" in options or task in ("seq2seq", "clasify") else ["--data", "newswire"]
    arguments = ["bench", "--task", task, *data, *options, "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert told in line
    assert not (tmp_path / "out" / "records.jsonl").exists()


def test_every_baseline_means_every_one_that_fits_the_task(registry):
    from zoo.sweep.plan import make_plan

    for task, names in (("classify", ["tfidf-logreg"]), ("lm", ["ngram"]), ("seq2seq", [])):
        plan = make_plan(make_request({"task": task, "baseline": "all"}), registry)
        assert [row.name for row in plan.rows if row.baseline] == names


def test_tasks_have_defaults_of_their_own_and_what_is_given_wins():
    request = make_request({"task": "lm", "dim": 32})
    assert (request.data, request.baseline, request.sizes.dim) == ("newswire", "ngram", 32)
    assert request.sizes.max_length == 128
    assert make_request({"task": "lm", "max_length": 64}).sizes.max_length == 64
    assert make_request({}).sizes.max_length == 256
    assert "task" not in make_request({}).sizes.model_dump()


def test_from_python_as_well(tmp_path: Path):
    with pytest.raises(ZooError, match="--pool has no meaning"):
        zoo.bench(task="lm", pool="cls")
    table = zoo.bench(
        task="seq2seq", pe="none", data="copy(train=60,test=10,shortest=2,longest=3)", epochs=1,
        dim=8, heads=2, hidden=8, layers=1, max_length=8, device="cpu", threads=1,
        phases="trials", out=tmp_path / "out",
    )  # fmt: skip
    assert list(table["status"]) == ["ok"]
    assert table["exact_match_mean"].between(0, 1).all()
