"""The process of an engine: what is said of its end, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from zoo.errors import ZooError
from zoo.execution.cluster.engine import Lost, Report, Said
from zoo.execution.cluster.engine_process import EngineProcess
from zoo.execution.cluster.scratch import LONGEST, MARKER, remove_dead, scratch_directory

MUCH = 10_000_000  # bytes


class Dies:
    """An engine that prints something, and whose process ends when it is to watch."""

    def __init__(self, report: object, scratch: str, how: str) -> None:
        self.how = how
        Path(scratch, "of the engine").touch()

    def watch(self) -> None:
        print("something went wrong", flush=True)
        print("2026-01-01 00:00:00,000\tINFO worker.py:1 -- all is well", flush=True)
        print("2026-01-01 00:00:00,000 INFO worker.py:1 -- all is well", flush=True)
        print("[2026-01-01 00:00:00,000 W 1 1] gcs_client.cc:1: some token is wrong", flush=True)
        if self.how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(3)


class Floods:
    """An engine that reports more than a pipe holds, and cannot start a slot."""

    def __init__(self, report: Callable[[Report], None], scratch: str) -> None:
        self.report = report

    def watch(self) -> None:
        flood = Said("other", b"0" * MUCH)
        threading.Thread(target=self.report, args=(flood,), daemon=True).start()

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        raise RuntimeError("no room")

    def call(self, slot: str, call: bytes) -> None:
        pass

    def close(self) -> None:
        pass


class Refuses:
    """An engine that cannot connect."""

    def __init__(self, report: object, scratch: str) -> None:
        Path(scratch, "of the engine").touch()
        raise OSError("no")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where engines have their directories."""
    monkeypatch.setattr("zoo.execution.cluster.engine_process.short_place", lambda: tmp_path)
    return tmp_path


def engine(factory: str, **options: Any) -> EngineProcess:
    return EngineProcess("An engine", f"test_engine_process:{factory}", options, 60)


@pytest.mark.parametrize(
    ("how", "words"),
    [("killed", "was killed by SIGKILL"), ("exits", "ended with status 3")],
)
def test_an_engine_that_is_gone_says_how_it_ended_and_leaves_nothing(
    how: str, words: str, place: Path
) -> None:
    made = engine("Dies", how=how)
    (scratch,) = place.iterdir()
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    with pytest.raises(ZooError) as caught:
        made.receive(60)
    assert f"its process here {words} (something went wrong)." in str(caught.value)
    made.close()
    assert list(place.iterdir()) == []


def test_an_engine_that_cannot_connect_leaves_nothing(place: Path) -> None:
    with pytest.raises(ZooError, match="no"):
        engine("Refuses")
    assert list(place.iterdir()) == []


def test_orders_and_reports_that_are_larger_than_a_pipe_do_not_wait_for_each_other(
    place: Path,
) -> None:
    made = engine("Floods")

    def order() -> None:
        made.start("a", "a node", 1, 0)
        made.call("a", b"0" * MUCH)

    ordering = threading.Thread(target=order, daemon=True)
    ordering.start()
    ordering.join(60)
    assert not ordering.is_alive()
    reports: list[Report] = []
    while len(reports) < 2:
        reports += made.receive(60)
    assert reports == [Said("other", b"0" * MUCH), Lost("a", "RuntimeError: no room")]
    made.close()


def test_directories_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    mine = scratch_directory("zoo-", tmp_path)
    script = (
        "import sys; from pathlib import Path; from zoo.execution.cluster import scratch; "
        "scratch.scratch_directory('zoo-', Path(sys.argv[1]))"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    other_boot = next(path for path in tmp_path.iterdir() if path != mine)
    marker = other_boot / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "boot": "another"}))
    users = tmp_path / "zoo-2024-results"
    users.mkdir()
    assert len(list(tmp_path.iterdir())) == 4
    remove_dead("zoo-", tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([mine, other_boot, users])


def test_a_process_number_that_was_given_again_is_another_process(tmp_path: Path) -> None:
    made = scratch_directory("zoo-", tmp_path)
    marker = made / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "started": 1.0}))
    remove_dead("zoo-", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_an_engine_removes_before_it_starts_is_no_users(place: Path) -> None:
    (place / "zoo-2024-results").mkdir()
    engine("Floods").close()
    assert [path.name for path in place.iterdir()] == ["zoo-2024-results"]


@pytest.mark.parametrize("how", ["killed", "at its end"])
def test_the_directories_of_a_slot_are_removed_with_it(how: str, tmp_path: Path) -> None:
    """multiprocessing's own directory too, which is left where a process is killed."""
    script = (
        "import os; from zoo.execution.cluster.scratch import slot_directory; "
        "directory = slot_directory(); (directory / 'file').touch(); "
        "print(len(os.listdir(directory.parent)), flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "2\n"
    if how == "killed":
        assert psutil.Process(process.pid).children() == []
        process.kill()
    process.communicate("\n", timeout=60)
    end = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_socket_fits_below_a_place_of_the_longest_name() -> None:
    below = "/zooray-1234567-abcdefgh/ray/session_2026-01-01_00-00-00_000000_1234567/sockets/"
    assert LONGEST + len(f"{below}plasma_store") <= 103


def test_a_long_place_for_temporary_files_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.execution.cluster.scratch import short_place

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
    assert short_place() == Path("/tmp")
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert short_place() == Path("/var/tmp")
