"""A whole sweep against the training it consists of."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bench.peers.lines import Line, made
from bench.peers.options import Options
from bench.peers.timing import interval
from zoo.errors import ZooError
from zoo.sweep.records import RecordFile

ROOT = Path(__file__).parents[2]
CELLS = "--attention fused,split,packed,naive --pe rope,sin --norm layer,rms".split()
SIZES = "--epochs 1 --phases trials --baseline none --data".split()
DATA = "newswire(train=1800,test=360)"
QUICK_DATA = "newswire(train=60,test=30)"
QUICK = "--dim 16 --heads 2 --hidden 32 --layers 1 --max-length 32 --vocab-size 300".split()
ROUNDS = 2  # at most; a sweep takes a minute on two cores


def against_steps(options: Options) -> Iterator[Line]:
    """``zoo bench`` of 16 cells, from its start to its table, against its epochs' own seconds.

    The epochs are timed where they are trained. All the rest is the harness': the start of Python
    and of a worker per cell, data made and tokenised anew, evaluation, records and tables.
    """
    rounds = 1 if options.quick else min(ROUNDS, options.rounds)
    found = np.array([_sweep(options) for _ in range(rounds)])
    whole, steps = found[:, 0], found[:, 1]
    yield made(
        "whole sweep",
        "the sum of its training steps",
        interval(whole / steps),
        options.runtime,
        rounds=rounds,
        reach=1.15,
        bound="at most",
        detail=f"16 cells, one epoch each, {_told(options)}, one at a time; an epoch's seconds "
        "hold the making of its batches",
    )


def _told(options: Options) -> str:
    return f"tiny, {QUICK_DATA}" if options.quick else f"of default size, {DATA}"


def _sweep(options: Options) -> tuple[float, float]:
    """Seconds of one whole sweep, and of all its training."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        words = [*CELLS, *SIZES, QUICK_DATA if options.quick else DATA, "--out", str(out)]
        words += ["--device", options.runtime.device.type, "--precision", options.runtime.precision]
        words += ["--threads", str(torch.get_num_threads())]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "zoo", "bench", *words, *(QUICK if options.quick else [])],
            env={**os.environ, "PYTHONPATH": path, "ZOO_CACHE": str(Path(directory) / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        whole = time.perf_counter() - start
        if done.returncode:
            raise ZooError(f"zoo bench ended with status {done.returncode}: {done.stderr[-300:]}")
        records = RecordFile(out).read()
    assert len(records) == 16
    return whole, sum(r.metrics["train_seconds"] for r in records)
