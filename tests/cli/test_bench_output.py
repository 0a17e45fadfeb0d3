"""What ``zoo bench`` prints of a run: the table, or JSON."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from small_runs import QUICK, executor_plugin, flags

from zoo.cli import main

RUN = ["bench", "--on", "inline", "--attention", "fused", "--pe", "rope,sin", "--out", "out"]
ONE_SEED = [*RUN, *flags(QUICK)]
PAGE = str(Path("out", "report.html"))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The directory in which a run's records are in ``out``."""
    folder = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(ONE_SEED) == 0
    return folder


@pytest.fixture
def printed(place, monkeypatch, said):
    """What that run prints when it is asked for again, with more words."""
    monkeypatch.chdir(place)
    return partial(said, *ONE_SEED)


def test_json_is_what_zoo_report_prints(printed, said):
    out, err = printed("--json")
    found = json.loads(out)
    assert err.splitlines()[-1] == f"Report: {PAGE}"
    assert {row["pe"] for row in found["rows"]} == {"rope", "sin"}
    assert all(0 <= row["accuracy_mean"] <= 1 for row in found["rows"])
    assert json.loads(said("report", "out", "--tables", "--json").out) == found


def test_a_plan_as_json_says_what_runs_and_why_the_rest_does_not(printed):
    (plan,) = json.loads(printed("--plan", "--json", "--attention", "fused,torch").out)
    assert plan["task"] == "classify"
    plans = {(row["attention"], row["pe"]): row["plan"] for row in plan["rows"]}
    assert plans["torch", "rope"].startswith("skipped: ")
    assert "rotate" in plans["torch", "rope"]
    assert plans["fused", "rope"] == plans["torch", "sin"] == "run"


def test_scores_are_shown_before_their_costs_are_measured(place, tmp_path, printed):
    own = shutil.copytree(place / "out", tmp_path / "out")  # the other tests look at no costs
    plugin = executor_plugin(tmp_path, "made-up", "made_up_costs:MadeUpCosts")
    costs = ["--phases", "train,cost", "--set", "blocks=1", "--out", str(own)]
    costs += ["--plugin", str(plugin), "--on", "made-up"]
    out, err = printed(*costs)
    scores, _, rest = err.partition("cost: 1 to run")
    assert "train: 2 there already" in scores
    assert "accuracy" in scores
    assert "train tok/s" not in scores
    assert "Undecided: " in scores
    assert "train tok/s" not in rest
    assert "train tok/s" in out
    _, again = printed(*costs)
    assert "accuracy" not in again, "all costs are there: the whole table follows at once"
