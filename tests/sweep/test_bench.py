"""One command from registered parts to a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sweeps import TINY, zoo

from zoo.cli import main
from zoo.sweep.records import Record, RecordFile

FIRST_COLUMNS = (
    "attention,pe,norm,ffn,block,pool,status,reason,seeds,params,accuracy_mean,accuracy_std,"
    "f1_mean,train_tokens_per_s,infer_tokens_per_s,latency_ms,peak_memory_mib,train_seconds"
)
GRID = ["bench", "--attention", "fused,naive", "--pe", "rope,sin"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus_directory: Path) -> Path:
    """The directory of a whole run of four cells, two seeds and a baseline."""
    out = tmp_path_factory.mktemp("run") / "out"
    arguments = [*GRID, *TINY, "--data", str(corpus_directory), "--seeds", "2", "--out", str(out)]
    assert main(arguments) == 0
    return out


def test_four_cells_and_the_baseline_have_accuracy_speed_and_memory_on_one_row(finished: Path):
    table = pd.read_csv(finished / "table.csv")
    assert len(table) == 5
    assert (table.status == "ok").all()
    cells = table[table.baseline.isna()]
    assert set(zip(cells.attention, cells.pe, strict=True)) == {
        (a, p) for a in ("fused", "naive") for p in ("rope", "sin")
    }
    for column in (
        "accuracy_mean accuracy_std f1_mean train_tokens_per_s infer_tokens_per_s latency_ms "
        "peak_memory_mib train_seconds params"
    ).split():
        assert cells[column].notna().all(), column
    assert cells.accuracy_mean.between(0, 1).all()
    for column in ("train_tokens_per_s", "infer_tokens_per_s", "latency_ms", "train_seconds"):
        assert (table[column] > 0).all(), column


def test_the_columns_of_the_csv_come_in_the_promised_order(finished: Path):
    header = (finished / "table.csv").read_text().splitlines()[0]
    assert header.startswith(FIRST_COLUMNS + ",")


def test_the_best_stands_first_and_the_baseline_last(finished: Path):
    table = pd.read_csv(finished / "table.csv")
    cells = table[table.baseline.isna()]
    assert cells.accuracy_mean.is_monotonic_decreasing
    assert table.baseline.iloc[-1] == "tfidf-logreg"


def test_exact_attentions_make_the_same_mistakes_for_the_same_seed(finished: Path):
    trials = [r for r in RecordFile(finished).read() if r.kind == "trial" and r.cell]
    errors = {(r.cell["attention"], r.cell["pe"], r.seed): r.metrics["errors"] for r in trials}
    for pe in ("rope", "sin"):
        for seed in (0, 1):
            fused, naive = errors["fused", pe, seed], errors["naive", pe, seed]
            assert len(fused) == pytest.approx(len(naive), abs=1)


def test_a_record_holds_what_is_needed_to_repeat_it(finished: Path):
    record = next(r for r in RecordFile(finished).read() if r.kind == "trial" and r.cell)
    assert record.config["data"]["fingerprint"]
    assert record.config["sizes"]["dim"] == 16
    assert record.config["training"]["epochs"] == 2
    assert {"python", "torch", "zoo", "device_name", "threads", "git"} <= set(record.environment)
    assert [row["number"] for row in record.curve] == [1, 2]
    assert "--seed 0" in record.command
    assert "--dim 16" in record.command


def test_the_command_of_a_record_gives_the_same_scores_again(finished: Path, tmp_path: Path):
    record = next(
        r for r in RecordFile(finished).read() if r.kind == "trial" and r.cell and r.seed == 1
    )
    words = record.command.split()
    assert words[0] == "zoo"
    done = zoo(*words[1:], "--phases", "trials", "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    again = next(r for r in RecordFile(tmp_path / "again").read() if r.cell)
    assert again.metrics["errors"] == record.metrics["errors"]
    assert [e["loss"] for e in again.curve] == [e["loss"] for e in record.curve]


def test_probes_are_measured_on_the_same_batches_in_interleaved_rounds(finished: Path):
    probes = [r for r in RecordFile(finished).read() if r.kind == "probe" and r.cell]
    assert len(probes) == 4
    assert len({json.dumps(r.samples["facts"]["batches"]) for r in probes}) == 1
    assert len({r.samples["session"] for r in probes}) == 1
    for record in probes:
        assert len(record.samples["rounds"]) == 2
        assert len(record.samples["twin"]["rounds"]) == 2
        assert record.metrics["train_padded_tokens_per_s"] >= record.metrics["train_tokens_per_s"]
        assert record.metrics["flops_per_token"] > 0
    kernels = {r.cell["attention"]: r.metrics["kernels"] for r in probes}
    assert any("scaled_dot_product" in name for name in kernels["fused"])
    assert kernels["naive"] == ["_softmax"]


def test_the_same_request_again_trains_nothing_and_one_more_seed_trains_just_that(
    finished: Path, corpus_directory: Path
):
    before = (finished / "records.jsonl").read_bytes()
    same = [*GRID, *TINY, "--data", str(corpus_directory), "--out", str(finished)]
    assert main([*same, "--seeds", "2"]) == 0
    assert (finished / "records.jsonl").read_bytes() == before
    assert main([*same, "--seeds", "3"]) == 0
    added = RecordFile(finished).read()[len(before.splitlines()) :]
    assert {(r.kind, r.seed) for r in added} == {("trial", 2)}
    assert len(added) == 5  # four cells and the baseline


def test_collect_reports_what_is_there_and_runs_nothing(finished: Path, corpus_directory: Path):
    before = (finished / "records.jsonl").read_bytes()
    more = ["bench", "--attention", "fused,naive,split", "--pe", "rope,sin", "--collect"]
    assert main([*more, *TINY, "--data", str(corpus_directory), "--out", str(finished)]) == 0
    assert (finished / "records.jsonl").read_bytes() == before


def test_fresh_runs_again_what_is_there(tmp_path: Path, tiny: list[str]):
    arguments = ["bench", *tiny, "--phases", "trials", "--baseline", "none", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert main([*arguments, "--fresh"]) == 0
    first, second = RecordFile(tmp_path).read()
    assert first.key == second.key
    assert first.metrics["errors"] == second.metrics["errors"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["--dim", "32"], "dim=16, not 32"),
        (["--epochs", "3"], "epochs=2, not 3"),
        (["--keep-duplicates"], "choose another directory"),
    ],
)
def test_records_of_other_settings_are_not_mixed_in(
    finished: Path, corpus_directory: Path, change: list[str], told: str, capsys
):
    before = (finished / "records.jsonl").read_bytes()
    arguments = [*GRID, *TINY, "--data", str(corpus_directory), "--out", str(finished), *change]
    assert main(arguments) == 2
    assert told in capsys.readouterr().err
    assert (finished / "records.jsonl").read_bytes() == before


def test_records_of_other_data_are_not_mixed_in(
    finished: Path, corpus_directory: Path, tmp_path: Path, capsys
):
    other = tmp_path / "other.csv"
    rows = (corpus_directory / "train.csv").read_text().splitlines()
    other.write_text("\n".join(rows[:-3]) + "\n")
    assert main([*GRID, *TINY, "--data", str(other), "--out", str(finished)]) == 2
    assert "holds records of data" in capsys.readouterr().err


def test_a_combination_that_cannot_work_is_a_skipped_row_with_its_reason(
    tmp_path: Path, tiny: list[str], capsys
):
    arguments = ["bench", "--attention", "torch,fused", "--pe", "rope", *tiny]
    assert main([*arguments, "--phases", "trials", "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "table.csv")
    skipped = table[table.attention == "torch"].iloc[0]
    assert skipped.status == "skipped"
    assert skipped.reason == "torch cannot rotate queries and keys, as rope asks"
    assert "torch cannot rotate" in capsys.readouterr().out


def test_the_plan_marks_every_impossible_cell_and_runs_nothing(tmp_path: Path, capsys):
    out = tmp_path / "out"
    assert main(["bench", "--attention", "all", "--pe", "all", "--plan", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.startswith("torch")]
    assert any("rope" in line and "skipped: torch cannot rotate" in line for line in lines)
    assert sum(line.endswith("run") for line in lines) == 4
    assert not out.exists()


def test_the_tutorials_classifier_has_89605_parameters(tmp_path: Path, capsys):
    arguments = (
        "bench --attention naive,split,packed,fused,torch --pe none,sin --dim 64 --heads 8 "
        "--layers 1 --block bare --ffn none --norm none --pool cls --head-hidden 128 "
        "--vocab-size 1000 --max-length 16 --data newswire --epochs 1 --phases trials "
        "--baseline none --batch-size 256"
    ).split()
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(table) == 10
    assert set(table.params) == {89605}


def test_from_python_the_table_is_a_dataframe(tmp_path: Path, corpus_directory: Path):
    """A plain script, without an ``if __name__`` guard."""
    script = tmp_path / "script.py"
    script.write_text(
        "import zoo\n"
        "table = zoo.bench(attention=['fused', 'naive'], pe=['rope', 'sin'], phases='trials',\n"
        f"    data={str(corpus_directory)!r}, out='out', dim=16, heads=2, hidden=32, layers=1,\n"
        "    max_length=24, vocab_size=120, epochs=1)\n"
        "print(type(table).__module__, len(table), list(table.columns)[0])\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pandas")
    assert done.stdout.split()[1:] == ["5", "attention"] or " 5 attention" in done.stdout


def test_nothing_in_the_records_or_tables_tells_a_text(finished: Path, corpus_directory: Path):
    texts = pd.read_csv(corpus_directory / "test.csv").text
    for name in ("records.jsonl", "table.csv", "table.md"):
        written = (finished / name).read_text()
        assert not any(text in written for text in texts)


def test_records_are_valid_json_lines_of_the_stated_schema(finished: Path):
    for line in (finished / "records.jsonl").read_text().splitlines():
        assert Record.model_validate(json.loads(line)).schema_version == 1
