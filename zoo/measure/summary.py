"""Raw timing samples summarised: the numbers of a table."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np


def summarise(samples: dict[str, Any]) -> dict[str, Any]:
    """Medians over rounds: tokens/s, milliseconds, MiB, and the share of the matrix rate.

    A round's throughput is its tokens over its seconds; the table shows the median round.
    """
    properties, rounds, memory = samples["properties"], samples["rounds"], samples["memory"]
    train = properties["batches"]
    infer = properties.get("infer_batches", train)
    latencies = [s * 1000 for one in rounds for s in one["latency"]]
    train_padded = _median_rate(rounds, "train", train, padded=True)
    flops, rate = properties.get("flops_per_token"), samples["matrix_rate"]
    return {
        "params": properties["params"],
        "train_tokens_per_s": _median_rate(rounds, "train", train, padded=False),
        "train_padded_tokens_per_s": train_padded,
        "infer_tokens_per_s": _median_rate(rounds, "infer", infer, padded=False),
        "infer_padded_tokens_per_s": _median_rate(rounds, "infer", infer, padded=True),
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


def _median_rate(
    rounds: list[dict[str, Any]], phase: str, batches: list[list[int]], *, padded: bool
) -> float:
    """Tokens per second of the median round."""
    rates: list[float] = []
    for one in rounds:
        seconds = one[phase]
        taken = itertools.islice(itertools.cycle(batches), len(seconds))
        rates.append(sum(batch[padded] for batch in taken) / sum(seconds))
    return statistics.median(rates)
