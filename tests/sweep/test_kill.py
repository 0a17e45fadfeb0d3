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
from small_runs import FAILING, bench, flags, result_of, zoo

from zoo.sweep.records import RecordFile

SWEEP = {
    "attention": "fused,naive",
    "pe": "rope",
    "seeds": 2,
    "phases": "train",
    "dim": 16,
    "heads": 2,
    "ffn_dim": 32,
    "layers": 1,
    "max_length": 24,
    "vocab_size": 120,
    "epochs": 6,
    "batch_size": 4,
    "threads": 1,
    "device": "cpu",
}


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


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None
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


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_that_is_killed_ends_as_if_it_had_not_been(
    jobs: int, tmp_path: Path, corpus: Path, uninterrupted: dict
) -> None:
    """At random moments; ZOO_KILLS sets how many of each number of jobs, for a run by hand.

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
def test_workers_die_with_the_process_that_submits(tmp_path: Path, corpus: Path) -> None:
    """Also where they are in the middle of a step that never ends."""
    hangs = {"attention": "hangs", "plugin": FAILING, "pe": "sin", "baseline": "none"}
    process = start(arguments(corpus, tmp_path, jobs=2, **hangs))
    wait_for(lambda: len(list(tmp_path.glob("unfinished/*/output.log"))) == 2, process)
    process.kill()  # the parent alone
    process.wait()
    end = time.monotonic() + 30
    while _alive(process.pid):
        assert time.monotonic() < end, "a worker outlived its parent"
        time.sleep(0.2)


def _alive(group: int) -> bool:
    """Whether a process of this group still runs."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return False


def test_a_read_only_directory_is_refused_before_anything_is_trained(
    tmp_path: Path, corpus: Path
) -> None:
    if os.geteuid() == 0:
        words = ["-m", "zoo", *arguments(corpus, tmp_path / "out"), "--on", "inline"]
        script = f"mount -t tmpfs -o ro tmpfs {tmp_path} && exec {sys.executable} "
        command = ["unshare", "-m", "sh", "-c", script + " ".join(words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "unshare" in done.stderr or "mount" in done.stderr:
            pytest.skip(f"cannot make a read-only mount here: {done.stderr.strip()}")
    else:
        tmp_path.chmod(0o500)
        done = zoo(*arguments(corpus, tmp_path / "out"), "--on", "inline")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "Traceback" not in done.stderr
