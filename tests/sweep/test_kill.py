"""A kill or Ctrl-C at any moment loses nothing that was finished. Real processes."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pandas as pd
import psutil
import pytest
from forked import ADDRESS, ZOO, Forked
from small_runs import SIZES, bench, flags, result_of, zoo

from zoo.sweep.records import RecordFile

SWEEP = {**SIZES, "attention": "fused,naive", "seeds": 1, "phases": "train", "max_length": 24}
SWEEP |= {"vocab_size": 120, "epochs": 4, "batch_size": 8, "baseline": "tfidf-logreg"}


def arguments(data: Path, out: Path, **changes: object) -> list[str]:
    return ["bench", *flags({**SWEEP, "data": data, "out": out, **changes})]


def results(directory: Path, *, failed: bool = False) -> dict[tuple[str, int | None], object]:
    """Row and seed to everything that a training gave, except for times.

    failed: there may be records of what failed, and of costs that were skipped for that, before
    those of what was done again.
    """
    found: dict[tuple[str, int | None], object] = {}
    for record in RecordFile(directory).read():
        if failed and record.status in ("crashed", "skipped"):
            continue
        assert record.status == "ok", record.reason
        key = record.name, record.seed
        assert key not in found, f"{key} is there twice"
        found[key] = result_of(record)
    return found


def heed_ctrl_c() -> None:
    """As in a terminal, also where these tests run in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(words: list[str], errors: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """A process of which the server that forks workers is a child."""
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", *words],
        stdout=subprocess.DEVNULL,
        stderr=errors or subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )


def quick_start(words: list[str]) -> Forked | subprocess.Popen[bytes]:
    """The same; where torch is imported once for all tests its server is no child."""
    if ADDRESS not in os.environ:
        return start(words)
    with open(os.devnull, "wb") as nothing:
        return Forked(ZOO, *words, stdout=nothing.fileno(), stderr=nothing.fileno())


def wait_for(condition: Callable[[], object], process: Any = None):
    """Until the condition holds; the process must live as long."""
    end = time.monotonic() + 120
    while not condition():
        assert process is None or process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, corpus):
    """What the sweep comes to; inline, which gives the same bits."""
    out = tmp_path_factory.mktemp("whole")
    bench(out, {**SWEEP, "data": str(corpus)})
    return results(out)


def written(out: Path) -> int:
    """When a record or a checkpoint was last written, in nanoseconds since 1970; 0 if never."""
    times = [0]
    for file in [out / "records.jsonl", *out.glob("unfinished/*/checkpoint.pt")]:
        with contextlib.suppress(FileNotFoundError):
            times.append(file.stat().st_mtime_ns)
    return max(times)


def test_a_sweep_whose_process_is_killed_ends_as_if_it_had_not_been(
    tmp_path, corpus, uninterrupted
):
    """Its workers die with it, although nobody tells them; another executor goes on."""
    process = quick_start(arguments(corpus, tmp_path, jobs=2))
    wait_for(lambda: written(tmp_path), process)
    process.kill()  # the parent alone
    process.wait()
    wait_for(lambda: not _alive(process.pid))
    assert results(tmp_path) != uninterrupted, "the sweep is too short to be interrupted"
    bench(tmp_path, {**SWEEP, "data": str(corpus)})
    assert results(tmp_path) == uninterrupted
    assert not (tmp_path / "unfinished").exists()


MOMENTS = ("start", "training", "costs", "tables")
VICTIMS = ("all", "parent", "server", "worker")


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_of_which_something_is_killed_ends_as_if_it_had_not_been(
    jobs, tmp_path, corpus, uninterrupted
):
    """Every victim at every moment; ZOO_KILLS sets how many kills, for a run by hand.

    The moment is drawn from the second after the sweep has come so far. What was killed has one
    record or none, and the same command goes on.
    """
    draw = random.Random(jobs)
    every = [(victim, moment) for victim in VICTIMS for moment in MOMENTS]
    draw.shuffle(every)
    out = tmp_path / "sweep"
    words = arguments(corpus, out, jobs=jobs, phases="train,cost", blocks=1)
    missed = []
    for number in range(int(os.environ.get("ZOO_KILLS", "8"))):
        victim, moment = every[number % len(every)]
        shutil.rmtree(out, ignore_errors=True)
        began = time.time_ns()
        with (tmp_path / "errors").open("wb") as errors:
            process = start(words, errors)
        while process.poll() is None and not _reached(moment, out, began, len(uninterrupted)):
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=draw.uniform(0, 0.1 if moment == "tables" else 1))
        while not (killed := _kill(victim, process)) and process.poll() is None:
            time.sleep(0.005)  # until there is one
        missed += [] if killed else [f"{victim} in {moment}"]
        status = process.wait(timeout=240)
        if killed and victim in ("all", "parent"):
            assert status == -signal.SIGKILL
        else:  # it goes on by itself; the job of a worker that was killed has failed
            said = (victim, moment, (tmp_path / "errors").read_text())
            assert status in ((0, 1) if victim == "worker" else (0,)), said
        done = zoo(*words)
        assert done.returncode == 0, (victim, moment, done.stderr)
        found = results(out, failed=victim == "worker")
        assert {k: v for k, v in found.items() if k[1] is not None} == uninterrupted
        cells = {name for name, _ in uninterrupted if not name.startswith("tfidf-logreg")}
        assert {name for name, seed in found if seed is None} == cells
        assert not list(out.glob("unfinished/*/*")), (victim, moment)
    print(f"missed: {', '.join(missed)}")


def _reached(moment: str, out: Path, began: int, trainings: int) -> bool:
    """Whether a sweep has come so far since it began."""
    file = out / "records.jsonl"
    lines = file.read_bytes().count(b"\n") if file.exists() else 0
    return {
        "start": True,
        "training": written(out) > began,
        "costs": lines >= trainings,
        "tables": lines >= trainings + 4,  # two cells and two baselines
    }[moment]


def _kill(victim: str, process: subprocess.Popen[bytes]) -> bool:
    """Kill the parent, the server that forks, one of its workers, or all; whether it was there."""
    if process.poll() is not None:
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        children = parent.children()
        workers = [worker for child in children for worker in child.children()]
        chosen = {
            "all": [parent, *children, *workers],
            "parent": [parent],
            "server": children[:1],
            "worker": workers[:1],
        }[victim]
        for one in chosen:
            one.kill()
        return bool(chosen)
    return False


def test_ctrl_c_leaves_what_is_finished_and_a_table_of_it(tmp_path, corpus):
    process = quick_start(arguments(corpus, tmp_path, seeds=3, epochs=12))
    records = tmp_path / "records.jsonl"
    wait_for(lambda: records.exists() and records.read_bytes().count(b"\n"), process)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: every process of the group
    assert process.wait(timeout=60) == 130
    finished = results(tmp_path)
    assert 0 < len(finished) < 7
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.seeds.sum() == len(finished)


def _alive(group: int) -> bool:
    """Whether a process of this group still runs."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return False
