"""Published results: pages from records and suites, and what they may say of others' figures."""

from __future__ import annotations

import re

import numpy as np
import pytest
from bench.publish.classes import class_report
from example import run
from factory import CONFIG, cell, name, record, trial
from sklearn.metrics import precision_recall_fscore_support
from test_scaling import sweep

from bench.publish.published_figures import make_figures, published_differences
from bench.publish.suite_page import Beside
from zoo.cli import main
from zoo.errors import ZooError
from zoo.report.tables.rows import make_rows
from zoo.sweep.records import RecordFile
from zoo.sweep.scale import FILE as SCALE

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
[[published.beside]]
name = "{0} of theirs"
cell = {{ pe = "{0}" }}
value = {1}
seconds = {2}
source = "a tutorial"
"""
SUITE += FIGURE.format("rope", 0.90, 100) + FIGURE.format("sin", 0.85, 150)
SUITE += FIGURE.format("none", 0.95, 50)


@pytest.fixture
def place(tmp_path):
    """A published directory with one run, and the suite that made it."""
    written(tmp_path / "results" / "words" / "cpu", run())
    (tmp_path / "bench" / "suites").mkdir(parents=True)
    (tmp_path / "bench" / "suites" / "words.toml").write_text(SUITE)
    return tmp_path / "results"


def written(path, records):
    file = RecordFile(path)
    with file.held():
        for one in records:
            file.append(one)
    (path / ".lock").unlink()


def files(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def section(text, heading):
    return text.partition(f"{heading}\n")[2].partition("\n#")[0]


def test_everything_is_made_from_records_and_twice_the_same(place, tmp_path, capsys):
    assert main(["results", str(place)]) == 0
    assert str(place / "words" / "cpu") in capsys.readouterr().out
    made = files(place)
    assert main(["results", str(place), "--out", str(tmp_path / "again")]) == 0
    again = files(tmp_path / "again")
    assert {p for p in made if p.name != "records.jsonl"} == set(again)
    assert all(made[path] == content for path, content in again.items())


def test_the_page_says_what_the_suite_and_the_records_say(place):
    assert main(["results", str(place)]) == 0
    page = (place / "words" / "cpu" / "README.md").read_text()
    assert page.startswith("# Three \\<encodings\\>\n")
    for part in ("What a \\*tutorial\\* did.", "They mask nothing.", "Holm", "| words "):
        assert part in page, part
    beside = section(page, "## Beside the published figures")
    assert re.search(r"rope of theirs +\| `rope` +\| 0\.900 +\| 0\.949 ± 0\.003 +\| 100 ", beside)
    assert "another machine" in beside
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert len(links) > 3
    assert all((place / "words" / "cpu" / link).exists() for link in links)


def test_the_overview_links_what_there_is_and_shows_the_best(place):
    assert main(["results", str(place)]) == 0
    text = (place / "README.md").read_text()
    assert "## words, cpu" in text
    assert "Whose words they are." in text
    assert "2 rows cannot be told from the best." in text
    assert re.search(r"\| fused +\| rope +\| 1= +\| 0\.949 ± 0\.003", text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 4
    assert all((place / link).exists() for link in links)


def test_published_differences_are_real_ties_or_reversed(place):
    """Theirs: none 0.95, rope 0.90, sin 0.85. Ours: rope and sin tie, none far behind."""
    assert main(["results", str(place)]) == 0
    page = (place / "words" / "cpu" / "README.md").read_text()
    told = section(page, "### Which of the published differences are real")
    assert "Of 3 published differences, 0 hold over 5 seeds." in told
    assert "2 are real the other way round: `none` against `rope` (-14.6 ± " in told
    assert "1 cannot be told from chance: `rope` against `sin`." in told
    assert len(re.findall(r"\| real, reversed +\|", told)) == 2


def figures(wrong, values):
    records = [trial(cell(pe=pe), s, w) for pe, ws in wrong.items() for s, w in enumerate(ws)]
    beside = [
        Beside(name=pe, cell={"pe": pe}, value=value, source="a paper")
        for pe, value in values.items()
    ]
    return make_figures(make_rows(records), beside)


def test_a_real_difference_is_corrected_for_the_published_ones_alone():
    """Two figures are one difference, whatever other rows there are."""
    wrong = {"rope": [50, 52, 51, 49, 50], "sin": [90, 95, 91, 99, 92], "none": [50] * 5}
    (found,) = published_differences(figures(wrong, {"sin": 0.8, "rope": 0.9}))
    assert (found.first.published.name, found.verdict) == ("rope", "real")
    assert found.here.adjusted == found.here.p


def test_too_few_seeds_tell_nothing_of_a_difference():
    (found,) = published_differences(figures({"rope": [5], "sin": [90]}, {"sin": 0.8, "rope": 0.9}))
    assert found.verdict == ""


def test_a_figure_of_no_row_or_of_several_is_refused():
    with pytest.raises(ZooError, match="beside 'alibi': alibi is no row of the records"):
        figures({"rope": [5]}, {"alibi": 0.9})
    beside = [Beside(name="all", cell={"norm": "layer"}, value=0.9, source="a paper")]
    records = [trial(cell(pe=pe), 0, 5) for pe in ("rope", "sin")]
    with pytest.raises(ZooError, match="layer is not one row but several"):
        make_figures(make_rows(records), beside)


def test_the_class_report_is_scikit_learns_seed_by_seed(generator):
    """Precision, recall, F1 and support from confusion matrices; a class never predicted too."""
    labels, scored = ["a", "b", "c"], []
    config = {**CONFIG, "data": {**CONFIG["data"], "labels": labels}}
    records = []
    for seed in range(4):
        truth = generator.integers(0, 3, 200)
        given = np.where(generator.random(200) < 0.7, truth, generator.integers(0, 2, 200))
        given[given == 2] = 1
        confusion = np.zeros((3, 3), dtype=int)
        np.add.at(confusion, (truth, given), 1)
        metrics = {"accuracy": float((truth == given).mean()), "confusion": confusion.tolist()}
        records.append(record("trial", seed=seed, cell=cell(), config=config, metrics=metrics))
        scored.append(precision_recall_fscore_support(truth, given, zero_division=0))
    (row,) = make_rows(records)
    expected = np.mean(scored, axis=0)
    found = class_report(row)
    assert [one.label for one in found] == labels
    for i, one in enumerate(found):
        means = (one.precision.mean, one.recall.mean, one.f1.mean, one.support)
        assert means == pytest.approx(tuple(expected[:, i]))
    spread = np.std([s[2][0] for s in scored], ddof=1)
    assert found[0].f1.half == pytest.approx(3.18245 * spread / 2, rel=1e-4)


def test_bad_input_is_a_line_and_exit_2(place, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    twice = tmp_path / "twice"
    twice.mkdir()
    for file in ("a.toml", "b.toml"):
        (twice / file).write_text(SUITE)
    for arguments, told in (
        ([str(tmp_path / "gone")], "gone: no such directory"),
        ([str(tmp_path / "empty")], "empty: no directory with records.jsonl in it"),
        ([str(place), "--suites", str(tmp_path / "gone")], "gone: no such directory"),
        ([str(place), "--suites", str(twice)], "words/cpu is published by"),
    ):
        assert main(["results", *arguments]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert told in line


def test_a_directory_of_a_suite_without_records_is_told(place, capsys):
    suite = place.parent / "bench" / "suites" / "later.toml"
    suite.write_text(SUITE.replace("words/cpu", "words/gpu"))
    assert main(["results", str(place)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{place / 'words' / 'cpu'}\n"
    assert told.err == f"notice: suite {suite} names words/gpu: no records there\n"


@pytest.mark.parametrize("wrong", ["records", "reference", "figure"])
def test_nothing_is_written_unless_all_can_be(place, capsys, wrong):
    later, suites = place / "zz" / "cpu", place.parent / "bench" / "suites"
    if wrong == "records":
        later.mkdir(parents=True)
        (later / "records.jsonl").touch()
    else:
        written(later, run())
        change = ('"rope"\n\n', '"nix"\n\n') if wrong == "reference" else ('"sin" }', '"nix" }')
        text = SUITE.replace("words/cpu", "zz/cpu").replace(*change)
        (suites / "zz.toml").write_text(text)
    before = files(place)
    assert main(["results", str(place)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert files(place) == before


def test_a_run_that_no_suite_names_is_published_all_the_same(place):
    written(place / "other" / "cpu", [trial(cell(pe="sin"), 0, 9), trial("words", 0, 9)])
    assert main(["results", str(place)]) == 0
    assert (place / "other" / "cpu" / "README.md").read_text().startswith("# other/cpu\n")
    assert f"`{name(pe='sin')}`" in (place / "other" / "cpu" / "README.md").read_text()


def test_what_scale_measured_is_published_beside_the_runs(place, tmp_path):
    home = place / "scale" / "cpu" / "length"
    file = RecordFile(home, SCALE)
    with file.held():
        for one in sweep():
            file.append(one)
    (home / ".lock").unlink()
    made = tmp_path / "made"
    assert main(["results", str(place), "--out", str(made)]) == 0
    page = (made / "scale" / "cpu" / "length" / "README.md").read_text()
    assert page.startswith("# How cost grows with length\n")
    assert "| fused  |" in page
    assert "2.00 (2.00 to 2.00)" in page  # naive's, by construction
    overview = (made / "README.md").read_text()
    assert "## scale, cpu\n" in overview
    for link in re.findall(r"\((scale/\S+?)\)", overview):
        assert link.endswith(SCALE) or (made / link).is_file(), link
