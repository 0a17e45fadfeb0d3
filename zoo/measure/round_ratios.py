"""What the rounds of a cost say: speeds of two models as log ratios, and one model's numbers.

A machine that slows down slows all models of a round alike, so each round gives one log ratio.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PHASES = ("train", "infer")
LEVEL = 0.95
LEAST_ROUNDS = 3  # of two rounds, a t-interval reaches over 12 standard errors to each side
MOST_ROUNDS = 5
NARROW = 0.05  # half the interval of a ratio, as a share, below which more rounds tell little

Logs = NDArray[np.float64]
Rounds = Sequence[Mapping[str, Sequence[float]]]
Batches = Sequence[Sequence[int]]


def log_ratios(
    rounds: Rounds, batches: Batches, base_rounds: Rounds, base_batches: Batches, phase: str
) -> Logs:
    """Log of own speed over the base's, in real tokens/s, of each round that both finished.

    batches: real and padded tokens of each. Where both took the same batches, the median of their
    ratios batch by batch, so that one disturbed batch does not disturb the round.
    """
    if not batches or not base_batches:
        return np.empty(0)
    pairs = [(own[phase], base[phase]) for own, base in zip(rounds, base_rounds, strict=False)]
    if batches == base_batches:
        finished = [np.log(list(zip(*pair, strict=False))) for pair in pairs]
        return np.array([float(np.median(logs[:, 1] - logs[:, 0])) for logs in finished])
    rates = [(_rate(own, batches), _rate(base, base_batches)) for own, base in pairs]
    return np.array([math.log(own / base) for own, base in rates])


def narrow_enough(ratios: Iterable[Sequence[float] | Logs], bound: float = NARROW) -> bool:
    """Whether the 95% t-interval of the mean of each of these is narrow.

    ratios: log ratios, round by round, at least two each. Narrow is less than ``bound``, as a
    share, to each side.
    """
    from scipy import special

    for logs in ratios:
        error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
        if special.stdtrit(len(logs) - 1, (1 + LEVEL) / 2) * error >= math.log1p(bound):
            return False
    return True


def ratios_of(reference: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> Iterator[Logs]:
    """The log ratios of each model to the reference, in each phase.

    Each model is given as its ``properties`` and ``rounds``, as samples of a record hold them.
    """
    for one, phase in itertools.product(others, PHASES):
        base, own = (_batches(model["properties"], phase) for model in (reference, one))
        yield log_ratios(one["rounds"], own, reference["rounds"], base, phase)


def _batches(properties: Mapping[str, Any], phase: str) -> Batches:
    batches: Batches = properties["batches"]
    return properties.get("infer_batches", batches) if phase == "infer" else batches


def _rate(seconds: Sequence[float], batches: Batches, *, padded: bool = False) -> float:
    """Tokens per second of steps on these batches, one after another."""
    taken = itertools.islice(itertools.cycle(batches), len(seconds))
    return sum(batch[padded] for batch in taken) / sum(seconds)


def summarise(samples: dict[str, Any]) -> dict[str, Any]:
    """Medians over rounds: tokens/s, milliseconds, MiB, and the share of the matrix rate.

    A round's throughput is its tokens over its seconds; the table shows the median round.
    """
    properties, rounds, memory = samples["properties"], samples["rounds"], samples["memory"]

    def median_rate(phase: str, *, padded: bool) -> float:
        batches = _batches(properties, phase)
        return statistics.median(_rate(one[phase], batches, padded=padded) for one in rounds)

    latencies = [s * 1000 for one in rounds for s in one["latency"]]
    train_padded = median_rate("train", padded=True)
    flops, rate = properties.get("flops_per_token"), samples["matrix_rate"]
    return {
        "params": properties["params"],
        "train_tokens_per_s": median_rate("train", padded=False),
        "train_padded_tokens_per_s": train_padded,
        "infer_tokens_per_s": median_rate("infer", padded=False),
        "infer_padded_tokens_per_s": median_rate("infer", padded=True),
        "latency_ms": statistics.median(latencies) if latencies else None,
        "latency_p95_ms": float(np.percentile(latencies, 95)) if latencies else None,
        "peak_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "held_memory_mib": memory["training"].get("held_mib"),
        "reserved_memory_mib": memory["training"].get("reserved_mib"),
        "memory_how": memory["training"]["how"],
        "flops_per_token": flops,
        "matrix_share": train_padded * flops / rate if flops and rate else None,
        "compile_seconds": properties.get("compile_seconds"),
        "first_step_seconds": properties.get("first_step_seconds"),
        "kernels": properties["kernels"],
    }
