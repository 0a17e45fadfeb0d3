"""Published results are made from records and suites alone."""

import json
import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from bench.commit import written
from bench.publish.__main__ import publish
from bench.publish.others import COMPONENTS, STUDIES
from bench.publish.page import CURRENT, NOT_CURRENT, PAGE
from bench.publish.published import load_published, published_pages, published_profile
from bench.results import suite_command
from zoo.cli import main
from zoo.report.run_report import RunReport
from zoo.report.write import write_tables
from zoo.sweep.records import directories_of, read_run

ROOT = Path(__file__).parents[3]
RESULTS, SUITES = ROOT / "results", ROOT / "bench" / "suites"
# All else is made from these.
MEASURED = {"records.jsonl", "records.jsonl.xz", "lines.jsonl", "checks.jsonl"}
# Of claims the records alone are published, and one page of all.
RUNS = [
    place for place in directories_of(RESULTS) if place.relative_to(RESULTS).parts[0] != "claims"
]
# Their bytes depend on the libraries that draw (SVG) and compress (PNG), and the page contains
# plots: they are compared with the pinned versions. All other bytes depend on the records alone.
CURRENCY = re.compile(rf"^({CURRENT}|{NOT_CURRENT}) .*\n\n".encode(), re.MULTILINE)
DRAWN = {".png", ".svg", ".html"}


# Of these a few seconds make again all kinds of plots, and the pages of each kind of run.
SMALL = ("tutorial/cpu", "diagnostics/cpu/lengths")


def _files(root: Path) -> set[Path]:
    there = {path.relative_to(root) for path in root.rglob("*") if path.is_file()}
    kept = {*MEASURED, ".lock"}  # and studies that were made once
    return {path for path in there if path.name not in kept and path.parts[0] not in STUDIES}


def _bytes(file: Path) -> bytes:
    """What depends on the records alone: a page also says whether the code has changed since."""
    content = file.read_bytes()
    return CURRENCY.sub(b"", content) if file.name == PAGE else content


def _changed(made: Path, published: Path) -> list[str]:
    """The files that are not byte for byte the published ones."""
    constraints = (ROOT / "constraints.txt").read_text()
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", constraints, re.MULTILINE))
    drawn = all(version(library) == pinned[library] for library in ("matplotlib", "pillow"))
    paths = _files(made) | _files(published)
    return [
        path.as_posix()
        for path in sorted(paths)
        if drawn or path.suffix not in DRAWN
        if not (made / path).exists()
        or not (published / path).exists()
        or _bytes(made / path) != _bytes(published / path)
    ]


@pytest.mark.slow
def test_all_that_is_published_is_made_again_byte_for_byte(tmp_path):
    publish(RESULTS, SUITES, tmp_path)
    assert _changed(tmp_path, RESULTS) == []
    pages = (page.relative_to(tmp_path) for page in tmp_path.rglob(PAGE))
    said = {
        page: CURRENCY.findall((tmp_path / page).read_bytes())
        == CURRENCY.findall((RESULTS / page).read_bytes())
        for page in pages
    }
    assert [page for page, same in said.items() if not same] == [], "run: python -m bench.publish"


def test_a_part_of_it_is_made_again_byte_for_byte(tmp_path):
    for place in SMALL:
        for file in (RESULTS / place).rglob("*.jsonl"):
            copy = tmp_path / "results" / file.relative_to(RESULTS)
            copy.parent.mkdir(parents=True)
            shutil.copy(file, copy)
    suites = shutil.copytree(SUITES, tmp_path / "bench" / "suites")
    publish(tmp_path / "results", suites, tmp_path / "made")
    for place in SMALL:
        assert _changed(tmp_path / "made" / place, RESULTS / place) == []


def test_all_published_tables_are_made_again_byte_for_byte(tmp_path):
    pages = published_pages(SUITES)
    for run in RUNS:
        place = run.relative_to(RESULTS).as_posix()
        _, published = pages.get(place, (None, None))
        (tmp_path / place).mkdir(parents=True)
        write_tables(
            RunReport(read_run(run), published.metric if published else ""), tmp_path / place
        )
    for place, (suite, _) in pages.items():
        if profile := published_profile(RESULTS / place, suite):
            write_tables(profile, tmp_path / place)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) > 3 * len(RUNS)
    for path in made:
        assert (tmp_path / path).read_bytes() == (RESULTS / path).read_bytes(), path


def _commits(file: Path) -> set[str]:
    """The commits that stand behind a file's lines; "" for a line that says none."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if file.parts[-3] == COMPONENTS:  # of these the first alone says where they come from
        lines = lines[:1]
    return {
        written(line["environment"]["git"]) if "environment" in line else line.get("commit", "")
        for line in lines
    }


@pytest.mark.parametrize("name", ["lines.jsonl", "exchanges.jsonl", "checks.jsonl"])
def test_one_commit_stands_behind_lines_that_are_no_records(name):
    """Records say by hashes what they depend on, and need not be of one commit."""
    commits = {path.parent.name: _commits(path) for path in RESULTS.rglob(name)}
    assert commits
    assert [place for place, found in commits.items() if len(found) != 1 or "" in found] == []


@pytest.mark.parametrize("suite", sorted(SUITES.glob("*.toml")), ids=lambda path: path.name)
def test_a_suites_header_has_command_run_time_and_result(suite):
    header = re.match(r"(?:#.*\n)+", suite.read_text())
    assert re.search(r"^# Run time: \S", header[0], re.MULTILINE)
    assert re.search(r"^# Expected: \S", header[0], re.MULTILINE)
    published = load_published(suite)
    if published is None:  # a study, whose page is of several runs
        assert f"zoo bench --suite {suite.relative_to(ROOT)} --out" in header[0]
        return
    command = suite_command(suite.relative_to(ROOT), published)
    words = " ".join(["zoo", *command, "--out", f"results/{published.directory[0]}"])
    words = re.sub(r"--jobs \d+", "--jobs 2", words)  # the header is of a machine with two cores
    assert f"{words}\n" in re.sub(r" \\\n# +", " ", header[0])


def _planned(suite: Path) -> object:
    """The data sets of diagnostics.toml take half a minute to make."""
    marks = [pytest.mark.slow] if suite.name == "diagnostics.toml" else []
    return pytest.param(suite, marks=marks, id=suite.name)


@pytest.mark.parametrize("suite", [_planned(file) for file in sorted(SUITES.glob("*.toml"))])
def test_a_suite_can_be_planned(suite, monkeypatch, tmp_path):
    (tmp_path / "data" / "bbc-news").mkdir(parents=True)  # a plan does not read it
    monkeypatch.chdir(tmp_path)
    arguments = ["bench", "--suite", str(suite), "--plan"]
    # A plug-in that is not installed here, or is disabled, comes from its folder.
    for name in re.findall(r"pip install .*\./plugins/(\S+)", suite.read_text()):
        if main(arguments) != 0:
            folder = ROOT / "plugins" / name
            monkeypatch.syspath_prepend(folder)
            arguments += ["--plugin", str(folder / name.replace("-", "_") / "__init__.py")]
    assert main(arguments) == 0


def test_every_published_run_has_its_suite():
    published = [load_published(suite) for suite in SUITES.glob("*.toml")]
    places = {place for one in published if one for place in one.directory}
    found = {run.relative_to(RESULTS) for run in RUNS}
    # A run of several data sets has a directory for each.
    alone = [run for run in found if not {run.as_posix(), run.parent.as_posix()} & places]
    assert alone == []
