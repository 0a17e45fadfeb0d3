"""Published pages that compare: a run with another one, and the zoo with other libraries."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from factory import cell, seeds, with_config, write_records
from scipy import stats

from bench.publish.__main__ import main

SUITE = """\
attention = "fused"

[published]
directory = "words/{0}"
title = "Batches: {0}"
"""
COMPARED = SUITE + 'compared_with = "words/length"\nmay_differ = ["batching"]\n'
WRONG = {"length": [50, 52, 55, 49, 51], "random": [60, 75, 61, 70, 55]}


def trained(name: str, **training: object):
    return with_config(seeds(cell(), WRONG[name]), "training", **{"batching": name, **training})


@pytest.fixture
def place(tmp_path) -> Path:
    """Two published runs, of which the later suite names the earlier one."""
    suites = tmp_path / "bench" / "suites"
    suites.mkdir(parents=True)
    for name, suite in (("length", SUITE), ("random", COMPARED)):
        (suites / f"{name}.toml").write_text(suite.format(name))
        write_records(tmp_path / "results" / "words" / name, trained(name))
    return tmp_path / "results"


def test_a_run_is_compared_with_the_one_that_its_suite_names(place):
    assert main([str(place)]) == 0
    page = (place / "words" / "random" / "README.md").read_text()
    assert "## Compared with another run: [Batches: length](../length/README.md)" in page
    assert "Settings that differ on purpose: batching length → random." in page
    low, high = stats.ttest_rel(WRONG["length"], WRONG["random"]).confidence_interval(0.95)
    change = f"{(low + high) / 20:+.1f} ± {(high - low) / 20:.1f} points"
    assert re.search(rf"\| fused .*\| {re.escape(change)} +\| worse: accuracy", page)
    overview = (place / "README.md").read_text()
    link = "[Batches: length](words/length/README.md)"
    assert f"Compared with {link} (`batching` `random` instead of `length`): `fused" in overview
    assert f"{change}." in overview
    assert "Compared with another run" not in (place / "words" / "length" / "README.md").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 20}, "fused+rope+layer+gelu+pre+mean is not comparable: other settings"),
        ({"batching": "length"}, "--may-differ batching: not a setting in which the runs differ"),
        (None, "compared_with words/length: no records there"),
    ],
)
def test_runs_that_differ_in_anything_else_are_refused(place, refused_command, change, message):
    if change is None:
        (place / "words" / "length" / "records.jsonl").unlink()
    else:
        write_records(place / "words" / "random", trained("random", **change))
    line = refused_command(place, command=main)
    assert "random.toml: [published] compared_with words/length: " in line
    assert message in line
    assert not (place / "README.md").exists()


def test_comparisons_with_other_libraries_have_a_page_and_are_in_the_overview(place):
    line = {
        "kind": "equal", "work": "training", "ours": "all", "theirs": "all", "against": "theirs",
        "ratio": 1.2, "low": 1.1, "high": 1.3, "logs": [[0.18] * 12] * 2, "machine": "a machine",
    }  # fmt: skip
    (place / "peers" / "cpu").mkdir(parents=True)
    (place / "peers" / "cpu" / "lines.jsonl").write_text(f"{json.dumps(line)}\n")
    assert main([str(place)]) == 0
    page = (place / "peers" / "cpu" / "README.md").read_text()
    assert re.search(r"1\.200 \(1\.100 to 1\.300\) +\| faster", page)
    assert "Nothing is measured yet." in page.partition("## What the zoo leaves out")[2]
    overview = (place / "README.md").read_text()
    assert "of 1 comparison the zoo is faster in 1, and the whole interval" in overview
    assert "[Every comparison](peers/cpu/README.md), cpu." in overview
