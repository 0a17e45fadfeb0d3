"""What ``zoo.bench`` returns, on a terminal and in a notebook."""

import random
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from small_runs import CLASSIFY, QUICK, Notices

import zoo
from zoo.report.run_report import RunReport
from zoo.report.write import BenchResult, read_result
from zoo.sweep.progress import Progress, Shown, for_python
from zoo.sweep.records import RecordFile

RUN = {
    "attention": ["fused", "naive"],
    "pe": "sin",
    "phases": "train",
    "blocks": None,
    "on": "inline",
    "seeds": 2,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory, corpus) -> BenchResult:
    out = tmp_path_factory.mktemp("result") / "out"
    return zoo.bench(**{**CLASSIFY, **RUN, "data": str(corpus)}, out=out)


def test_the_table_has_the_same_columns_whatever_the_run(result, tmp_path, monkeypatch):
    written = pd.read_csv(result.directory / "table.csv")
    assert result.table.index.tolist() == written.name.tolist()
    assert result.table.score.tolist() == pytest.approx(written.accuracy_mean.tolist())
    # With two seeds there is no interval, and no costs were measured.
    assert result.table[["low", "high", "latency_ms"]].dtypes.tolist() == ["float64"] * 3
    assert not result.table.map(lambda value: value is None).any(axis=None)
    data = ["order(train=30,test=6)", "copy(train=30,test=6,longest=4)"]
    costs = {**QUICK, "phases": "train,cost", "blocks": 2, "on": "inline", "data": data[0]}
    notices = Notices()
    for name in ("IPython", "ipykernel"):
        monkeypatch.setitem(sys.modules, name, sys)
    measured = zoo.bench(**costs, out=tmp_path / "costs", progress=notices)
    assert "attention" not in "\n".join(notices.lines), "a notebook shows one table, the result"
    options = {**QUICK, "on": "inline", "data": data, "vocab_size": 300}
    several = zoo.bench(**options, out=tmp_path / "several")
    for other in (measured, several):
        assert other.table.columns.tolist() == result.table.columns.tolist()
    assert measured.table.latency_ms.notna().all()
    assert {*several.table.metric} == {"accuracy", "exact_match"}
    assert set(several.table.index) == {several.best}


def test_its_runs_are_the_trainings_that_count(result):
    """One failed first, and was done again: the file has both, with one key."""
    file = RecordFile(result.directory)
    records = file.read()
    assert len(result.runs) == len(records)
    failed = records[0].model_copy(update={"status": "lost", "metrics": {}})
    before = file.path.read_text()
    file.path.write_text(f"{failed.model_dump_json()}\n{before}")
    try:
        pd.testing.assert_frame_equal(read_result(result.directory).runs, result.runs)
    finally:
        file.path.write_text(before)
    means = result.runs.groupby("row")[["accuracy", "macro_f1"]].mean()
    assert means.accuracy.to_dict() == pytest.approx(result.table.score.to_dict())
    assert sorted(result.runs.seed) == [0, 0, 0, 1, 1]  # the baseline's fit is deterministic
    assert (result.runs.seconds > 0).all()


def test_it_has_the_answer_and_the_page(result):
    details = RunReport(RecordFile(result.directory).read())
    assert result.answer.splitlines() == details.answer
    assert result.best == details.best.name
    assert "</html>" in result.report.read_text(encoding="utf-8")


def test_it_is_printed_as_the_table_the_answer_and_the_place(result):
    said = repr(result)
    assert said.startswith("attention")
    assert result.answer in said
    assert said.endswith(f"Report: {result.report}")


def test_progress_is_drawn_where_it_can_be_read(monkeypatch):
    own, notebook = Progress(), ("IPython", "ipykernel")
    for given, modules, kind in (
        (None, (), Progress),
        (None, notebook[:1], Progress),
        (None, notebook[1:], Progress),
        (None, notebook, Shown),
        (False, notebook, Progress),
        (own, notebook, Progress),
        (True, (), Shown),
    ):
        for name in notebook:
            monkeypatch.delitem(sys.modules, name, raising=False)
        for name in modules:
            monkeypatch.setitem(sys.modules, name, sys)
        progress = for_python(given)  # stderr is no terminal here
        assert type(progress) is kind
        assert (progress is own) == (given is own)
        progress.close()


def test_bars_count_jobs_and_say_how_they_ended(small, tmp_path, capsys):
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    zoo.bench(**{**small, **RUN, "seeds": 1, "epochs": 1}, progress=True, out=tmp_path / "out")
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert after == states, "the generators are the user's"
    said = capsys.readouterr().err
    assert "3/3" in said
    assert "fused+sin" in said
    assert "accuracy 0." in said
