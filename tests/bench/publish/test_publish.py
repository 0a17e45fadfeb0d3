"""Published results: pages from records and suites."""

import json
import re
from pathlib import Path

import pytest
from example import run, scale_sweep
from factory import cell, streamed, train_record, write_records
from refused import refused

from bench.publish.__main__ import main
from bench.publish.published import load_published
from zoo.sweep.records import SCALE_FILE as SCALE

SUITE = """\
attention = "fused"
pe = "rope,sin,none"
reference = "rope"

[published]
directory = "words/cpu"
title = "Three <encodings>"
text = "What a *tutorial* did."
data = "Whose words they are."
notes = ["They mask nothing."]
"""


def make_place(root: Path) -> Path:
    """A published directory with one run, next to the suite that made it.

    Without costs: a plot of these takes a second.
    """
    trained = [record for record in run() if record.kind == "train"]
    write_records(root / "results" / "words" / "cpu", trained)
    (root / "bench" / "suites").mkdir(parents=True)
    (root / "bench" / "suites" / "words.toml").write_text(SUITE)
    return root / "results"


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A published directory, with a run that no suite names and one of costs at lengths."""
    place = make_place(tmp_path_factory.mktemp("published"))
    others = [train_record(cell(pe="sin"), 0, 9), train_record("words", 0, 9)]
    write_records(place / "other" / "cpu", others)
    write_records(place / "scale" / "cpu" / "length", scale_sweep(), SCALE)
    assert main([str(place)]) == 0
    return place


def files(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_the_page_has_what_the_suite_and_the_records_say(published):
    page = (published / "words" / "cpu" / "README.md").read_text()
    assert page.startswith("# Three \\<encodings\\>\n")
    for part in ("What a \\*tutorial\\* did.", "They mask nothing.", "Holm", "| words "):
        assert part in page, part
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert len(links) > 3
    assert all((published / "words" / "cpu" / link).exists() for link in links)


def test_the_overview_links_every_page_and_says_what_it_answers(published):
    text = (published / "README.md").read_text()
    assert "On a GPU: not yet measured." in text
    assert "### [Three \\<encodings\\>](words/cpu/README.md)" in text
    assert "Use the baseline words: accuracy 0.980" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 2
    assert {link for link in links if not (published / link).exists()} <= {"simulations/README.md"}


def test_a_run_that_no_suite_names_is_published_too(published):
    page = (published / "other" / "cpu" / "README.md").read_text()
    assert page.startswith("# other/cpu\n")
    assert re.search(r"\| sin +\|", page)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("published = 3", "[published]"),
        ('[published]\ntitle = "A title"', "[published] directory: Field required"),
        (SUITE.replace("notes =", "note ="), "[published] has no key 'note'; did you mean 'notes'"),
        ("[published", "is not TOML"),
    ],
)
def test_a_wrong_table_is_refused_by_name(tmp_path, table, message):
    (tmp_path / "suite.toml").write_text(table)
    refused(re.escape(message), load_published, tmp_path / "suite.toml")


def test_bad_input_is_a_line_and_exit_2(place, tmp_path, refused_command):
    (tmp_path / "empty").mkdir()
    (place.parent / "bench" / "suites" / "twice.toml").write_text(SUITE)
    for directory, message in (
        (tmp_path / "gone", "gone: no such directory"),
        (tmp_path / "empty", "empty: no directory with records.jsonl in it"),
        (place, "words/cpu is published by"),
    ):
        assert message in refused_command(directory, command=main)


def test_a_suites_directory_without_records_is_a_notice(tmp_path, capsys):
    write_records(tmp_path / "results" / "other", [train_record(cell(), 0, 9)])
    suite = tmp_path / "bench" / "suites" / "later.toml"
    suite.parent.mkdir(parents=True)
    suite.write_text(SUITE.replace("words/cpu", "words/gpu"))
    assert main([str(tmp_path / "results")]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'results' / 'other'}\n"
    assert printed.err == f"notice: suite {suite} names words/gpu: no records there\n"


@pytest.mark.parametrize("wrong", ["records", "metric"])
def test_nothing_is_written_unless_all_can_be_read(place, refused_command, wrong):
    later, suites = place / "zz" / "cpu", place.parent / "bench" / "suites"
    if wrong == "records":
        later.mkdir(parents=True)
        (later / "records.jsonl").touch()
    else:
        write_records(later, run())
        text = SUITE.replace("words/cpu", "zz/cpu").replace("\n\n", '\nmetric = "nix"\n\n')
        (suites / "zz.toml").write_text(text)
    before = files(place)
    refused_command(place, command=main)
    assert files(place) == before


def test_comparisons_with_other_libraries_have_a_page_and_are_in_the_overview(place):
    line = {
        "work": "training", "ours": "all", "against": "theirs",
        "ratio": 1.2, "low": 1.1, "high": 1.3, "logs": [[0.18] * 12] * 2, "machine": "a machine",
    }  # fmt: skip
    (place / "peers" / "cpu").mkdir(parents=True)
    (place / "peers" / "cpu" / "lines.jsonl").write_text(f"{json.dumps(line)}\n")
    assert main([str(place)]) == 0
    page = (place / "peers" / "cpu" / "README.md").read_text()
    assert re.search(r"1\.200 \(1\.100 to 1\.300\) +\| faster", page)
    overview = (place / "README.md").read_text()
    assert "Of 1 comparison of equal work the zoo is faster in 1. Machine: " in overview.replace(
        "\n", " "
    )
    assert "[Every comparison](peers/cpu/README.md), cpu." in overview


def test_claims_have_one_page_with_a_line_each_and_no_report(tmp_path):
    root = make_place(tmp_path)
    rows = {"attention": "fused"}, {"attention": "linear"}
    solved, never = {1e-2: [9600] * 8}, {1e-2: [None] * 8}
    records = [
        *streamed(cell(**rows[0]), solved, name="copying"),
        *streamed(cell(**rows[1]), never, name="copying"),
    ]
    write_records(root / "claims" / "copying-linear", records)
    assert main([str(root)]) == 0
    page = (root / "claims" / "README.md").read_text()
    (shown,) = (line for line in page.splitlines() if "zoo claim copying-linear" in line)
    for part in ("**holds here**", "fused on copying: solved 8/8", "Jelassi", "| 8 "):
        assert part in shown, part
    assert "- `copying-linear`: The state of linear attention here" in page
    summary = "1 have been run: 1 held here, 0 did not, 0 undecided. "
    assert summary in (root / "README.md").read_text().replace("\n", " ")
    assert {file.name for file in (root / "claims" / "copying-linear").iterdir()} == {
        "records.jsonl"
    }
