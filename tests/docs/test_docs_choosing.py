"""What the page on choosing parts says is what the published tables hold."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import pytest

from bench.docs.choosing import NAMED
from bench.docs.evidence import published_runs
from bench.docs.place import RESULTS, SOURCES
from bench.readme import BLOCK, filled

PAGE = (SOURCES / "choosing.md").read_text("utf-8")
PROFILES = sorted(RESULTS.rglob("profile.csv"))


@pytest.fixture(scope="module")
def sections() -> dict[tuple[str, str], str]:
    """(directory of the run, data set) to the section about it."""
    found = {}
    for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        link = re.match(r"\[.*?\]\(\.\./results/(.+?)/[^/]+/README\.md\)", part)
        name = re.match(r"\[(.+?)\]\(\.\./results", part)
        found[link[1], name[1].replace("\\", "")] = part
    return found


def tables() -> Iterator[tuple[str, str, list[dict[str, str]]]]:
    for file in PROFILES:
        with file.open(encoding="utf-8") as opened:
            lines = list(csv.DictReader(opened))
        for data in dict.fromkeys(line["data"] for line in lines):
            own = [line for line in lines if line["data"] == data and line["mean"]]
            yield file.parent.relative_to(RESULTS).as_posix(), data, own


TABLES = list(tables())


@pytest.mark.parametrize(("place", "data", "lines"), TABLES, ids=[f"{p}-{d}" for p, d, _ in TABLES])
def test_the_best_rows_and_the_worse_ones_are_the_tables(place, data, lines, sections):
    said = sections[place, data]
    if not any(one["best"] for one in lines):
        assert "distinguished" not in said, "too few seeds"
        return
    for value, lead in (("True", "Best, or not distinguished from it"), ("False", "Worse")):
        rows = sorted(
            (one for one in lines if one["best"] == value), key=lambda one: -float(one["mean"])
        )
        if not [one for one in lines if one["best"] == "False"]:
            assert "No row is distinguished from the best one." in said
            return
        sentence = re.search(rf"^- {lead}: (.+)\.$", said, re.MULTILINE)
        named = re.findall(r"`(.+?)` ([\d.]+)", sentence[1])
        assert [name for name, _ in named] == [one["row"] for one in rows[:NAMED]]
        for (_, shown), one in zip(named, rows, strict=False):
            assert float(shown) == pytest.approx(float(one["mean"]), abs=0.00051)


@pytest.mark.parametrize(("place", "data", "lines"), TABLES, ids=[f"{p}-{d}" for p, d, _ in TABLES])
def test_with_how_many_seeds_a_row_solves_a_task_is_the_tables(place, data, lines, sections):
    said = sections[place, data]
    for lead, wanted in (
        ("Solved with every seed", lambda solved, seeds: solved == seeds),
        ("Solved with some seeds", lambda solved, seeds: 0 < solved < seeds),
        ("Solved with no seed", lambda solved, seeds: solved == 0),
    ):
        rows = [one for one in lines if one["solved"]]
        rows = [one for one in rows if wanted(float(one["solved"]), int(one["seeds"]))]
        sentence = re.search(rf"^- {lead}: (.+)\.$", said, re.MULTILINE)
        assert bool(sentence) == bool(rows)
        if sentence:
            named = re.findall(r"`(.+?)`", sentence[1])
            assert len(named) == min(len(rows), NAMED)
            assert set(named) <= {one["row"] for one in rows}


def test_every_published_run_is_on_the_page():
    for run in published_runs():
        assert f"(../results/{run.page})" in PAGE


def test_the_page_in_the_repository_is_what_the_records_say():
    assert filled(PAGE) == PAGE


def test_no_figure_is_typed_by_hand():
    assert re.findall(r"\d", BLOCK.sub("", PAGE)) == []
