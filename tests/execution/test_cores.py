"""How many cores and threads jobs get: affinity, containers' limits, ``OMP_NUM_THREADS``."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.execution import machine
from zoo.execution.base import Limits
from zoo.execution.local import InlineExecutor, LocalExecutor
from zoo.execution.machine import default_threads, limits_note, own_cores


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch) -> None:
    monkeypatch.setattr(machine, "allowed_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def system(root: Path, own: str, **files: str) -> Path:
    """A file system with this /proc/self/cgroup and these files under /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(own)
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "1600000 100000\n"}, 8),
        # A group inside one with a limit has no more than that one.
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        # The path is the host's, and the container sees its own group at the root.
        ("0::/docker/abc\n", {"cpu.max": "400000 100000"}, 4),
        ("9:cpuset:/\n", {}, 8),
        ("nonsense", {}, 8),
    ],
)
def test_the_limit_of_a_container_counts(own, files, expected, tmp_path):
    assert own_cores(system(tmp_path, own, **files)) == expected


def test_without_control_groups_all_cores_count(tmp_path):
    assert own_cores(tmp_path) == 8
    assert limits_note(tmp_path) is None


@pytest.mark.parametrize(
    ("value", "alone", "four_jobs"),
    [
        ("1", 1, 1),
        ("3", 3, 2),
        ("64", 8, 2),
        ("4,2", 4, 2),
        ("", 8, 2),
        ("none", 8, 2),
        ("0", 8, 2),
    ],
)
def test_omp_num_threads_limits_each_job(value, alone, four_jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert default_threads(1, tmp_path) == alone
    assert default_threads(4, tmp_path) == four_jobs
    assert (limits_note(tmp_path) is not None) is (alone < 8)


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


def test_what_limits_is_told_and_what_is_asked_for_is_given(tmp_path, monkeypatch):
    root = system(tmp_path, "0::/\n", **{"cpu.max": "200000 100000"})
    assert limits_note(root) == "the container's limit leaves 2 of 8 cores (--threads changes it)"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "2 of 8 cores; OMP_NUM_THREADS gives each job at most 1 of 2" in limits_note(root)
    assert LocalExecutor().default_limits(Limits(0, 5)).threads == 5
    assert LocalExecutor().default_limits(Limits(0, 0)).threads == 1
