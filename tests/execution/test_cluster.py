"""A cluster whose nodes are local processes gives what one machine gives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from process_nodes import Nodes
from safetensors.torch import load_file
from small_runs import (
    CLASSIFY,
    LM,
    SEQ2SEQ,
    Stop,
    StopAfter,
    bench,
    cell,
    prepared,
    result_of,
    seconds_of_first_epoch,
)

from zoo.execution.base import Ended, Limits, Progress, TrainJob
from zoo.execution.inline import InlineExecutor
from zoo.sweep.records import Record, RecordFile


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two nodes that run one job each."""
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    nodes.add("one")
    nodes.add("two")
    yield nodes
    nodes.close()
    end = time.monotonic() + 5  # for what removes the directories of slots
    while any(nodes.processes(name) for name in ("one", "two")):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(params=["classify", "lm", "seq2seq"])
def options(request: pytest.FixtureRequest, corpus: Path, book: Path) -> dict[str, Any]:
    return {
        "classify": {**CLASSIFY, "data": str(corpus), "seeds": 2, "token_dropout": 0.2},
        "lm": {**LM, "data": str(book)},
        "seq2seq": SEQ2SEQ,
    }[request.param] | {"phases": "train"}


def by_key(records: list[Record]) -> dict[str, object]:
    assert [record.status for record in records] == ["ok"] * len(records)
    return {record.key: result_of(record) for record in records}


@pytest.mark.slow
def test_a_cluster_gives_the_scores_curves_and_keys_of_one_machine(
    options: dict[str, Any], nodes: Nodes, tmp_path: Path
) -> None:
    """The first node to be given data of a local file has none of it."""
    here = bench(tmp_path / "here", options)
    there = bench(tmp_path / "there", options, on=nodes.on)
    assert by_key(there.records) == by_key(here.records)
    assert len(there.records) == len(by_key(there.records))
    configs = {record.key: record.config for record in here.records}
    for record in there.records:
        assert record.config == configs[record.key]
        assert record.environment["node"] in ("one", "two")
        assert record.environment["nice"] == 0
        assert record.environment["load"] >= 0
    again = bench(tmp_path / "there", options)
    assert again.trained == 0


@pytest.mark.slow
def test_every_node_pretrains_as_one_machine_does(
    corpus: Path, nodes: Nodes, tmp_path: Path
) -> None:
    """The texts of the stage are in no file of a node; they come with the data."""
    texts = tmp_path / "more.txt"
    texts.write_text("the striker saw a bank\nthe band scored a goal\n" * 30)
    stage = {"init": "pretrain", "pretrain_epochs": 2, "pretrain_data": str(texts)}
    options = {**CLASSIFY, **stage, "data": str(corpus), "baseline": "none", "phases": "train"}
    here = bench(tmp_path / "here", {**options, "seeds": 2})
    there = bench(tmp_path / "there", {**options, "seeds": 2}, on=nodes.on)
    assert by_key(there.records) == by_key(here.records)
    assert len(there.records) == 2


@pytest.mark.slow
@pytest.mark.parametrize("first", ["here", "there"])
def test_a_run_begun_on_one_is_finished_on_the_other(
    first: str, options: dict[str, Any], nodes: Nodes, tmp_path: Path
) -> None:
    options = {**options, "baseline": "none", "seeds": 1}
    places = {"here": "inline", "there": nodes.on}
    second = "there" if first == "here" else "here"
    whole = bench(tmp_path / "whole", options)
    out = tmp_path / "out"
    with pytest.raises(Stop):
        bench(out, options, on=places[first], progress=StopAfter(Progress))
    assert RecordFile(out).read() == []
    (checkpoint,) = out.glob("unfinished/*/checkpoint.safetensors")
    interrupted = seconds_of_first_epoch(checkpoint)
    resumed = bench(out, options, on=places[second])
    # The first epoch was not trained again: it has the time that it took in the first run.
    assert resumed.records[0].curve[0]["seconds"] == interrupted
    assert by_key(resumed.records) == by_key(whole.records)
    assert not (out / "unfinished").exists()


def test_weights_come_home(nodes: Nodes, small: dict[str, Any], tmp_path: Path) -> None:
    setup = prepared(small).setup
    job = TrainJob(setup, "a cell", "key", model=cell(), save_weights=True)
    found: list[dict[str, list[list[float]]]] = []
    for executor in (InlineExecutor(), nodes.executor):
        for event in executor.run([job], limits=Limits(), directory=tmp_path):
            if isinstance(event, Ended):
                (weights,) = event.result.artifacts.values()
                found.append({name: t.tolist() for name, t in load_file(weights).items()})
    assert found[0] == found[1]
    assert not (tmp_path / "unfinished").exists()
