"""A kill at any moment loses nothing that was finished."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from sweeps import zoo

from zoo.sweep.records import RecordFile

SWEEP = (
    "bench --attention fused,naive --pe rope,sin --seeds 2 --phases trials --dim 16 --heads 2 "
    "--hidden 32 --layers 1 --max-length 24 --vocab-size 120 --epochs 6 --batch-size 4 "
    "--threads 1"
).split()


def results(directory: Path) -> dict[tuple[str, int | None], object]:
    """Row and seed to everything a trial found out, but for its timing."""
    found: dict[tuple[str, int | None], object] = {}
    for record in RecordFile(directory).read():
        assert record.status == "ok", record.reason
        key = record.name, record.seed
        assert key not in found, f"{key} is there twice"
        timed = {"seconds", "train_seconds", "evaluate_seconds"}
        curve = [{n: v for n, v in row.items() if n != "seconds"} for row in record.curve]
        found[key] = {n: v for n, v in record.metrics.items() if n not in timed}, curve
    return found


def heed_ctrl_c() -> None:
    """As in a terminal, also where these tests run in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, corpus_directory: Path):
    out = tmp_path_factory.mktemp("whole")
    done = zoo(*SWEEP, "--data", corpus_directory, "--out", out)
    assert done.returncode == 0, done.stderr
    return results(out)


def kill_and_resume(kills: int, out: Path, data: Path, seed: int) -> dict:
    draw = random.Random(seed)
    arguments = [*SWEEP, "--data", str(data), "--out", str(out)]
    for _ in range(kills):
        process = start(arguments)
        try:
            process.wait(timeout=draw.uniform(0.5, 6.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the whole tree: parent, fork server, workers
            process.wait()
    done = zoo(*arguments)
    assert done.returncode == 0, done.stderr
    return results(out)


def test_a_sweep_killed_now_and_then_ends_as_if_it_never_was(
    tmp_path: Path, corpus_directory: Path, uninterrupted: dict
):
    assert kill_and_resume(4, tmp_path, corpus_directory, seed=1) == uninterrupted
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sweep_killed_at_fifty_random_moments_ends_as_if_it_never_was(
    tmp_path: Path, corpus_directory: Path, uninterrupted: dict
):
    """ZOO_KILLS sets another number of kills, for a longer run by hand."""
    kills = int(os.environ.get("ZOO_KILLS", "50"))
    done, part = 0, 0
    while done < kills:  # a finished sweep has nothing left to kill: begin another
        assert kill_and_resume(
            min(10, kills - done), tmp_path / str(part), corpus_directory, part
        ) == (uninterrupted)
        done, part = done + 10, part + 1


def test_ctrl_c_leaves_what_is_finished_and_a_table_of_it(tmp_path: Path, corpus_directory: Path):
    arguments = [*SWEEP, "--data", str(corpus_directory), "--out", str(tmp_path), "--epochs", "40"]
    process = start(arguments)
    records = tmp_path / "records.jsonl"
    end = time.monotonic() + 120
    while not (records.exists() and records.read_bytes().count(b"\n")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: every process of the group
    assert process.wait(timeout=60) == 130
    finished = results(tmp_path)
    assert 0 < len(finished) < 10
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.seeds.sum() == len(finished)


def test_the_workers_die_with_the_parent(tmp_path: Path, corpus_directory: Path):
    arguments = [*SWEEP, "--data", str(corpus_directory), "--out", str(tmp_path)]
    process = start([*arguments, "--epochs", "100000"])
    end = time.monotonic() + 60
    while not any((tmp_path / "checkpoints").glob("*.safetensors")):
        assert time.monotonic() < end
        time.sleep(0.1)
    process.kill()  # the parent alone
    process.wait()
    end = time.monotonic() + 30
    while _alive(process.pid):
        assert time.monotonic() < end, "a worker outlived its parent"
        time.sleep(0.2)


def _alive(group: int) -> bool:
    """Whether a process of this group still runs."""
    import psutil

    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return False


def test_a_read_only_directory_is_refused_before_anything_is_trained(
    tmp_path: Path, corpus_directory: Path
):
    if os.geteuid() == 0:
        command = ["unshare", "-m", "sh", "-c"]
        script = f"mount -t tmpfs -o ro tmpfs {tmp_path} && exec {sys.executable} -m zoo "
        script += " ".join([*SWEEP, "--data", str(corpus_directory), "--out", f"{tmp_path}/out"])
        done = subprocess.run([*command, script], capture_output=True, text=True, check=False)
        if "unshare" in done.stderr or "mount" in done.stderr:
            pytest.skip(f"cannot make a read-only mount here: {done.stderr.strip()}")
    else:
        tmp_path.chmod(0o500)
        done = zoo(*SWEEP, "--data", corpus_directory, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "Traceback" not in done.stderr
