"""Published results are made from records and suites alone."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from bench.commit import written
from bench.publish.__main__ import main as publish
from bench.publish.components_page import COMPONENTS
from bench.publish.published import load_published
from zoo.cli import main

ROOT = Path(__file__).parents[1]
RESULTS, SUITES = ROOT / "results", ROOT / "bench" / "suites"
# All else is made from these.
MEASURED = {"records.jsonl", "scale.jsonl", "lines.jsonl", "checks.jsonl"}
RUNS = sorted(path.parent for path in RESULTS.rglob("records.jsonl"))
# Their bytes depend on the libraries that draw (SVG) and compress (PNG), and the page contains
# plots: they are compared with the pinned versions. All other bytes depend on the records alone.
DRAWN = {".png", ".svg", ".html"}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("results")
    assert publish([str(RESULTS), "--out", str(out)]) == 0
    return out


def _drawn(path: Path) -> bool:
    return path.suffix in DRAWN


def _files(root: Path) -> set[Path]:
    made = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {p.relative_to(root) for p in made if p.name not in MEASURED}


@pytest.mark.slow
def test_nothing_is_published_that_was_not_made(rebuilt: Path):
    assert _files(RESULTS) == _files(rebuilt)
    assert len(RUNS) >= 2


def _commits(file: Path) -> set[str]:
    """The commits that stand behind a file's lines; "" for a line that says none."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if file.parts[-3] == COMPONENTS:  # of these the first alone says where they come from
        lines = lines[:1]
    return {
        written(line["environment"]["git"]) if "environment" in line else line.get("commit", "")
        for line in lines
    }


def test_one_commit_stands_behind_every_published_line():
    commits = {
        path.relative_to(RESULTS).as_posix(): _commits(path)
        for path in RESULTS.rglob("*")
        if path.name in MEASURED
    }
    assert len(set().union(*commits.values())) == 1, commits


@pytest.mark.slow
def test_rebuilding_changes_no_byte(rebuilt: Path):
    for path in sorted(path for path in _files(rebuilt) if not _drawn(path)):
        assert (rebuilt / path).read_bytes() == (RESULTS / path).read_bytes(), path


@pytest.mark.slow
def test_drawing_again_changes_no_byte(rebuilt: Path):
    constraints = (ROOT / "constraints.txt").read_text()
    for library in ("matplotlib", "pillow"):
        pinned = re.search(rf"^{library}==(\S+)$", constraints, re.MULTILINE)
        assert pinned is not None
        if version(library) != pinned[1]:
            pytest.skip(f"plots are byte for byte those of {library} {pinned[1]}, which is pinned")
    for path in sorted(path for path in _files(rebuilt) if _drawn(path)):
        assert (rebuilt / path).read_bytes() == (RESULTS / path).read_bytes(), path


@pytest.mark.parametrize("suite", sorted(SUITES.glob("*.toml")), ids=lambda path: path.name)
def test_a_suites_header_has_command_run_time_and_result(
    suite: Path, monkeypatch: pytest.MonkeyPatch
):
    header = re.match(r"(?:#.*\n)+", suite.read_text())
    assert header is not None
    assert f"zoo bench --suite bench/suites/{suite.name} " in header[0]
    assert re.search(r"^# Run time: \S", header[0], re.MULTILINE)
    assert re.search(r"^# Expected: \S", header[0], re.MULTILINE)
    arguments = ["bench", "--suite", str(suite), "--plan"]
    # A plug-in that is not installed here, or is disabled, comes from its folder.
    for name in re.findall(r"pip install .*\./plugins/(\S+)", header[0]):
        if main(arguments) != 0:
            folder = ROOT / "plugins" / name
            monkeypatch.syspath_prepend(folder)
            arguments += ["--plugin", str(folder / name.replace("-", "_") / "__init__.py")]
    assert main(arguments) == 0


@pytest.mark.parametrize("suite", sorted(SUITES.glob("*.toml")), ids=lambda path: path.name)
def test_a_suites_command_writes_where_it_is_published(suite: Path):
    published = load_published(suite)
    if published is not None:
        assert f"--out results/{published.directory[0]}\n" in suite.read_text()


def test_every_published_run_has_its_suite():
    published = [load_published(suite) for suite in SUITES.glob("*.toml")]
    places = {place for one in published if one for place in one.directory}
    found = {run.relative_to(RESULTS) for run in RUNS}
    # A run of several data sets has a directory for each.
    alone = [run for run in found if not {run.as_posix(), run.parent.as_posix()} & places]
    assert alone == []
