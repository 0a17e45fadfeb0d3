"""Published results: pages from records and suites, compared with figures of others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from example import run, scale_sweep
from factory import cell, name, seeds, train_record, write_records
from refused import refused

from bench.publish.__main__ import main
from bench.publish.published import (
    PublishedFigure,
    load_published,
    make_figures,
    published_differences,
)
from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport
from zoo.report.stats.verdicts import Verdicts
from zoo.sweep.complete import read_run
from zoo.sweep.records import SCALE_FILE as SCALE

ROOT = Path(__file__).parents[3]
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
FIGURE = """
[[published.figures]]
name = "{0} of theirs"
cell = {{ pe = "{0}" }}
value = {1}
seconds = {2}
source = "a tutorial"
"""
SUITE += FIGURE.format("rope", 0.90, 100) + FIGURE.format("sin", 0.85, 150)
SUITE += FIGURE.format("none", 0.95, 50)


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


def section(text, heading):
    return text.partition(f"{heading}\n")[2].partition("\n#")[0]


def test_the_page_has_what_the_suite_and_the_records_say(published):
    page = (published / "words" / "cpu" / "README.md").read_text()
    assert page.startswith("# Three \\<encodings\\>\n")
    for part in ("What a \\*tutorial\\* did.", "They mask nothing.", "Holm", "| words "):
        assert part in page, part
    figures = section(page, "## Compared with published figures")
    assert re.search(r"rope of theirs +\| `rope` +\| 0\.900 +\| 0\.949 ± 0\.003 +\| 100 ", figures)
    assert "another machine" in figures
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert len(links) > 3
    assert all((published / "words" / "cpu" / link).exists() for link in links)


def test_the_overview_links_every_page_and_shows_the_best(published):
    text = (published / "README.md").read_text()
    assert "On a GPU: not yet measured." in text
    assert "## words, cpu" in text
    assert "Whose words they are." in text
    assert "1 other cell cannot be distinguished from the best cell." in text
    assert re.search(r"\| fused +\| rope +\| 2 × 64 +\| 2= +\| 0\.949 ± 0\.00\d", text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 4
    assert all((published / link).exists() for link in links)


def test_published_differences_are_real_ties_or_reversed(published):
    """Theirs: none 0.95, rope 0.90, sin 0.85. Ours: rope and sin tie, none far behind."""
    page = (published / "words" / "cpu" / "README.md").read_text()
    text = section(page, "### Which of the published differences are real")
    assert re.search(
        r"`none` against `rope` \| \+5\.0 points +\| -14\.6 ± .*\| real, reversed +\|", text
    )
    assert re.search(r"`rope` against `sin` +\|.*\| tie +\|", text)
    assert len(re.findall(r"\| real, reversed +\|", text)) == 2


def test_a_run_that_no_suite_names_is_published_too(published):
    page = (published / "other" / "cpu" / "README.md").read_text()
    assert page.startswith("# other/cpu\n")
    assert re.search(r"\| sin +\|", page)


def figures(wrong, values):
    records = [one for pe, counts in wrong.items() for one in seeds(cell(pe=pe), counts)]
    published = [
        PublishedFigure(name=pe, cell={"pe": pe}, value=value, source="a paper")
        for pe, value in values.items()
    ]
    rows = make_rows(records)
    verdicts = Verdicts(rows)
    return make_figures(rows, verdicts, published), verdicts


def test_a_published_difference_has_the_verdict_of_the_table():
    wrong = {"rope": [50, 52, 51, 49, 50], "sin": [90, 95, 91, 99, 92], "none": [51] * 5}
    made, verdicts = figures(wrong, {"sin": 0.8, "rope": 0.9})
    (found,) = published_differences(made, verdicts)
    assert (found.first.published.name, found.verdict) == ("rope", "real")
    assert found.ours == verdicts.pair(name(pe="rope"), name(pe="sin"))
    assert found.ours.adjusted > found.ours.p, "corrected for all pairs of the table"


def test_with_too_few_seeds_a_difference_is_unknown():
    (found,) = published_differences(
        *figures({"rope": [5], "sin": [90]}, {"sin": 0.8, "rope": 0.9})
    )
    assert found.verdict == ""


def test_a_figure_of_no_row_or_of_several_is_refused():
    says = "figure 'alibi': alibi is no row of the records"
    refused(says, figures, {"rope": [5]}, {"alibi": 0.9})
    several = [PublishedFigure(name="all", cell={"norm": "layer"}, value=0.9, source="a paper")]
    rows = make_rows([train_record(cell(pe=pe), 0, 5) for pe in ("rope", "sin")])
    refused("layer is not one row but several", make_figures, rows, Verdicts(rows), several)


def test_published_figures_have_the_verdicts_of_the_table():
    checked = 0
    for suite in sorted((ROOT / "bench" / "suites").glob("*.toml")):
        found = load_published(suite)
        for directory in found.directory if found and found.figures else ():
            place = ROOT / "results" / directory
            run = RunReport(read_run(place), found.reference)
            made = make_figures(run.recorded_rows, run.verdicts, found.figures)
            for one in published_differences(made, run.verdicts):
                verdict = run.verdicts.verdict(one.first.row.name, one.second.row.name)
                assert (one.verdict in ("real", "reversed")) == bool(verdict)
                checked += 1
    assert checked


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("published = 3", "[published]"),
        ('[published]\ntitle = "A title"', "[published] directory: Field required"),
        (SUITE.replace("notes =", "note ="), "[published] has no key 'note'; did you mean 'notes'"),
        (SUITE.replace("value =", "valeu ="), "[published] has no key 'valeu'; did you mean"),
        (
            SUITE.replace("value = 0.9\nseconds = 100\n", ""),
            "[published] figures.0: a figure needs value or seconds",
        ),
        (SUITE.replace("{ pe", "{ pea"), "[published] figures.0.cell: no axis 'pea'"),
        ("[published", "is not TOML"),
    ],
)
def test_a_wrong_table_is_refused_by_name(tmp_path, table, message):
    (tmp_path / "suite.toml").write_text(table)
    refused(re.escape(message), load_published, tmp_path / "suite.toml")


def test_bad_input_is_a_line_and_exit_2(place, tmp_path, refused_command):
    (tmp_path / "empty").mkdir()
    twice = tmp_path / "twice"
    twice.mkdir()
    for file in ("a.toml", "b.toml"):
        (twice / file).write_text(SUITE)
    for arguments, message in (
        ([tmp_path / "gone"], "gone: no such directory"),
        ([tmp_path / "empty"], "empty: no directory with records.jsonl in it"),
        ([place, "--suites", tmp_path / "gone"], "gone: no such directory"),
        ([place, "--suites", twice], "words/cpu is published by"),
    ):
        assert message in refused_command(*arguments, command=main)


def test_a_suites_directory_without_records_is_a_notice(tmp_path, capsys):
    write_records(tmp_path / "results" / "other", [train_record(cell(), 0, 9)])
    suite = tmp_path / "bench" / "suites" / "later.toml"
    suite.parent.mkdir(parents=True)
    suite.write_text(SUITE.replace("words/cpu", "words/gpu"))
    assert main([str(tmp_path / "results")]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'results' / 'other'}\n"
    assert printed.err == f"notice: suite {suite} names words/gpu: no records there\n"


@pytest.mark.parametrize("wrong", ["records", "reference", "figure"])
def test_nothing_is_written_unless_all_can_be(place, refused_command, wrong):
    later, suites = place / "zz" / "cpu", place.parent / "bench" / "suites"
    if wrong == "records":
        later.mkdir(parents=True)
        (later / "records.jsonl").touch()
    else:
        write_records(later, run())
        change = ('"rope"\n\n', '"nix"\n\n') if wrong == "reference" else ('"sin" }', '"nix" }')
        text = SUITE.replace("words/cpu", "zz/cpu").replace(*change)
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
    assert "of 1 comparison the zoo is faster in 1, and the whole interval" in overview
    assert "[Every comparison](peers/cpu/README.md), cpu." in overview
