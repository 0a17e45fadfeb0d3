"""What ``--plan`` says of a cluster: how many trainings run at once, and how long they take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from zoo.errors import ZooError
from zoo.execution.base import Node
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.plan_time import (
    FITTED,
    SAMPLE,
    PastTimes,
    ToDo,
    all_to_do,
    as_table,
    fitted_before,
    past_records,
    time_lines,
    with_fitting_seeds,
)
from zoo.sweep.records import Record, RecordFile

NODES = [Node("1", "gpu-1", 8, 2), Node("2", "old", 4)]


def known(seconds: float, kind: str = "train", **config: Any) -> Record:
    metrics = {"seconds": seconds}
    return Record(kind=kind, status="ok", cell={}, key="", config=config, metrics=metrics)


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
def test_the_time_of_a_plan(options, count, tried, at_once, turns, registry):
    given = {"attention": "fused,naive", "baseline": "none", "phases": "train", **options}
    request = make_request(given, registry)
    to_do = all_to_do(request, make_plan(request, registry))
    assert to_do.tuning + to_do.trainings == count
    (line,) = time_lines(to_do, request, NODES, PastTimes())
    start = f"{count} trainings{tried}, {at_once} at once: the time of {turns} one after another"
    assert line.startswith(start)
    assert line.endswith("; a run says after its first steps how long they take")
    (line,) = time_lines(to_do, request, NODES, PastTimes([1.0, 2.0, 9.0]))
    assert line.endswith(f"about {turns * 2} s at 2.0 s each (the median of 3 records)")
    (line,) = time_lines(to_do, request, [], PastTimes())
    assert line == f"{count} trainings{tried}, and no node to run them"


def test_the_time_of_a_plan_on_this_machine(registry):
    request = make_request({"attention": "fused", "baseline": "none"}, registry)
    line, *_ = time_lines(ToDo(0, 3), request, None, PastTimes([100.0]), 2)
    assert line.startswith("3 trainings, 2 at once: the time of 2 one after another, about 3 min")
    line, *_ = time_lines(ToDo(0, 1), request, None, PastTimes([2.0]), 2)
    assert line == "1 training, about 2 s at 2.0 s each (one record)"
    assert time_lines(ToDo(), request, None, PastTimes()) == []


def test_the_time_of_a_plan_includes_its_costs(registry):
    """Nine rows: two groups, each with the reference and its twin, are 12 measurements."""
    given = {"attention": "fused,naive,split", "pe": "rope,sin,none", "baseline": "none"}
    given |= {"seeds": 1}
    request = make_request(given, registry)
    to_do = all_to_do(request, make_plan(request, registry))
    assert to_do == ToDo(0, 9, (8, 4))
    lines = time_lines(to_do, request, None, PastTimes([10.0], [4.0, 5.0, 9.0]))
    assert lines == [
        "9 trainings, about 2 min at 10.0 s each (one record)",
        "12 cost measurements in 2 groups, about 60 s at 5.0 s each (the median of 3 records)",
        "in all about 2 min",  # 90 and 60 seconds
    ]
    # On two nodes the groups are measured at once: the larger one takes 8 times 5 seconds.
    assert "about 40 s at 5.0 s" in time_lines(to_do, request, NODES, PastTimes((), [5.0]))[1]
    trainings, costs = time_lines(to_do, request, None, PastTimes([10.0]))
    assert trainings.startswith("9 trainings, about 2 min")
    assert costs == (
        "12 cost measurements in 2 groups; a run says after its first steps how long they take"
    )
    only_scores = make_request({**given, "phases": "train"}, registry)
    assert all_to_do(only_scores, make_plan(only_scores, registry)) == ToDo(0, 9)
    only_costs = make_request({**given, "phases": "cost"}, registry)
    assert all_to_do(only_costs, make_plan(only_costs, registry)) == ToDo(0, 0, (8, 4))


@pytest.mark.parametrize(
    ("minutes", "at_once", "options", "seeds", "said"),
    [
        (10, 1, {}, 9, "9 seeds of each row fit"),  # 10 to 60 s, and four costs of 12 s
        (10, 2, {}, 18, "18 seeds of each row fit"),
        (1.9, 1, {}, 1, "1 seed of each row fit"),
        (1, 1, {}, 1, "1 seed of each row, which take longer"),
        (1, 1, {"lr": "0.1,0.2", "tuning_seeds": 2}, 2, "2 seeds of each row, which take longer"),
        (999, 1, {}, 100, "100 seeds of each row fit"),
        (9, 1, {"phases": "train"}, 9, "9 seeds of each row fit"),
    ],
)
def test_as_many_seeds_as_fit(minutes, at_once, options, seeds, said, registry):
    """A row of 10 seconds and one of 50, and four models whose costs take 12 each."""
    given = {"attention": "fused,naive", "baseline": "none", "minutes": minutes, **options}
    request = make_request(given, registry)
    plan = make_plan(request, registry)
    rows = dict(zip([row.name for row in plan.rows], (10.0, 50.0), strict=True))
    past = PastTimes([10.0, 10.0, 50.0], [12.0], rows)
    found, line = with_fitting_seeds(request, plan, None, past, at_once)
    assert found.seeds == tuple(range(seeds))
    assert line == f"--minutes {minutes:g}: {said}"
    known_costs = with_fitting_seeds(request, plan, None, replace(past, cost=()), at_once)[0]
    assert len(known_costs.seeds) >= seeds, "10 seconds where nothing is known"


def test_without_minutes_the_seeds_stay_and_without_a_past_one_is_trained(registry):
    for given, said in (
        ({}, ""),
        ({"minutes": 3}, "--minutes 3: how many seeds fit is known once"),
    ):
        request = make_request(given, registry)
        plan = make_plan(request, registry)
        past = PastTimes() if given else PastTimes([1.0])
        found, line = with_fitting_seeds(request, plan, None, past, 1)
        assert found.seeds == ((0,) if given else request.seeds)
        assert line.startswith(said)
        assert bool(line) == bool(said)


def test_records_of_any_run_with_these_settings_tell_the_time(registry, tmp_path):
    given = {"attention": "fused", "baseline": "none", "data": "some/texts.csv"}
    request = make_request(given, registry)
    config = {"sizes": request.sizes.model_dump(), "training": request.training.model_dump()}
    same = {**config, "task": "classify", "data": {"name": "texts.csv", "fingerprint": "1"}}
    other = {**same, "training": {**config["training"], "epochs": 99}}
    for name, one, seconds in (("a", same, 5.0), ("b", other, 500.0)):
        for kind in ("train", "cost"):
            (tmp_path / name).mkdir(exist_ok=True)
            RecordFile(tmp_path / name).append(known(seconds, kind, **one))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "records.jsonl").write_text("{}\n{}\n")
    found = past_records(runs=tmp_path)
    assert len(found) == 4
    assert PastTimes.of(found, request) == PastTimes([5.0], [5.0])
    elsewhere = make_request({**given, "data": "newswire"}, registry)
    # Without a cost of these models, the cost of any tells how long one takes.
    assert PastTimes.of(found, elsewhere) == PastTimes([], [5.0, 500.0])
    unknown = make_request({**given, "data": None}, registry)
    assert PastTimes.of(found, unknown).training == [5.0]
    two = [known(5.0, **same), known(9.0, **same), known(4.0, **same)]
    two[2] = two[2].model_copy(update={"cell": {"pe": "sin"}})
    assert PastTimes.of(two, request).rows == {two[0].name: 7.0, two[2].name: 4.0}
    assert PastTimes.of(found, request, device_name="another processor") == PastTimes([], [])
    on_a_node = [r.model_copy(update={"environment": {"node": "gpu-1"}}) for r in found]
    assert PastTimes.of(on_a_node, request) == PastTimes([], [])
    assert PastTimes.of(on_a_node, request, on_cluster=True).training == [5.0]


def test_a_large_run_tells_the_time_without_being_read_whole(tmp_path):
    """What is between its first and last records is not even parsed."""
    (tmp_path / "large").mkdir()
    file = RecordFile(tmp_path / "large")
    for seconds in range(10):
        file.append(known(float(seconds)))
    with file.path.open("a") as stream:
        stream.write("this is no record\n" * 1000)
    for seconds in range(10, 20):
        file.append(known(float(seconds)))
    seconds = [record.metrics["seconds"] for record in past_records(runs=tmp_path)]
    assert seconds == [*range(SAMPLE), *range(20 - SAMPLE, 20)]


def test_the_nodes_of_a_plan(registry):
    request = make_request({"threads": 2}, registry)
    lines = [line.split() for line in as_table(NODES, request).splitlines()]
    assert lines[0] == ["node", "cores", "GPUs", "at", "once"]
    assert lines[2:] == [["gpu-1", "8", "2", "2"], ["old", "4", "0", "2"]]


@pytest.mark.parametrize("content", ["", "{", "3"])
def test_a_damaged_number_of_seeds_is_named(tmp_path, registry, content):
    (tmp_path / FITTED).write_text(content)
    with pytest.raises(ZooError, match=rf"{FITTED} is damaged; remove it"):
        fitted_before(make_request({"minutes": 1}, registry), tmp_path)
