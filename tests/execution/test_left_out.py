"""Nodes that are given nothing: the display and ``--plan`` say which, and why."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from simulated_nodes import CPU_ONLY, Simulated, costs, executor, facts, inspection, trainings
from test_scheduling import notices, results, run

from zoo.errors import ZooError
from zoo.execution.base import Limits
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.plan_time import PastTimes, all_to_do, as_table, time_lines
from zoo.sweep.prepare import inspect
from zoo.sweep.progress import Plain
from zoo.sweep.run_state import tried_plan

LIMITS = Limits(jobs=0, threads=1)


def test_a_node_that_the_inspection_leaves_out_is_shown() -> None:
    engine, shown = Simulated(), io.StringIO()
    engine.add("good")
    engine.add("odd", about=facts(torch="1.0"))
    inspect(executor(engine), CPU_ONLY, LIMITS, Plain(shown), [])
    (line,) = shown.getvalue().splitlines()
    assert line.startswith("odd is left out: it has torch 1.0, and")


def test_a_plan_says_which_nodes_are_left_out_and_counts_only_the_others() -> None:
    engine, zoo = Simulated(), load()
    engine.add("good", cores=2)
    engine.add("odd", cores=16, about=facts(torch="1.0"))
    request = make_request({"baseline": "none", "seeds": 4, "device": "cpu"}, zoo.registry)
    cluster = executor(engine)
    plan = tried_plan(request, zoo, cluster)
    nodes = cluster.nodes()
    line, *_ = time_lines(all_to_do(request, plan), request, nodes, PastTimes())
    assert line.startswith("4 trainings, 2 at once: the time of 2 ")
    good, odd = as_table(nodes, request).splitlines()[2:]
    assert good.split() == ["good", "2", "0", "2"]
    assert odd.split()[:4] == ["odd", "16", "0", "0"]
    assert "left out: it has torch 1.0, and the run was started with" in odd


def test_a_node_that_hangs_while_it_describes_itself_is_left_out(tmp_path: Path) -> None:
    """Its slot says all the time that it is alive."""
    engine = Simulated()
    engine.add("good")
    engine.add("hangs")
    engine.undescribed.add("hangs")
    events = run(engine, trainings(2), tmp_path, describe=0.2)
    assert set(results(events).values()) == {"ok"}
    assert notices(events) == ["hangs is left out: it did not describe itself within 0.2 s"]
    alone = Simulated()
    alone.add("hangs")
    alone.undescribed.add("hangs")
    with pytest.raises(ZooError, match="no node can run this: hangs: it did not describe itself"):
        list(executor(alone, describe=0.2).run(trainings(1), limits=LIMITS, directory=tmp_path))


@pytest.mark.parametrize("incidents", [2, 3])
def test_a_node_is_left_out_after_three_incidents_however_many_slots_each_of_them_takes(
    incidents: int, tmp_path: Path
) -> None:
    happened: list[int] = []  # slots lost in each

    def kill(engine: Simulated) -> None:
        if len(engine.busy("one")) == 4 and len(happened) < incidents:
            happened.append(4)
            for slot in engine.busy("one"):
                engine.lose(slot)

    engine = Simulated(kill)
    engine.add("one", cores=4)
    if incidents < 3:
        assert "ok" in results(run(engine, trainings(8), tmp_path)).values()
    else:
        with pytest.raises(ZooError, match="one: it lost slots 3 times in a row: it was killed"):
            list(executor(engine).run(trainings(8), limits=LIMITS, directory=tmp_path))
    assert happened == [4] * incidents


def test_where_only_other_machines_are_left_to_measure_on_the_run_says_in_what_they_differ(
    tmp_path: Path,
) -> None:
    engine = Simulated()
    engine.add("first", about=facts(machine="new"))
    cluster = executor(engine, wait=0.1)
    list(cluster.run([inspection()], limits=LIMITS, directory=tmp_path))
    engine.add("other", about=facts(machine="old"))
    engine.leave("first")
    with pytest.raises(ZooError) as caught:
        list(cluster.run(costs(1), limits=LIMITS, directory=tmp_path))
    assert str(caught.value) == (
        "no node is left, and none came within 0.1 s. "
        "other: its device_name is old, and that of the node inspected first new"
    )
