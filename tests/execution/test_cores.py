"""How many cores and threads jobs get: containers' limits, ``OMP_NUM_THREADS``, the plan."""

import pytest

from zoo.errors import ZooError
from zoo.execution.base import Limits
from zoo.execution.local import InlineExecutor, LocalExecutor
from zoo.execution.machine import default_threads, own_cores


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(
    ("value", "alone", "four_jobs"),
    [("1", 1, 1), ("3", 3, 2), ("64", 8, 2), ("4,2", 4, 2), ("none", 8, 2), ("0", 8, 2)],
)
def test_omp_num_threads_limits_each_job(value, alone, four_jobs, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert own_cores() == 8
    assert default_threads(1) == alone
    assert default_threads(4) == four_jobs


@pytest.mark.parametrize(
    ("trainings", "threads", "at_once"),
    [(0, 8, 1), (1, 8, 1), (2, 4, 2), (3, 2, 3), (5, 1, 5), (8, 1, 8), (100, 1, 8)],
)
def test_trainings_share_the_cores_and_their_threads_depend_on_the_plan_alone(
    trainings, threads, at_once
):
    """The bits of a training depend on its threads, so ``--jobs`` does not change them."""
    limits = LocalExecutor().default_limits(Limits(0, 0), trainings)
    assert (limits.threads, limits.jobs) == (threads, at_once)
    for jobs in (1, 3, 20):
        assert LocalExecutor().default_limits(Limits(jobs, 0), trainings) == Limits(jobs, threads)
    assert LocalExecutor().default_limits(Limits(0, 3), trainings) == Limits(1, 3)
    assert InlineExecutor().default_limits(Limits(0, 0), trainings) == Limits(1, threads)


@pytest.mark.parametrize("asked", [Limits(jobs=2), Limits(timeout=2.0)], ids=["jobs", "timeout"])
def test_inline_refuses_what_takes_other_processes(asked):
    with pytest.raises(ZooError, match="use --on local"):
        InlineExecutor().default_limits(asked)
