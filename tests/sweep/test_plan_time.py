"""What ``--plan`` says of a cluster: how many trainings run at once, and how long they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zoo.execution.cluster.engine import Node
from zoo.registry import Registry
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.plan_time import as_table, past_records, time_line, trainings_of
from zoo.sweep.records import Record, RecordFile

NODES = [Node("1", "gpu-1", 8, 2), Node("2", "old", 4)]


def known(seconds: float) -> Record:
    return Record(
        kind="train", status="ok", cell={}, key="", config={}, metrics={"seconds": seconds}
    )


@pytest.mark.parametrize(
    ("options", "count", "tried", "at_once", "turns"),
    [
        ({"seeds": 3, "device": "cpu"}, 6, "", 12, 1),
        ({"seeds": 9, "device": "cpu", "threads": 2}, 18, "", 6, 3),
        ({"seeds": 9, "device": "cpu", "jobs": 4}, 18, "", 4, 5),
        ({"seeds": 9}, 18, "", 6, 3),  # one on each GPU; without one, a core
        ({"seeds": 2, "lr": "0.1,0.2,0.3", "device": "cpu"}, 10, " (6 to choose settings)", 12, 1),
    ],
    ids=["seeds", "threads", "jobs", "gpus", "tuned"],
)
def test_the_time_of_a_plan(
    options: dict[str, Any], count: int, tried: str, at_once: int, turns: int, registry: Registry
) -> None:
    request = make_request({"attention": "fused,naive", "baseline": "none", **options}, registry)
    plan = make_plan(request, registry)
    assert sum(trainings_of(request, plan)) == count
    line = time_line(request, plan, NODES, [])
    start = f"{count} trainings{tried}, {at_once} at once: the time of {turns} one after another"
    assert line.startswith(start)
    assert "how long they take is not known yet: a run says so after its first steps" in line
    line = time_line(request, plan, NODES, [known(1.0), known(2.0), known(9.0)])
    assert line.endswith(f"about {turns * 2} s at 2.0 s each (the median of 3 records)")
    assert time_line(request, plan, [], []) == f"{count} trainings{tried}, and no node to run them"


def test_the_time_of_a_plan_on_this_machine(registry: Registry) -> None:
    request = make_request({"attention": "fused", "baseline": "none", "seeds": 3}, registry)
    plan = make_plan(request, registry)
    line = time_line(request, plan, None, [known(100.0)], 2)
    assert line.startswith("3 trainings, 2 at once: the time of 2 one after another, about 3 min")
    one = make_request({"attention": "fused", "baseline": "none"}, registry)
    line = time_line(one, make_plan(one, registry), None, [known(2.0)], 2)
    assert line == "1 training, about 2 s at 2.0 s each (one record)"


def test_records_of_any_run_with_these_settings_tell_the_time(
    registry: Registry, tmp_path: Path
) -> None:
    given = {"attention": "fused", "baseline": "none", "data": "some/texts.csv"}
    request = make_request(given, registry)
    config = {"sizes": request.sizes.model_dump(), "training": request.training.model_dump()}
    same = {**config, "task": "classify", "data": {"name": "texts.csv", "fingerprint": "1"}}
    other = {**same, "training": {**config["training"], "epochs": 99}}
    for name, one, seconds in (("a", same, 5.0), ("b", other, 500.0)):
        (tmp_path / name).mkdir()
        RecordFile(tmp_path / name).append(known(seconds).model_copy(update={"config": one}))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "records.jsonl").write_text("{}\n{}\n")
    found = past_records(request, tmp_path)
    assert [record.metrics["seconds"] for record in found] == [5.0]
    line = time_line(request, make_plan(request, registry), None, found)
    assert line == "1 training, about 5 s at 5.0 s each (one record)"
    assert past_records(make_request({**given, "data": "newswire"}, registry), tmp_path) == []
    assert len(past_records(make_request({**given, "data": None}, registry), tmp_path)) == 1


def test_the_nodes_of_a_plan(registry: Registry) -> None:
    request = make_request({"threads": 2}, registry)
    lines = [line.split() for line in as_table(NODES, request).splitlines()]
    assert lines[0] == ["node", "cores", "GPUs", "at", "once"]
    assert lines[2:] == [["gpu-1", "8", "2", "2"], ["old", "4", "0", "2"]]
