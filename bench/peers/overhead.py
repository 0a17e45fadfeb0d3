"""What the program adds: the time to start, and that of a sweep beside its training."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.options import Options
from bench.peers.steps import take_turns
from zoo.errors import ZooError
from zoo.measure.turns import HALF, Work
from zoo.sweep.records import RecordFile

ROOT = Path(__file__).parents[2]
IMPORTS = "import typer, rich"
COMMAND = "import sys; from zoo.cli import main; sys.exit(main({}))"  # as the installed command
REACH = {"--help": 3.0, "list": 4.0}
CELLS = "--attention fused,split,packed,naive --pe rope,sin --norm layer,rms".split()
CELL_COUNT = 16
QUICK_CELLS = "--attention fused --pe rope,sin --norm layer".split()
QUICK_CELL_COUNT = 2
SWEEPS = HALF // 2  # of each process: together as many as an interval needs
TRAINING = "--epochs 1 --seeds 1 --phases train --baseline none --data".split()
DATA = "newswire(train=1800,test=360)"
QUICK_DATA = "newswire(train=60,test=30)"
QUICK = "--set dim=16,heads=2,ffn_dim=32,layers=1,vocab_size=300 --max-length 32".split()


def compare_start(options: Options) -> Iterator[Comparison]:
    """``zoo --help`` and ``zoo list`` against ``python -c "import typer, rich"``."""
    against = f'python -c "{IMPORTS}"'
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"needs {missing[0]}: pip install -c constraints.txt --group peers"
        yield skipped("own", "start", against, reason, options.runtime)
        return
    steps = {"imports": _python(IMPORTS), "imports again": _python(IMPORTS)}
    steps |= {word: _python(COMMAND.format([word])) for word in REACH}
    pairs = [(word, "imports") for word in REACH]
    turns = take_turns(steps, options, pairs, clock="wall")  # the time is of other processes
    for word, reach in REACH.items():
        yield measured(
            "own",
            "start",
            against,
            turns.logs(word, "imports"),
            options.runtime,
            check=turns.logs("imports again", "imports"),
            reach=reach,
            bound="at most",
            ours=f"zoo {word}",
            theirs="Python that imports two libraries of the command line",
        )


def with_checkout(**variables: str) -> dict[str, str]:
    """This process's environment with the checkout first on Python's path, and more variables."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def _python(code: str) -> Work:
    def run(_: int) -> None:
        subprocess.run(
            [sys.executable, "-c", code],
            env=with_checkout(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    return run


def compare_sweep(options: Options) -> Iterator[Comparison]:
    """``zoo bench`` of 16 cells, from start to tables, against the seconds of its epochs.

    The rest is overhead: starting Python, a worker per cell, making and tokenising the data,
    evaluation, records and tables. With --quick there are two cells.
    """
    cells = QUICK_CELL_COUNT if options.quick else CELL_COUNT
    runs = 1 if options.quick else SWEEPS
    seconds = np.array([_sweep(options) for _ in range(runs)])
    sizes = f"tiny, {QUICK_DATA}" if options.quick else f"of default size, {DATA}"
    yield measured(
        "own",
        "zoo bench",
        "its own training steps",
        np.log(seconds[:, 0] / seconds[:, 1]),
        options.runtime,
        reach=1.15,
        bound="at most",
        sizes=f"{cells} cells, one epoch each, {sizes}, one at a time",
        ours="all of the command, from start to tables",
        theirs="the seconds of its epochs, with making their batches",
    )


def _sweep(options: Options) -> tuple[float, float]:
    """Seconds of one whole sweep, and of all its training."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        words = [*(QUICK_CELLS if options.quick else CELLS), *TRAINING]
        words += [QUICK_DATA if options.quick else DATA, "--out", str(out)]
        words += ["--device", options.runtime.device.type]
        words += ["--set", f"precision={options.runtime.precision}"]
        words += ["--threads", str(torch.get_num_threads()), *(QUICK if options.quick else [])]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "zoo", "bench", *words],
            env=with_checkout(ZOO_CACHE=str(Path(directory) / "cache")),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        whole = time.perf_counter() - start
        if done.returncode:
            raise ZooError(f"zoo bench ended with status {done.returncode}: {done.stderr[-300:]}")
        records = RecordFile(out).read()
    assert len(records) == (QUICK_CELL_COUNT if options.quick else CELL_COUNT)
    return whole, sum(record.metrics["train_seconds"] for record in records)
