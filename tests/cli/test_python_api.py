"""``zoo.bench`` from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from classify_runs import FAILING, SMALL

import zoo
from zoo.config.request import load_suite
from zoo.execution.base import Ended, Started
from zoo.sweep.progress import Silent
from zoo.sweep.records import RecordFile

RUN = {**SMALL, "on": "inline"}


def test_lists_become_comma_lists_and_the_table_is_a_data_frame(folder: Path) -> None:
    result = zoo.bench(["fused", "naive"], pe=["rope", "sin"], seeds=[0, 3], out="out", **RUN)
    table = result.table
    assert isinstance(table, pd.DataFrame)
    assert sorted(zip(table["attention"], table["pe"], strict=True)) == [
        ("fused", "rope"),
        ("fused", "sin"),
        ("naive", "rope"),
        ("naive", "sin"),
    ]
    assert set(table["status"]) == {"ok"}
    assert " has the best accuracy: " in result.answer
    few = "One more seed would tell whether the cells differ; run with --seeds 3."
    assert result.answer.endswith(few)
    assert result.directory == Path("out")
    assert {record.seed for record in RecordFile(folder / "out").read()} == {0, 3}
    written = pd.read_csv(folder / "out" / "table.csv")
    assert sorted(written.columns) == sorted(table.columns)
    again = zoo.bench("fused,naive", "rope,sin", seeds=(0, 3), out=Path("out"), **RUN)
    pd.testing.assert_frame_equal(again.table, table)
    assert again.answer == result.answer


def test_every_option_can_be_given_by_name(folder: Path) -> None:
    values = {"lr": 0.01, "schedule": "cosine", "head_hidden": 8, "all_positions": True}
    sizes = {"dim": 24, "ensemble": 2, "timeout": None}
    zoo.bench(norm="rms", ffn=["swiglu"], out="out", **{**RUN, **values, **sizes})
    (record,) = RecordFile(folder / "out").read()
    config = record.config
    assert config["training"]["lr"] == 0.01
    assert config["training"]["schedule"] == "cosine"
    assert config["task_options"]["head_hidden"] == 8
    assert config["task_options"]["all_positions"] is True
    assert config["task_options"]["ensemble"] == 2
    assert config["sizes"]["dim"] == 24
    assert (record.cell["norm"], record.cell["ffn"]) == ("rms", "swiglu")


def test_another_task_and_a_suite_by_its_options(folder: Path) -> None:
    (folder / "small.toml").write_text(
        'task = "seq2seq"\ndata = "copy(train=40,test=8,shortest=2,longest=3)"\nbeam = 2\n'
        'dim = 16\nheads = 2\nlayers = 1\nepochs = 1\nphases = ["train"]\nmax_length = 8\n'
    )
    options = {"on": "inline", "device": "cpu", "threads": 1, "out": "out"}
    result = zoo.bench(suite="small.toml", **options)
    assert "exact_match_mean" in result.table.columns
    (record,) = RecordFile(folder / "out").read()
    assert record.config["task_options"]["beam"] == 2
    again = zoo.bench(**load_suite("small.toml"), **options)
    pd.testing.assert_frame_equal(again.table, result.table)


def test_progress_is_told_of_every_job(folder: Path) -> None:
    class Recorder(Silent):
        def __init__(self) -> None:
            self.phases: list[tuple[str, int]] = []
            self.events: list[Any] = []

        def phase(self, name: str, total: int) -> None:
            self.phases.append((name, total))

        def event(self, event: Any, metrics: Any = ()) -> None:
            self.events.append(event)

    progress = Recorder()
    zoo.bench(["fused", "naive"], out="out", progress=progress, **RUN)
    assert progress.phases[0] == ("train", 2)
    assert sum(isinstance(event, Started) for event in progress.events) == 2
    assert [e.result.status for e in progress.events if isinstance(e, Ended)] == ["ok", "ok"]


def test_plug_in_files_are_paths_or_texts_and_failures_are_rows(folder: Path) -> None:
    plugin = folder / "failing.py"
    plugin.write_text(FAILING)
    for number, plugins in enumerate((plugin, [str(plugin)])):
        result = zoo.bench(["fused", "failing"], plugins=plugins, out=f"out{number}", **RUN)
        table = result.table
        status = dict(zip(table["attention"], table["status"], strict=True))
        assert status == {"fused": "ok", "failing": "crashed"}
        assert "the attention gave up" in str(table["reason"].tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epoch": 3}, "no option 'epoch'; did you mean 'epochs'"),
        ({"dim": 0}, "--dim 0"),
        ({"dim": "x"}, "--dim 'x'"),
        ({"task": "nope"}, "no task 'nope'"),
        ({"on": "nope"}, "no executor 'nope'"),
        ({"attention": []}, "--attention is empty"),
        ({"attention": "fusd"}, "did you mean 'fused'"),
        ({"plugins": "missing.py"}, "missing.py cannot be read"),
        ({"seeds": 0}, "--seeds 0"),
        ({"phases": "trial"}, "'train' or 'cost'"),
        ({"beam": 3}, "--beam is an option of --task seq2seq"),
    ],
    ids=str,
)
def test_a_wrong_option_raises_and_writes_nothing(
    options: dict[str, Any], message: str, folder: Path
) -> None:
    with pytest.raises(zoo.ZooError) as raised:
        zoo.bench(**{**RUN, "out": "out", **options})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(folder.iterdir()) == []
