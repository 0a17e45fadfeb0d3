"""``make results`` repeats what is stale or missing, and nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_runs import FAILING, isolated

from bench import results
from bench.results import main
from zoo import cli
from zoo.sweep.records import FILE, Record, RecordFile

SUITE = Path("bench", "suites", "one.toml")
TEXT = """\
attention = "fused,naive"
data = ["order(train=60,test=12)", "even-pairs(train=60,test=12)"]
baseline = "none"
phases = ["train"]
dim = 16
heads = 2
ffn_dim = 32
layers = 1
max_length = 16
vocab_size = 100
epochs = 1
evaluate_every = 0
lr = 0.003
seeds = 1

[published]
directory = "two/cpu"
title = "Two attentions"
"""
NAIVE = "naive+rope+layer+gelu+pre+mean"


def in_place_of_processes(action):
    """What runs ``zoo bench`` instead of a process of its own, given its arguments."""

    def run(command, **_):
        assert command[:3] == [sys.executable, "-m", "zoo"]
        return subprocess.CompletedProcess(command, action(command[3:]))

    return SimpleNamespace(run=run)


HERE = in_place_of_processes(lambda words: cli.main([*words, "--on", "inline"]))
PROCESS = pytest.param(subprocess, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A repository with one suite, whose results are made."""
    root = tmp_path_factory.mktemp("repository")
    (root / SUITE).parent.mkdir(parents=True)
    (root / SUITE).write_text(TEXT)
    with isolated(tmp_path_factory.mktemp("cache")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(results, "subprocess", HERE)
            assert main([], root) == 0
        yield root


@pytest.fixture
def root(made, tmp_path):
    """A copy of that repository."""
    return shutil.copytree(made, tmp_path / "repository")


def places(root: Path) -> tuple[Path, Path]:
    """Where the results are, and where unfinished ones would be."""
    return root / "results" / "two" / "cpu", root / "build" / "results" / "two" / "cpu"


def records(directory: Path) -> dict[tuple[str, str], Record]:
    """Data set and row to its record, of which there is one."""
    found = {}
    for data in filter(Path.is_dir, directory.glob("*")):
        for record in RecordFile(data).read():
            assert found.setdefault((data.name.partition("-")[0], record.name), record) is record
    return found


def rewrite(file: Path, row: str, **changes: object) -> None:
    """Change what the record of a row says."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if "+".join(line["cell"].values()) == row:
            line.update(changes)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("processes", [HERE, PROCESS], ids=["here", "in a process"])
def test_what_is_missing_or_stale_is_repeated_and_nothing_else(processes, root, monkeypatch, capfd):
    monkeypatch.setattr(results, "subprocess", processes)
    home, work = places(root)
    first = records(home)
    assert [record.status for record in first.values()] == ["ok"] * 4
    assert not work.exists()

    before = {file: file.read_bytes() for file in home.glob(f"*/{FILE}")}
    assert main([], root) == 0
    assert capfd.readouterr().out == "two/cpu: current\n"
    assert {file: file.read_bytes() for file in before} == before

    # An interrupted run has done the rest.
    shutil.copytree(home, work)
    (file,) = work.glob(f"order*/{FILE}")
    rewrite(file, NAIVE, started="before the interruption")
    old = {**first["order", NAIVE].code, "training/trainer.py": "0" * 8}
    rewrite(home / file.relative_to(work), NAIVE, code=old, key="old")
    assert main([], root) == 0
    assert capfd.readouterr().out.startswith("two/cpu: 1 record stale\n")
    repeated = first["order", NAIVE].model_copy(update={"started": "before the interruption"})
    assert records(home) == first | {("order", NAIVE): repeated}
    assert not work.exists()


def test_a_place_that_is_named_is_run_again_and_gets_what_is_missing(root, monkeypatch, capfd):
    monkeypatch.setattr(results, "subprocess", HERE)
    home, _ = places(root)
    first = records(home)
    for file in home.glob(f"*/{FILE}"):
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    assert main(["two/cpu"], root) == 0
    assert records(home).keys() == first.keys()


def test_rounds_go_on_seed_by_seed_from_what_is_published(root, monkeypatch, capfd):
    """Each is published when it has ended, so that the third, which fails, loses none."""
    two = in_place_of_processes(
        lambda words: 1 if "3" in words else cli.main([*words, "--on", "inline"])
    )
    monkeypatch.setattr(results, "subprocess", two)
    home, _ = places(root)
    before = {file: file.read_text() for file in home.glob(f"*/{FILE}")}
    assert main(["two/cpu", "--rounds", "3"], root) == 1
    for file, published in before.items():
        assert file.read_text().startswith(published)
        assert [r.seed for r in RecordFile(file.parent).read()] == [0, 0, 1, 1]


def test_data_that_are_not_here_are_named_in_one_line(root, capsys):
    (root / SUITE).write_text(f'{TEXT}source = "data/bbc-news"\n')
    assert main(["--data-dir", str(root)], root) == 0
    needs = f"it needs {root / 'data' / 'bbc-news'}, which is not there (--data-dir)"
    assert capsys.readouterr().out == f"two/cpu: left as it is: {needs}\n"


def test_a_run_that_fails_leaves_what_is_published_and_what_is_done(root, monkeypatch, capfd):
    home, work = places(root)
    shutil.rmtree(home)
    monkeypatch.setattr(results, "subprocess", HERE)
    (root / SUITE).write_text(f'plugins = "{FAILING}"\n{TEXT.replace("naive", "raises")}')
    assert main([], root) == 1
    said = capfd.readouterr().out
    assert "two/cpu: stopped, for zoo bench ended with exit status 1\n" in said
    assert records(home) == {}
    assert {record.status for record in records(work).values()} == {"ok", "crashed"}
