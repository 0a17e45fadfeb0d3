"""``zoo.bench`` from Python."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refused import refused
from small_runs import FAILING, MINE, QUICK

import zoo
from zoo.config.request import load_suite
from zoo.execution.base import Ended, Started
from zoo.sweep.progress import Progress
from zoo.sweep.records import RecordFile

RUN = {**QUICK, "on": "inline"}


def test_lists_become_comma_lists_and_the_table_is_a_data_frame(folder):
    result = zoo.bench(
        ["fused", "naive"], pe=["rope", "sin"], out="out", **{**RUN, "seeds": [0, 3]}
    )
    table = result.table
    assert isinstance(table, pd.DataFrame)
    assert sorted(zip(table["attention"], table["pe"], strict=True)) == [
        ("fused", "rope"),
        ("fused", "sin"),
        ("naive", "rope"),
        ("naive", "sin"),
    ]
    assert set(table["status"]) == {"ok"}
    assert "Undecided: " in result.answer
    assert result.answer.endswith("run with --seeds 5.")
    assert result.directory == Path("out")
    assert {record.seed for record in RecordFile(folder / "out").read()} == {0, 3}
    written = pd.read_csv(folder / "out" / "table.csv")
    assert table["score"].tolist() == pytest.approx(written["accuracy_mean"].tolist())
    again = zoo.bench("fused,naive", "rope,sin", out=Path("out"), **{**RUN, "seeds": (0, 3)})
    pd.testing.assert_frame_equal(again.table, table)
    assert again.answer == result.answer


def test_another_task_and_a_suite_by_its_options(folder):
    (folder / "small.toml").write_text(
        'task = "seq2seq"\ndata = "copy(train=40,test=8,shortest=2,longest=3)"\n'
        'schedule = "cosine"\ndim = 16\nheads = 2\nlayers = 1\nepochs = 1\nmax_length = 8\n'
        'phases = ["train"]\n'
    )
    options = {"seeds": 1, "on": "inline", "device": "cpu", "threads": 1, "out": "out"}
    result = zoo.bench(suite="small.toml", **options)
    assert result.table["metric"].tolist() == ["exact_match"]
    (record,) = RecordFile(folder / "out").read()
    assert record.config["training"]["schedule"] == "cosine"
    again = zoo.bench(**load_suite("small.toml"), **options)
    pd.testing.assert_frame_equal(again.table, result.table)


class Recorder(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, int]] = []
        self.events: list[Any] = []
        self.closed = 0

    def phase(self, name: str, total: int) -> None:
        self.phases.append((name, total))

    def event(self, event: Any, metrics: Any = ()) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("plugins", [FAILING, [str(FAILING)]], ids=["path", "texts"])
def test_a_failure_is_a_row_and_progress_is_told_of_every_job(plugins, folder):
    progress = Recorder()
    found = zoo.bench(["fused", "raises"], plugins=plugins, out="out", progress=progress, **RUN)
    status = dict(zip(found.table["attention"], found.table["status"], strict=True))
    assert status == {"fused": "ok", "raises": "crashed"}
    assert "no such luck" in str(found.table["reason"].tolist())
    assert dict(zip(found.runs["row"], found.runs["status"], strict=True)) == {
        name: row["status"] for name, row in found.table.iterrows()
    }
    assert progress.phases[0] == ("train", 2)
    assert sum(isinstance(event, Started) for event in progress.events) == 2
    ended = [event.result.status for event in progress.events if isinstance(event, Ended)]
    assert ended == ["ok", "crashed"]
    assert progress.closed == 1


def test_a_plug_in_file_that_was_edited_is_trained_again_in_the_same_process(folder):
    options = {**RUN, "plugins": "mine.py", "out": "out"}
    losses = []
    for factor in (1, 2, 1):
        Path("mine.py").write_text(MINE.format(factor=factor))
        zoo.bench("mine", **options)
        records = RecordFile(folder / "out").read()
        losses.append(records[-1].curve[0]["loss"])
    assert len(records) == 2, "the first is known"
    assert losses[0] != losses[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epoch": 3}, "no option 'epoch'; did you mean 'epochs'"),
        ({"on": "nope"}, "no executor 'nope'"),
        ({"attention": []}, "--attention is empty"),
        ({"plugins": "missing.py"}, "missing.py cannot be read"),
        (
            {"max_length": [16, 32], "phases": "cost", "data": None},
            "max_length: 'zoo bench --max-length 64,256'",
        ),
    ],
    ids=str,
)
def test_a_wrong_option_raises_and_writes_nothing(options, message, folder):
    refused(message, zoo.bench, **{**RUN, "out": "out", **options})
    assert list(folder.iterdir()) == []
