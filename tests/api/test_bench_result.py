"""What ``zoo.bench`` returns, on a terminal and in a notebook."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from factory import cell, train_record
from small_runs import CLASSIFY

import zoo
from zoo.report.run_report import RunReport
from zoo.report.write import BenchResult
from zoo.sweep.progress import Progress, Shown, for_python
from zoo.sweep.records import RecordFile

RUN = {"attention": ["fused", "naive"], "pe": "sin", "phases": "train", "on": "inline", "seeds": 2}


@pytest.fixture(scope="module")
def result(tmp_path_factory, corpus) -> BenchResult:
    out = tmp_path_factory.mktemp("result") / "out"
    return zoo.bench(**{**CLASSIFY, **RUN, "data": str(corpus)}, out=out)


class Page(HTMLParser):
    """The texts of a page's cells; its tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def test_the_table_has_what_readers_want_and_the_report_has_everything(result):
    columns = list(result.table.columns)
    assert columns[:5] == ["attention", "accuracy_mean", "macro_f1_mean", "seeds", "params"]
    assert len(columns) <= 10
    details = result.report.table.frame
    written = pd.read_csv(result.directory / "table.csv")
    assert sorted(details.columns) == sorted(written.columns)
    assert result.table.accuracy_mean.tolist() == pytest.approx(written.accuracy_mean.tolist())
    # With two seeds there is no interval.
    assert details[["accuracy_low", "accuracy_high"]].dtypes.tolist() == ["float64"] * 2
    assert not details.map(lambda value: value is None).any(axis=None)


def test_it_has_the_answer_and_the_directory(result):
    report = RunReport(RecordFile(result.directory).read())
    assert result.answer.splitlines() == report.answer
    assert list(result.runs.values()) == [result.report]
    assert result.report.best.cell["attention"] in result.answer


def test_a_notebook_shows_the_table_the_answer_and_the_place(result):
    shown = result._repr_html_()
    assert {"attention", "accuracy", "fused", "naive"} <= set(Page(shown).cells)
    assert all(f"<p>{line}</p>" in shown for line in result.answer.splitlines())
    assert str(result.directory) in shown
    assert str(result.directory) in repr(result)
    assert result.answer.split(". ")[0] in repr(result)


def test_names_are_escaped_in_html():
    records = [train_record(cell(attention="<script>alert(1)</script>"), 0, 5)]
    shown = BenchResult(RunReport(records), Path("a&b"))._repr_html_()
    assert "<script>" not in shown
    assert "a&amp;b" in shown
    Page(shown)


def test_progress_is_drawn_where_it_can_be_read(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # of another test's library
    own = Progress()
    for given, kind in ((None, Progress), (False, Progress), (own, Progress), (True, Shown)):
        progress = for_python(given)  # stderr is neither a terminal nor a notebook here
        assert type(progress) is kind
        assert (progress is own) == (given is own)
        progress.close()


def test_bars_count_jobs_and_say_how_they_ended(small, tmp_path, capsys):
    zoo.bench(**{**small, **RUN, "seeds": 1, "epochs": 1}, progress=True, out=tmp_path / "out")
    said = capsys.readouterr().err
    assert "3.0/3" in said
    assert "fused+sin" in said
    assert "accuracy 0." in said
