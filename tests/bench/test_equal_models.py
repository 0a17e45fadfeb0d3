"""What the page says of models that were timed against themselves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from markdown_tables import cells

from bench.equal_models import COPIES, LINES, main

HALF = 0.02  # of every interval, as a logarithm


def ratio(value: float, *, contended: bool) -> dict[str, float]:
    low, high = value * np.exp([-HALF, HALF])
    return {"value": value, "low": low, "high": high, "contended": contended}


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    draw = np.random.default_rng(0)
    found = []
    for busy in (False, True):
        for _ in range(10):
            copies = np.exp(draw.normal(0, 0.01, (COPIES, 2)))
            pairs = [*copies, (0.8, 0.7)]
            ratios = [[ratio(one, contended=busy) for one in pair] for pair in pairs]
            measured = {"blocks": 12, "contention": 1.0 + busy, "seconds": 9.0, "cpu_seconds": 3.0}
            about = {"machine": "a machine", "commit": "0" * 40}
            found.append({"busy": busy, "ratios": ratios, **measured, **about})
    # Too far from 1 for a quiet machine, and near enough for a busy one.
    for line in (found[0], found[-1]):
        line["ratios"][0][0] = ratio(1.05, contended=line["busy"])
    return found


def test_the_page_has_spread_verdicts_and_coverage(lines, tmp_path, capsys):
    (tmp_path / LINES).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["--jobs", "10", "--out", str(tmp_path)]) == 0  # as many as are there
    assert len((tmp_path / LINES).read_text().splitlines()) == len(lines)
    text = (tmp_path / "README.md").read_text()
    assert text in capsys.readouterr().out
    rows = [row for row in cells(text) if row[0] in ("quiet", "busy")]
    assert [row[:2] for row in rows] == [
        [machine, phase] for machine in ("quiet", "busy") for phase in ("training", "inference")
    ]
    for number, row in enumerate(rows):
        of = [line for line in lines if line["busy"] == (number > 1)]
        values = [one[number % 2]["value"] for line in of for one in line["ratios"][:COPIES]]
        assert row[2] == "30"
        assert row[3] == f"{np.sqrt(np.mean(np.log(values) ** 2)):.1%}"
        assert row[4] == f"{HALF:.1%}"
        assert row[5] == f"{np.mean(np.abs(np.log(values)) <= HALF):.1%}"
        assert row[6] == ("3.3%" if number == 0 else "0.0%")
        assert row[7].startswith(("0.80", "0.70")[number % 2])
