"""A whole request in a file."""

from pathlib import Path

import pytest
from refused import refused

from zoo.cli import main
from zoo.config.request import load_suite, read_suite
from zoo.registry.loading import load
from zoo.sweep.make_request import make_requests
from zoo.sweep.plan import make_plan
from zoo.sweep.records import RecordFile

SUITE = """\
# zoo bench --suite small.toml
attention = ["fused", "mine"]
pe = "sin"
baseline = "none"
phases = ["train"]
plugins = ["mine.py"]
seeds = 2
dim = 16
heads = 2
ffn_dim = 32
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


def bench(suite: Path, *arguments: str) -> int:
    return main(["bench", "--on", "inline", "--suite", str(suite), *arguments])


@pytest.fixture
def suite(tmp_path, corpus) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    file = tmp_path / "small.toml"
    file.write_text(SUITE + f'data = "{corpus}"\n')
    return file


def test_a_suite_holds_a_whole_request_and_a_plugin_that_changed_is_trained_again(suite, tmp_path):
    arguments = ["--out", str(tmp_path / "out")]
    assert bench(suite, *arguments) == 0
    records = RecordFile(tmp_path / "out").read()
    cells = [(r.cell["attention"], r.seed) for r in records]
    assert cells == [("fused", 0), ("mine", 0), ("fused", 1), ("mine", 1)]
    assert all(("mine.py" in r.plugins) == (r.cell["attention"] == "mine") for r in records)
    (tmp_path / "mine.py").write_text(PLUGIN.replace('summary="mine"', 'summary="mine, changed"'))
    assert bench(suite, *arguments, "--seed", "0") == 0
    added = RecordFile(tmp_path / "out").read()[len(records) :]
    assert [(r.cell["attention"], r.seed) for r in added] == [("mine", 0)]


def test_the_table_that_says_where_a_suite_is_published_is_not_an_option(suite):
    plain = load_suite(suite)
    suite.write_text(suite.read_text() + PUBLISHED)
    assert load_suite(suite) == plain


def test_the_suites_that_ship_with_the_zoo_can_be_planned():
    registry = load().registry
    requests = make_requests({"attention": "fused,naive"}, registry, load_suite("diagnostics"))
    assert {request.task for request in requests} == {"classify", "tag"}
    profile = read_suite(Path(__file__).parents[2] / "bench" / "suites" / "diagnostics.toml")
    assert [request.data for request in requests] == profile["data"]
    for request in requests:
        assert (len(request.tuned["lr"]), len(request.seeds)) == (4, 6)
        assert [row.skip_reason for row in make_plan(request, registry).rows[:2]] == ["", ""]


def test_a_suite_that_does_not_exist_names_those_that_do():
    refused(r"no suite 'diagnostic'.*did you mean 'diagnostics'", load_suite, "diagnostic")


def test_seeds_on_the_command_line_replace_those_of_a_suite(suite, said):
    assert "8 trainings" in said("bench", "--suite", suite, "--plan", "--seeds", "4").out
