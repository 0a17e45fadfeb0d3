"""Claims of papers, held against the verdicts of each data set of a published run."""

import pytest
from example import ACCURACIES, grouped, records_of
from factory import write_records
from refused import refused

from bench.publish.__main__ import main
from bench.publish.claims import claims_section
from bench.publish.published import Claim
from zoo.report.profile import DataSet, Profile
from zoo.report.run_report import RunReport

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
SUITE += CLAIM.format(LONG, "rope", "none", "rope is as good on long ones")
SUITE += CLAIM.format(LONG, "rope", "sin", "sin is worse on long ones")


@pytest.fixture
def place(tmp_path):
    """Two seeds of zeta decide nothing. On long texts of alpha rope is worse than sin."""
    found = tmp_path / "results" / "profile" / "cpu"
    long = {"rope": 0.5, "sin": 0.7, "none": 0.5}
    alpha = [
        grouped(one, {"short": 0.99, "long": long[one.cell["pe"]] + 0.01 * one.seed})
        for one in records_of("alpha", ACCURACIES["alpha"])
    ]
    write_records(found / "alpha", alpha)
    write_records(found / "gamma", records_of("gamma", ACCURACIES["gamma"]))
    write_records(found / "zeta", records_of("zeta", ACCURACIES["zeta"], 2))
    (tmp_path / "bench" / "suites").mkdir(parents=True)
    (tmp_path / "bench" / "suites" / "profile.toml").write_text(SUITE)
    return found


def test_claims_are_held_against_the_verdicts_of_each_data_set(place):
    assert main([str(place.parents[1])]) == 0
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
    ("change", "says"),
    [
        ({"data": "delta"}, "no data set 'delta' in this run"),
        ({"group": "long"}, "no group 'long' on gamma"),
        ({"worse": "alibi"}, "no row 'alibi' on gamma"),
        ({"worse": "fused"}, "both fused.* and fused.* are 'fused'"),
    ],
)
def test_a_claim_that_nothing_can_be_held_against_is_one_line(change, says):
    claim = Claim(data="gamma", better="sin", worse="rope", text="sin wins", source="a paper")
    gamma = DataSet("gamma", "gamma", RunReport(records_of("gamma", ACCURACIES["gamma"])))
    refused(says, claims_section, Profile([gamma]), [claim.model_copy(update=change)])


def test_nothing_is_written_where_a_claim_cannot_be_held(place, refused_command):
    suite = place.parents[2] / "bench" / "suites" / "profile.toml"
    suite.write_text(SUITE.replace('"zeta"', '"delta"'))
    there = sorted(place.parents[1].rglob("*"))
    assert "no data set 'delta' in this run" in refused_command(place.parents[1], command=main)
    assert sorted(place.parents[1].rglob("*")) == there
