"""The time of a whole ``zoo bench``, compared with the training it consists of."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bench.peers.comparison import Comparison, measured
from bench.peers.options import Options
from bench.peers.startup import with_checkout
from bench.peers.turns import interval
from zoo.errors import ZooError
from zoo.sweep.records import RecordFile

CELLS = "--attention fused,split,packed,naive --pe rope,sin --norm layer,rms".split()
CELL_COUNT = 16
QUICK_CELLS = "--attention fused --pe rope,sin --norm layer".split()
QUICK_CELL_COUNT = 2
TRAINING = "--epochs 1 --phases train --baseline none --data".split()
DATA = "newswire(train=1800,test=360)"
QUICK_DATA = "newswire(train=60,test=30)"
QUICK = "--dim 16 --heads 2 --ffn-dim 32 --layers 1 --max-length 32 --vocab-size 300".split()


def compare(options: Options) -> Iterator[Comparison]:
    """``zoo bench`` of 16 cells, from start to tables, against the seconds of its epochs.

    The rest is overhead: starting Python, a worker per cell, making and tokenising the data,
    evaluation, records and tables. With --quick there are two cells.
    """
    cells = QUICK_CELL_COUNT if options.quick else CELL_COUNT
    seconds = np.array([_sweep(options) for _ in range(options.rounds)])
    sizes = f"tiny, {QUICK_DATA}" if options.quick else f"of default size, {DATA}"
    yield measured(
        "own",
        "zoo bench",
        "its own training steps",
        interval(seconds[:, 0] / seconds[:, 1]),
        options.runtime,
        rounds=options.rounds,
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
        words += ["--device", options.runtime.device.type, "--precision", options.runtime.precision]
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
