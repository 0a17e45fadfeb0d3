"""Claims of papers, held against the verdicts of each data set of a published run."""

import pytest
from example import ACCURACIES, grouped, records_of
from factory import write_records

from bench.publish.__main__ import main

CLAIM = """
[[published.claims]]
data = "{}"
better = "{}"
worse = "{}"
text = "{}"
source = "a paper"
"""
SUITE = """\
attention = "fused"

[published]
directory = "profile/cpu"
title = "A profile"
"""
SUITE += CLAIM.format("alpha", "rope", "none", "rope 99, none 90")
SUITE += CLAIM.format("gamma", "sin", "rope", "sin beats rope")
SUITE += CLAIM.format("zeta", "sin", "none", "sin beats none")
LONG = 'alpha"\ngroup = "long'
ON_GROUPS = CLAIM.format(LONG, "rope", "none", "rope is as good on long ones")
ON_GROUPS += CLAIM.format(LONG, "rope", "sin", "sin is worse on long ones")


@pytest.fixture
def place(tmp_path):
    """Two seeds of zeta decide nothing. On long texts of alpha rope is worse than sin."""
    found = tmp_path / "results" / "profile" / "cpu"
    long = {"rope": 0.5, "sin": 0.7, "none": 0.5}
    for data in ("alpha", "gamma", "zeta"):
        records = records_of(data, ACCURACIES[data], 2 if data == "zeta" else 5)
        if data == "alpha":
            records = [
                grouped(one, {"short": 0.99, "long": long[one.cell["pe"]] + 0.01 * one.seed})
                for one in records
            ]
        write_records(found / data, records)
    (tmp_path / "bench" / "suites").mkdir(parents=True)
    return found


def published(place, suite):
    """The arguments of the program that publishes, once the suite is there."""
    results = place.parents[1]
    (results.parent / "bench" / "suites" / "profile.toml").write_text(suite)
    return [str(results)]


def test_claims_are_held_against_the_verdicts_of_each_data_set(place):
    assert main(published(place, SUITE + ON_GROUPS)) == 0
    page = (place / "README.md").read_text()
    assert "held here 1, not held 2, undecided 2" in page
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if "a paper" in line}
    for text, ours, verdict in (
        ("rope 99, none 90", "0.990 and 0.900: +9.0", "holds"),
        ("sin beats rope", "0.960 and 0.970: -1.0", "does not hold"),
        ("sin beats none", "0.503 and 0.493", "undecided"),
        ("rope is as good on long ones", "0.520 and 0.520: +0.0", "undecided"),
        ("sin is worse on long ones", "0.520 and 0.720: -20.0", "does not hold"),
    ):
        assert ours in rows[text]
        assert rows[text].rstrip("| ").endswith(verdict)
        assert ("`alpha`, long" in rows[text]) == ("long" in text)
    overview = (place.parents[1] / "README.md").read_text()
    assert "## A profile" in overview
    assert "profile/cpu/alpha/README.md" not in overview  # it is on the profile's page
    assert "(alpha/README.md)" in page
    assert (place / "plots" / "profile.svg").exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('data = "gamma"', 'data = "delta"', "no data set 'delta' in this run"),
        ('data = "gamma"', 'data = "gamma"\ngroup = "long"', "no group 'long' on gamma"),
        ('worse = "rope"', 'worse = "alibi"', "no row 'alibi' on gamma"),
        ('worse = "rope"', 'worse = "rope"\nwrose = "sin"', "'wrose'; did you mean 'worse'?"),
    ],
)
def test_a_claim_that_nothing_can_be_held_against_is_one_line(
    place, refused_command, old, new, says
):
    assert says in refused_command(*published(place, SUITE.replace(old, new)), command=main)
