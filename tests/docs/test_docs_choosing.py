"""What the page on choosing parts says is what the published tables hold."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import pytest

from bench.docs.choosing import NAMED, by_task, on_text
from bench.docs.evidence import published_runs
from bench.docs.place import RESULTS, SOURCES

PROFILES = sorted(RESULTS.rglob("profile.csv"))


@pytest.fixture(scope="module")
def sections() -> dict[tuple[str, str], str]:
    """(directory of the run, data set) to the section about it."""
    found = {}
    for part in re.split(r"^### ", by_task(), flags=re.MULTILINE)[1:]:
        link = re.match(r"\[.*?\]\(results/(.+?)/[^/]+/README\.md\)", part)
        name = re.match(r"\[(.+?)\]\(results", part)
        assert link is not None
        assert name is not None
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
def test_the_best_rows_and_the_worse_ones_are_the_tables(place, data, lines, sections) -> None:
    said = sections[place, data]
    for value, lead in (("True", "Best, or not distinguished from it"), ("False", "Worse")):
        rows = sorted(
            (one for one in lines if one["best"] == value), key=lambda one: -float(one["mean"])
        )
        if not [one for one in lines if one["best"] == "False"]:
            assert "No row is distinguished from the best one." in said
            return
        sentence = re.search(rf"^- {lead}: (.+)\.$", said, re.MULTILINE)
        assert sentence is not None
        named = re.findall(r"`(.+?)` ([\d.]+)", sentence[1])
        assert [name for name, _ in named] == [one["row"] for one in rows[:NAMED]]
        for (_, shown), one in zip(named, rows, strict=False):
            assert float(shown) == pytest.approx(float(one["mean"]), abs=0.00051)


@pytest.mark.parametrize(("place", "data", "lines"), TABLES, ids=[f"{p}-{d}" for p, d, _ in TABLES])
def test_rows_at_chance_are_the_tables(place, data, lines, sections) -> None:
    low = [one["row"] for one in lines if one["at_chance"] == "True"]
    sentence = re.search(
        r"^- Not shown to be better than chance.*?: (.+)\.$", sections[place, data], re.M
    )
    assert bool(sentence) == bool(low)
    if sentence:
        assert set(re.findall(r"`(.+?)`", sentence[1])) <= set(low)


def test_every_published_run_is_on_the_page() -> None:
    text = by_task() + on_text()
    for run in published_runs():
        assert f"(results/{run.page})" in text


def test_no_figure_is_typed_by_hand() -> None:
    text = (SOURCES / "choosing.md").read_text("utf-8")
    assert re.findall(r"\d", text) == []
