"""A whole request in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.cli import main
from zoo.config.suite import load_published, load_suite
from zoo.sweep.records import RecordFile

SUITE = """\
# zoo bench --suite small.toml
attention = ["fused", "mine"]
pe = "sin"
baseline = "none"
phases = ["trials"]
plugins = ["mine.py"]
seeds = 2
dim = 16
heads = 2
hidden = 32
layers = 1
max_length = 24
vocab_size = 120
epochs = 1
threads = 1
"""
PLUGIN = """\
from zoo import hookimpl
from zoo.components.attention.fused import Fused

@hookimpl
def zoo_register(register):
    register("attention", "mine", Fused, summary="mine", capabilities=("padding", "cross"))
"""


PUBLISHED = '[published]\ndirectory = "somewhere/cpu"\ntitle = "A title"\n'
BESIDE = (
    '[[published.beside]]\nname = "theirs"\ncell = { attention = "fused" }\nsource = "a paper"\n'
)


@pytest.fixture
def suite(tmp_path: Path, corpus_directory: Path) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    file = tmp_path / "small.toml"
    file.write_text(SUITE + f'data = "{corpus_directory}"\n')
    return file


def test_a_suite_holds_a_whole_request_and_its_plugins(suite: Path, tmp_path: Path):
    out = tmp_path / "out"
    assert main(["bench", "--suite", str(suite), "--out", str(out)]) == 0
    records = RecordFile(out).read()
    assert {(r.cell["attention"], r.seed) for r in records} == {
        (a, s) for a in ("fused", "mine") for s in (0, 1)
    }
    hashes = {r.plugins.get("mine.py") for r in records if r.cell["attention"] == "mine"}
    assert len(hashes) == 1
    assert None not in hashes


def test_what_is_published_of_a_suite_is_no_option(suite: Path, capsys):
    plain = load_suite(suite)
    suite.write_text(suite.read_text() + PUBLISHED + BESIDE + "value = 0.9\n")
    assert load_suite(suite) == plain
    published = load_published(suite)
    assert published is not None
    assert (published.directory, published.beside[0].value) == (("somewhere/cpu",), 0.9)
    assert main(["bench", "--suite", str(suite), "--plan"]) == 0


def test_a_plugin_that_changed_is_trained_again(suite: Path, tmp_path: Path):
    arguments = ["bench", "--suite", str(suite), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--seed", "0"]) == 0
    (tmp_path / "mine.py").write_text(PLUGIN.replace('summary="mine"', 'summary="mine, changed"'))
    assert main([*arguments, "--seed", "0"]) == 0
    records = RecordFile(tmp_path / "out").read()
    assert [r.cell["attention"] for r in records] == ["fused", "mine", "mine"]


def test_an_option_on_the_command_line_wins(suite: Path, tmp_path: Path):
    out = tmp_path / "out"
    arguments = ["--attention", "fused", "--seeds", "1", "--out", str(out)]
    assert main(["bench", "--suite", str(suite), *arguments]) == 0
    assert [(r.cell["attention"], r.seed) for r in RecordFile(out).read()] == [("fused", 0)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("attention = ", "is no TOML"),
        ('atention = "fused"', "did you mean 'attention'?"),
        ("dim = 0", "--dim 0"),
        ("seeds = 0", "--seeds 0"),
        ('plugins = ["gone.py"]', "gone.py cannot be read"),
        ('plugins = "gone.py"', "gone.py cannot be read"),
        ("[training]\nepochs = 2", "no option 'training'"),
        ("published = 3", "[published]"),
        ('[published]\ntitle = "A title"', "[published] directory: Field required"),
        (PUBLISHED + 'tittle = "again"', "[published] has no key 'tittle'; did you mean 'title'?"),
        (PUBLISHED + BESIDE + "second = 9", "has no key 'second'; did you mean 'seconds'?"),
        (PUBLISHED + BESIDE, "[published] beside.0: a figure needs value or seconds"),
        (PUBLISHED + BESIDE.replace("attention", "atention"), "did you mean 'attention'?"),
    ],
)
def test_a_bad_suite_is_refused_in_one_line(text: str, told: str, tmp_path: Path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert main(["bench", "--suite", str(file), "--plan"]) == 2
    printed = capsys.readouterr().err
    assert told in printed
    assert len(printed.strip().splitlines()) == 1


def test_a_suite_that_is_not_there_is_told(tmp_path: Path, capsys):
    assert main(["bench", "--suite", str(tmp_path / "gone.toml")]) == 2
    assert "gone.toml cannot be read" in capsys.readouterr().err
