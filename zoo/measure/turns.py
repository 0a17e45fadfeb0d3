"""Models timed in short turns within one process, and what these turns say of their speeds.

In each block every model has one turn of a phase, in random order and without a pause: a machine
that slows down slows all models of a block alike, so each block gives one log ratio. On a CPU the
clock is the process's own time, which stands still while other processes have the core.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PHASES = ("train", "infer")
LATENCY = "latency"
TURN_SECONDS = {"train": 0.12, "infer": 0.12, LATENCY: 0.04}  # unless one step takes longer
LEAST_BLOCKS, MOST_BLOCKS = 12, 40
HALF = LEAST_BLOCKS // 2  # the least of each of two processes
NARROW = 0.02  # half the interval of a log ratio, below which more blocks tell little
FIRST = 0.05  # the same in a first table, where nobody said how many blocks
# Standard deviation of a log ratio between processes, which lay out their memory differently.
BETWEEN = 0.01
CONTENDED = 1.5  # wall time over CPU time above which other work had the core
Z = statistics.NormalDist().inv_cdf(0.975)

Logs = NDArray[np.float64]
Work = Callable[[int], object]  # a step on the batch of this number
Pair = tuple[float, float]  # seconds of a step: wall, CPU


def block(
    works: Mapping[int, Work], number: int, least: float, synchronise: Callable[[], object]
) -> Iterator[tuple[int, Pair | None]]:
    """Give each work a turn of ``least`` seconds on batch ``number``, in random order.

    Yields a work's key with None before its turn, and with the seconds of a step after it.
    """
    order = list(works)
    random.shuffle(order)
    for key in order:
        yield key, None
        yield key, turn(works[key], number, least, synchronise)


def turn(work: Work, number: int, least: float, synchronise: Callable[[], object]) -> Pair:
    """Wall and CPU seconds of a step, from as many as take ``least`` seconds together.

    The first step finds caches that others filled. It says how many these are, and counts only
    where it is as long itself.
    """
    first = _timed(work, number, 1, synchronise)
    count = int(least / first[0])
    return first if count <= 1 else _timed(work, number, count, synchronise)


def _timed(work: Work, number: int, count: int, synchronise: Callable[[], object]) -> Pair:
    synchronise()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        work(number)
    synchronise()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def clock_of(device: str, threads: int) -> str:
    """What turns on a device are compared by: ``cpu`` time, or ``wall`` time.

    A GPU works while the process waits, several threads take CPU time by waiting for each other,
    and on Windows CPU time comes in steps of 16 ms.
    """
    fine = time.get_clock_info("process_time").resolution < 1e-4
    return "cpu" if device == "cpu" and threads == 1 and fine else "wall"


def log_ratios(own: Mapping[str, Any], base: Mapping[str, Any], phase: str) -> list[Logs]:
    """Log of own speed over the base's, in real tokens/s: of each process, block by block.

    Each model is given as its ``properties``, ``clock`` and ``turns``, as samples of a record hold
    them.
    """
    if phase not in own["turns"] or phase not in base["turns"]:
        return []
    ours, theirs = (_batches(model["properties"], phase) for model in (own, base))
    pairs = zip(seconds(own, phase), seconds(base, phase), strict=False)
    processes = []
    for process, (mine, other) in enumerate(pairs):
        count = min(len(mine), len(other))
        logs = np.log(other[:count]) - np.log(mine[:count])
        if ours != theirs:
            logs += [
                math.log(_of(ours, process, n)[0] / _of(theirs, process, n)[0])
                for n in range(count)
            ]
        processes.append(logs)
    return processes


def seconds(model: Mapping[str, Any], phase: str) -> Sequence[Sequence[float]]:
    """Of a step, of each process, block by block."""
    turns: Sequence[Sequence[float]] = model["turns"][phase][model["clock"]]
    return turns


def batch_of(process: int, number: int, count: int) -> int:
    """Which of so many batches a block takes: the next process goes on with others."""
    return (process * HALF + number) % count


def _of(batches: Sequence[Sequence[int]], process: int, number: int) -> Sequence[int]:
    return batches[batch_of(process, number, len(batches))]


def _batches(properties: Mapping[str, Any], phase: str) -> Sequence[Sequence[int]]:
    batches: Sequence[Sequence[int]] = properties["batches"]
    inferred = properties.get("infer_batches", batches)
    return inferred if phase.startswith("infer") else batches


def hodges_lehmann(logs: Logs) -> tuple[float, float | None]:
    """The centre of these values, and its standard error; None where they are too few.

    The centre is the median of the means of all pairs (Hodges and Lehmann 1963, Estimates of
    Location Based on Rank Tests). The error is that of the interval of Wilcoxon's signed ranks,
    which one disturbed block makes hardly wider.
    """
    count = len(logs)
    pairs = np.sort(np.add.outer(logs, logs)[np.triu_indices(count)]) / 2
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    left_out = math.floor(count * (count + 1) / 4 - Z * spread)
    if left_out < 1:
        return float(np.median(pairs)), None
    low, high = pairs[left_out - 1], pairs[-left_out]
    return float(np.median(pairs)), float(high - low) / 2 / Z


def centre_and_error(
    processes: Sequence[Logs], squares: float = 2.0, planned: int = 0
) -> tuple[float, float | None]:
    """The centre of log ratios of several processes, and its standard error, None where unknown.

    squares: the sum of the squares of the weights of the speeds that these are products of; of a
    ratio of two speeds 2. planned: the error as it will be with so many processes.
    """
    centre, error = hodges_lehmann(np.concatenate(processes))
    if error is None:
        return centre, None
    known = sum(len(logs) > 0 for logs in processes)
    between = BETWEEN**2 * squares / 2
    return centre, math.sqrt((error**2 * known + between) / max(known, planned))


def narrow_enough(
    ratios: Iterable[Sequence[Logs]], planned: int = 0, narrow: float = NARROW
) -> bool:
    """Whether the 95% interval of each of these log ratios reaches at most so far to each side.

    planned: as of ``centre_and_error``.
    """
    errors = (centre_and_error(logs, planned=planned)[1] for logs in ratios if logs)
    return all(error is not None and Z * error <= narrow for error in errors)


def ratios_of(
    reference: Mapping[str, Any], others: Iterable[Mapping[str, Any]]
) -> Iterator[list[Logs]]:
    """The log ratios of each model to the reference, in each phase; see ``log_ratios``."""
    for model, phase in itertools.product(others, PHASES):
        yield log_ratios(model, reference, phase)


def contention(model: Mapping[str, Any]) -> float:
    """Wall time over CPU time: the median of all turns."""
    turns = [model["turns"][phase] for phase in PHASES if phase in model["turns"]]
    ratios = [
        wall / max(cpu, 1e-9)
        for clocks in turns
        for pair in zip(clocks["wall"], clocks["cpu"], strict=True)
        for wall, cpu in zip(*pair, strict=True)
    ]
    return statistics.median(ratios) if ratios else 1.0


def rate(model: Mapping[str, Any], phase: str) -> float:
    """Real tokens per second over all batches, each with the median of its turns."""
    batches = _batches(model["properties"], phase)
    taken: dict[int, list[float]] = {}
    for process, blocks in enumerate(seconds(model, phase)):
        for number, step in enumerate(blocks):
            taken.setdefault(batch_of(process, number, len(batches)), []).append(step)
    tokens = sum(batches[place][0] for place in taken)
    return tokens / sum(map(statistics.median, taken.values()))


def summarise(samples: dict[str, Any]) -> dict[str, Any]:
    """One model's numbers: tokens/s, milliseconds, MiB."""
    properties, memory = samples["properties"], samples["memory"]
    alone = seconds(samples, LATENCY) if LATENCY in samples["turns"] else []
    latencies = [1000 * step for step in itertools.chain(*alone)]
    return {
        "params": properties["params"],
        "train_tokens_per_s": rate(samples, "train"),
        "infer_tokens_per_s": rate(samples, "infer"),
        "latency_ms": statistics.median(latencies) if latencies else None,
        "peak_memory_mib": memory["training"]["peak_mib"],
        "memory_how": memory["training"]["how"],
    }
