"""The pages about reports and claims have the published rates of wrong verdicts."""

import re

import pytest

from bench.docs.place import RESULTS, SOURCES

TEXT = "".join((SOURCES / page).read_text("utf-8") for page in ("reading-a-report.md", "claims.md"))


def test_the_measured_rates_are_the_published_ones():
    pytest.importorskip("jupytext", reason="the extra docs is not installed")
    from bench.docs.__main__ import simulated

    published = (RESULTS / "simulations" / "README.md").read_text("utf-8")
    wanted = re.findall(r"^<!-- made: simulated (.+) -->$", TEXT, re.MULTILINE)
    made = simulated()
    assert (
        set(wanted) == set(made) == {t.lower() for t in re.findall(r"^## (.+)$", published, re.M)}
    )
    for name in wanted:
        assert made[name] in published
        assert made[name].count("\n| ") >= 2
