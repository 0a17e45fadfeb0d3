"""What ``zoo bench`` prints of a run: the table, JSON, or the answer alone."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from small_runs import FAILING, QUICK, flags

from zoo.cli import main
from zoo.sweep.records import RecordFile

RUN = ["bench", "--on", "inline", "--attention", "fused", "--pe", "rope,sin", "--out", "out"]
ONE_SEED = [*RUN, *flags(QUICK)]
ANY_SEEDS = [*RUN, *flags({name: value for name, value in QUICK.items() if name != "seeds"})]
PAGE = str(Path("out", "report.html"))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The directory in which a run's records are in ``out``."""
    folder = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*ONE_SEED, "--quiet"]) == 0
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
    assert json.loads(said("report", "out", "--tables", "--json").out) == [found]


def test_a_plan_as_json_says_what_runs_and_why_the_rest_does_not(printed):
    (plan,) = json.loads(printed("--plan", "--json", "--attention", "fused,torch").out)
    assert plan["task"] == "classify"
    skipped = {
        (row["cell"]["attention"], row["cell"]["pe"]): row["skipped"] for row in plan["rows"]
    }
    assert "rotate" in skipped["torch", "rope"]
    assert skipped["fused", "rope"] == skipped["torch", "sin"] == ""


def test_quiet_prints_the_answer_and_the_page_alone(place, printed):
    out, err = printed("--quiet", "--fresh")
    assert err == ""
    lines = out.splitlines()
    assert lines[-1] == f"Report: {PAGE}"
    assert "<title>rope and sin on order" in (place / PAGE).read_text()
    whole, err = printed()
    assert "there already" in err
    assert set(lines) < set(whole.splitlines())
    assert "train s" in whole
    assert "train s" not in out


def test_scores_are_shown_before_their_costs_are_measured(place, tmp_path, printed):
    own = shutil.copytree(place / "out", tmp_path / "out")  # the other tests look at no costs
    costs = ["--phases", "train,cost", "--set", "blocks=1", "--out", str(own)]
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


def test_minutes_are_seeds_by_what_earlier_runs_took(tmp_path, monkeypatch, said):
    """The plan says how many; a first run says so once every row is trained with one."""
    monkeypatch.chdir(tmp_path)
    texts = [f"{'good' if n % 2 else 'bad'} word{n % 7} word{n % 11},{n % 2}" for n in range(80)]
    Path("texts.csv").write_text("\n".join(["text,label", *texts]))
    timed = [*ANY_SEEDS, "--data", "texts.csv", "--minutes", "0.05"]
    later = "--minutes 0.05: how many seeds fit is known once every row is trained with one"
    plan = said(*timed, "--plan").out
    assert later in plan
    assert re.search(r"^2 trainings; .*\nand then what fits$", plan, re.MULTILINE)
    err = said(*timed).err
    known = re.search(r"^--minutes 0.05: (\d+) seeds? of each row", err, re.MULTILINE)
    assert err.index(later) < err.index("train 2/2") < known.start()
    seeds = [record.seed for record in RecordFile(Path("out")).read()]
    assert sorted(seeds) == sorted(2 * [*range(int(known[1]))]), "each once"
    same = f"{known[0]}, as before"
    assert same in said(*timed, "--plan").out.splitlines()
    assert same in said(*timed).err.splitlines()
    assert len(RecordFile(Path("out")).read()) == len(seeds), "nothing is trained again"
    for minutes, more in (("0.0001", 0), ("0.1", 1)):
        err = said(*timed, "--minutes", minutes).err
        found = re.search(rf"^--minutes {minutes}: (\d+) seeds? of each row", err, re.MULTILINE)
        assert int(found[1]) >= int(known[1]) + more, "what is there takes no time"


def test_minutes_without_seeds_to_train_are_refused(refused_command):
    for words, said in (
        (ONE_SEED, "--seeds says how many: use one"),
        (["bench", "--phases", "cost"], "--minutes 3 has no effect without train in --phases"),
    ):
        assert said in refused_command(*words, "--minutes", "3")


def test_nothing_is_timed_where_every_training_fails(tmp_path, monkeypatch, said):
    """One seed of each row is tried, and no table of scores is shown."""
    monkeypatch.chdir(tmp_path)
    failing = [*ANY_SEEDS, "--plugin", str(FAILING), "--attention", "raises"]
    err = said(*failing, "--phases", "train,cost", "--minutes", "1", status=1).err
    assert err.count("--minutes 1: no training ended well, so nothing could be timed") == 1
    assert "Speed and memory follow." not in err
    records = [record for record in RecordFile(Path("out")).read() if record.kind == "train"]
    assert [(record.status, record.seed) for record in records] == 2 * [("crashed", 0)]
