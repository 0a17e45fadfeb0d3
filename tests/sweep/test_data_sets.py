"""Several data sets in one run, and their profile."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refused import refused
from small_runs import SIZES, Stop, StopAfter

import zoo
from zoo.execution.base import Ended
from zoo.registry.loading import load
from zoo.sweep.make_request import make_requests
from zoo.sweep.records import RecordFile, directory_names

ORDER = "order(train=60,test=12,max_distance=1)"
RECALL = "recall(pairs=4,values=2,train=60,test=12)"
SETTINGS: dict[str, Any] = {**SIZES, "epochs": 1, "max_length": 24, "phases": "train"}
SETTINGS |= {"on": "inline", "seeds": 1, "lr": 3e-3, "evaluate_every": 0}
OTHERS = ["order(train=60,test=12,max_distance=2)", "order(train=60,test=12,max_distance=3)"]
DATA = [
    {"name": ORDER, "vocab_size": 120},
    {"name": RECALL, "baseline": "none", "attention": "fused"},
]


def requests(given: dict[str, Any], suite: dict[str, Any] | None = None) -> list[Any]:
    return make_requests(given, load().registry, suite or {})


SUITE = {
    "epochs": 1,
    "lr": 0.1,
    "data": [{"name": ORDER, "epochs": 7, "dim": 32}, {"name": "newswire"}],
}


@pytest.mark.parametrize(
    ("given", "suite", "expected"),
    [
        # What is said of a data set replaces what the suite says, and the command line both.
        (
            {"dim": 64},
            SUITE,
            [(ORDER, "classify", 7, 0.1, 64), ("newswire", "classify", 1, 0.1, 64)],
        ),
        # A name alone takes what the suite says of it.
        ({"data": "order"}, SUITE, [(ORDER, "classify", 7, 0.1, 32)]),
        ({"data": "bbc-news"}, SUITE, [("bbc-news", "classify", 1, 0.1, 64)]),
        # Without a task each is for the task that reads it.
        (
            {"data": f"{ORDER},{RECALL}", "baseline": "none"},
            {},
            [(ORDER, "classify", 1, 0.001, 32), (RECALL, "tag", 1, 0.001, 32)],
        ),
    ],
)
def test_options_of_each_data_set(given, suite, expected):
    found = [
        (r.data, r.task, r.training.epochs, r.training.lr, r.sizes.dim)
        for r in requests(given, suite)
    ]
    assert found == expected


def test_a_file_whose_name_has_a_comma_is_one_data_set(tmp_path):
    file = tmp_path / "a,b.csv"
    file.write_text("text,label\n")
    assert [request.data for request in requests({"data": str(file)})] == [str(file)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("order,order", "--data names order twice"),
        ("order,,newswire", "an empty name beside a comma"),
        ([{"epochs": 2}], "expected a name, or a table with a name"),
    ],
)
def test_bad_lists_of_data_are_one_line(data, says):
    refused(says, requests, {"data": data})


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[Path, pd.DataFrame]:
    out = tmp_path_factory.mktemp("run")
    result = zoo.bench(["fused", "naive"], data=DATA, out=out, **SETTINGS)
    return out, result.table


def test_each_data_set_has_a_directory_with_records_and_tables(run):
    out, _ = run
    found = sorted(file.parent.name for file in out.glob("*/records.jsonl"))
    assert found == [
        "order-train-60-test-12-max_distance-1",
        "recall-train-60-test-12-pairs-4-values-2",
    ]
    assert all((out / name / "table.csv").exists() for name in found)


def test_the_profile_has_every_record_and_no_other_score(run):
    out, table = run
    records = [record for place in out.glob("*/") for record in RecordFile(place).read()]
    expected = {
        (r.name, r.config["data"]["name"]): r.metrics[r.metric_descriptions[0].name]
        for r in records
    }
    found = {(name, line["data"]): line["score"] for name, line in table.iterrows()}
    assert found == pytest.approx(expected)
    written = pd.read_csv(out / "profile.csv")
    assert sorted(written["mean"]) == pytest.approx(sorted(table["score"]))


def test_reports_of_all_are_made_again_from_records(run, said):
    out, _ = run
    before = (out / "profile.md").read_bytes()
    said("report", out)
    assert (out / "profile.md").read_bytes() == before
    page = (out / "report.html").read_text()
    assert "order(train=60, test=12, max_distance=1)" in page
    assert (out / "plots" / "profile.svg").exists()
    assert len(list(out.glob("*/report.html"))) == 2


def test_a_second_run_trains_nothing_more(run):
    out, table = run
    sizes = {file: file.stat().st_size for file in out.glob("*/records.jsonl")}
    again = zoo.bench(["fused", "naive"], data=DATA, out=out, **SETTINGS)
    assert {file: file.stat().st_size for file in out.glob("*/records.jsonl")} == sizes
    pd.testing.assert_frame_equal(again.table, table)


def test_a_profile_is_of_the_data_sets_of_one_run(run, tmp_path):
    """Others are refused before anything is trained, and nothing is written."""
    out = shutil.copytree(run[0], tmp_path / "out")
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    says = r"holds another run \(order-train-60-test-12-max_distance-1/records.jsonl, "
    refused(says, zoo.bench, "fused", data=OTHERS, out=out, vocab_size=120, **SETTINGS)
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


def test_one_data_set_and_several_do_not_share_a_directory(run, tmp_path):
    settings = {**SETTINGS, "vocab_size": 120}
    zoo.bench("fused", data=ORDER, out=tmp_path / "one", baseline="none", **settings)
    says = r"holds another run \(records.jsonl\); choose"
    refused(says, zoo.bench, "fused", data=DATA, out=tmp_path / "one", **SETTINGS)
    assert list((tmp_path / "one").glob("*/records.jsonl")) == []
    says = r"holds another run \(order-"
    refused(says, zoo.bench, "fused", data=ORDER, out=run[0], **settings)
    assert not (run[0] / "records.jsonl").exists()


def test_tables_of_what_is_recorded_are_written_where_a_run_is_interrupted(tmp_path):
    settings = {**SETTINGS, "vocab_size": 120, "baseline": "none"}
    for data, tables in ((ORDER, ["table.csv"]), (OTHERS, ["profile.csv", "*/table.csv"])):
        out = tmp_path / str(len(tables))
        with pytest.raises(Stop):
            zoo.bench("fused,naive", data=data, out=out, progress=StopAfter(Ended), **settings)
        (file,) = out.rglob("records.jsonl")
        assert len(file.read_text().splitlines()) == 1
        assert all(len(list(out.glob(name))) == 1 for name in tables)


def test_every_data_set_has_a_directory_of_its_own():
    assert directory_names(["news", "news", "news-2"]) == ["news", "news-2", "news-2-2"]
    assert directory_names(["a", "b", "a", "a"]) == ["a", "b", "a-2", "a-3"]
