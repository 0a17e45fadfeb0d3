"""``make results`` repeats what is stale or missing, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from small_runs import FAILING, QUICK

from bench.results import main
from zoo.sweep.records import FILE, Record, RecordFile

SUITE = """\
attention = "fused,naive"
data = "order(train=60,test=12)"
baseline = "none"
phases = ["train"]
{more}

[published]
directory = "order/cpu"
title = "Two attentions"
"""
OPTIONS = ("dim", "heads", "ffn_dim", "layers", "max_length", "vocab_size", "epochs", "seeds")
NAIVE = "naive+rope+layer+gelu+pre+mean"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A repository with one suite, whose results nobody has made."""
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ZOO_PLUGINS", "")
    (tmp_path / "results").mkdir()
    write_suite(tmp_path)
    return tmp_path


def write_suite(root: Path, more: str = "", name: str = "one") -> None:
    options = "\n".join(f"{option} = {QUICK[option]}" for option in OPTIONS)
    suite = root / "bench" / "suites" / f"{name}.toml"
    suite.parent.mkdir(parents=True, exist_ok=True)
    suite.write_text(SUITE.format(more=f"{options}\n{more}"))


def records(root: Path, folder: str = "results") -> dict[str, Record]:
    """Row to its record, of which there is one."""
    found = RecordFile(root / folder / "order" / "cpu").read()
    assert len({record.name for record in found}) == len(found)
    return {record.name: record for record in found}


def rewrite(file: Path, row: str, **changes: object) -> None:
    """Change what the record of a row says."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if "+".join(line["cell"].values()) == row:
            line.update(changes)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_what_is_missing_or_stale_is_repeated_and_nothing_else(root, capfd):
    file = root / "results" / "order" / "cpu" / FILE
    assert main([], root) == 0
    assert capfd.readouterr().out.startswith("order/cpu: 0 records stale, 2 missing\n")
    first = records(root)
    assert {record.status for record in first.values()} == {"ok"}
    assert not (root / "build" / "results" / "order" / "cpu").exists()

    content = file.read_bytes()
    assert main([], root) == 0
    assert capfd.readouterr().out == "order/cpu: current\n"
    assert file.read_bytes() == content

    rewrite(file, NAIVE, code={**first[NAIVE].code, "training/trainer.py": "0" * 8}, key="old")
    # An interrupted run has done the rest; of other settings it would be no use.
    work = root / "build" / "results" / "order" / "cpu"
    work.mkdir(parents=True)
    (work / FILE).write_bytes(content)
    rewrite(work / FILE, NAIVE, started="before the interruption")
    assert main([], root) == 0
    assert capfd.readouterr().out.startswith("order/cpu: 1 record stale, 0 missing\n")
    again = records(root)
    assert again[NAIVE] == first[NAIVE].model_copy(update={"started": "before the interruption"})
    assert [row for row in first if again[row] != first[row]] == [NAIVE]


@pytest.mark.slow
def test_results_of_other_settings_are_made_anew(root, capfd):
    assert main([], root) == 0
    write_suite(root, "lr = 0.01")
    assert main([], root) == 0
    assert "order/cpu: 2 records stale, 0 missing\n" in capfd.readouterr().out
    assert {record.config["training"]["lr"] for record in records(root).values()} == {0.01}


def test_a_data_set_that_is_whole_is_taken_over_before_the_others(root, monkeypatch, capfd):
    suite = root / "bench" / "suites" / "one.toml"
    both = '["order(train=60,test=12)", "majority(train=60,test=12)"]'
    suite.write_text(suite.read_text().replace('"order(train=60,test=12)"', both))
    assert main([], root) == 0
    home, work = root / "results" / "order" / "cpu", root / "build" / "results" / "order" / "cpu"
    order, majority = sorted(home.glob("*/records.jsonl"), reverse=True)
    whole = order.read_text()
    shutil.copytree(home, work)
    for file in (order, majority, work / majority.relative_to(home)):
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))

    def stopped(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], 130)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    cut = order.read_text()
    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main([], root)
    assert order.read_text() == whole
    order.write_text(cut)
    monkeypatch.setattr(subprocess, "run", stopped)
    assert main([], root) == 1
    assert "order/cpu: 1 of 2 data sets done, the rest left as it is" in capfd.readouterr().out
    assert order.read_text() == whole
    assert len(majority.read_text().splitlines()) == 1


def test_what_cannot_be_made_here_is_left_as_it_is_in_one_line(root, capsys):
    suites = root / "bench" / "suites"
    text = (suites / "one.toml").read_text()
    (suites / "one.toml").write_text(f'{text}source = "data/bbc-news"\n')
    (suites / "two.toml").write_text(
        text.replace("naive", "nowhere").replace("order/cpu", "other/cpu")
    )
    assert main(["--data-dir", str(root)], root) == 0
    lines = capsys.readouterr().out.splitlines()
    needs = f"it needs {root / 'data' / 'bbc-news'}, which is not there (--data-dir)"
    assert lines[0] == f"order/cpu: left as it is: {needs}"
    assert lines[1].startswith("other/cpu: left as it is: ")
    assert "nowhere" in lines[1]
    assert len(lines) == 2


@pytest.mark.slow
def test_a_run_that_fails_leaves_what_is_published_and_what_is_done(root, capfd):
    write_suite(root, f'plugins = "{FAILING}"\n')
    suite = root / "bench" / "suites" / "one.toml"
    suite.write_text(suite.read_text().replace("naive", "raises"))
    assert main([], root) == 1
    assert (
        "order/cpu: 0 of 1 data set done, the rest left as it is, for zoo bench ended with exit "
        "status 1\n" in capfd.readouterr().out
    )
    assert records(root) == {}
    assert {record.status for record in records(root, "build/results").values()} == {
        "ok",
        "crashed",
    }
