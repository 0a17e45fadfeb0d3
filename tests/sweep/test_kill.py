"""A kill or Ctrl-C at any moment loses nothing that was finished. Real processes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psutil
import pytest
from small_runs import FAILING, SIZES, bench, flags, result_of, zoo

from zoo.sweep.records import RecordFile

SWEEP = {**SIZES, "attention": "fused,naive", "seeds": 2, "phases": "train", "max_length": 24}
SWEEP |= {"vocab_size": 120, "epochs": 6, "batch_size": 4}


def arguments(data: Path, out: Path, **changes: object) -> list[str]:
    return ["bench", *flags({**SWEEP, "data": data, "out": out, **changes})]


def results(directory: Path) -> dict[tuple[str, int | None], object]:
    """Row and seed to everything that a training gave, except for times."""
    found: dict[tuple[str, int | None], object] = {}
    for record in RecordFile(directory).read():
        assert record.status == "ok", record.reason
        key = record.name, record.seed
        assert key not in found, f"{key} is there twice"
        found[key] = result_of(record)
    return found


def heed_ctrl_c() -> None:
    """As in a terminal, also where these tests run in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes] | None = None):
    """Until the condition holds; the process must live as long."""
    end = time.monotonic() + 120
    while not condition():
        assert process is None or process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, corpus: Path):
    """What the sweep comes to; inline, which gives the same bits."""
    out = tmp_path_factory.mktemp("whole")
    bench(out, {**SWEEP, "data": str(corpus)})
    return results(out)


def written(out: Path) -> int:
    """When a record or a checkpoint was last written, in nanoseconds since 1970; 0 if never."""
    times = [0]
    for file in [out / "records.jsonl", *out.glob("unfinished/*/checkpoint.safetensors")]:
        with contextlib.suppress(FileNotFoundError):
            times.append(file.stat().st_mtime_ns)
    return max(times)


def test_a_sweep_whose_process_is_killed_ends_as_if_it_had_not_been(
    tmp_path: Path, corpus: Path, uninterrupted: dict
) -> None:
    """Its workers die with it, although nobody tells them; another executor goes on."""
    process = start(arguments(corpus, tmp_path, jobs=2))
    wait_for(lambda: written(tmp_path), process)
    process.kill()  # the parent alone
    process.wait()
    wait_for(lambda: not _alive(process.pid))
    assert results(tmp_path) != uninterrupted, "the sweep is too short to be interrupted"
    bench(tmp_path, {**SWEEP, "data": str(corpus)})
    assert results(tmp_path) == uninterrupted
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_that_is_killed_at_random_moments_ends_as_if_it_had_not_been(
    jobs: int, tmp_path: Path, corpus: Path, uninterrupted: dict
) -> None:
    """ZOO_KILLS sets how many of each number of jobs, for a run by hand.

    The first of three moments is counted from the start of the command, and the others from when
    it has first written something, so that most kills interrupt a training on a machine of any
    speed.
    """
    kills = int(os.environ.get("ZOO_KILLS", "3"))
    draw = random.Random(jobs)
    for first in range(0, kills, 3):  # a finished sweep has nothing left to kill: begin another
        out = tmp_path / str(first)
        words = arguments(corpus, out, jobs=jobs)
        killed = 0
        for number in range(min(3, kills - first)):
            before = time.time_ns()
            process = start(words)
            if number:
                while process.poll() is None and written(out) < before:
                    time.sleep(0.01)
            try:
                process.wait(timeout=draw.uniform(0, 0.8) if number else draw.uniform(0.5, 4.0))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # parent, fork server and workers
                process.wait()
                killed += 1
        assert killed >= min(2, kills - first), "the sweep is too short to be interrupted"
        done = zoo(*words)
        assert done.returncode == 0, done.stderr
        assert results(out) == uninterrupted
        assert not (out / "unfinished").exists()


def test_ctrl_c_leaves_what_is_finished_and_a_table_of_it(tmp_path: Path, corpus: Path) -> None:
    process = start(arguments(corpus, tmp_path, seeds=4, epochs=12))
    records = tmp_path / "records.jsonl"
    wait_for(lambda: records.exists() and records.read_bytes().count(b"\n"), process)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: every process of the group
    assert process.wait(timeout=60) == 130
    finished = results(tmp_path)
    assert 0 < len(finished) < 10
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.seeds.sum() == len(finished)


@pytest.mark.slow
def test_workers_in_a_step_that_never_ends_die_with_the_process_that_submits(
    tmp_path: Path, corpus: Path
) -> None:
    hangs = {"attention": "hangs", "plugin": FAILING, "pe": "sin", "baseline": "none"}
    process = start(arguments(corpus, tmp_path, jobs=2, **hangs))
    wait_for(lambda: len(list(tmp_path.glob("unfinished/*/output.log"))) == 2, process)
    process.kill()
    process.wait()
    wait_for(lambda: not _alive(process.pid))


def _alive(group: int) -> bool:
    """Whether a process of this group still runs."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return False
