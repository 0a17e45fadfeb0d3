"""Raw timing samples become the numbers of a table."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np


def summarise(samples: dict[str, Any]) -> dict[str, Any]:
    """Medians over rounds: tokens/s, milliseconds, MiB, and the share of the matrix rate.

    A round's throughput is its tokens over its seconds; the table shows the median round.
    """
    facts, rounds, memory = samples["facts"], samples["rounds"], samples["memory"]
    train = facts["batches"]
    infer = facts.get("infer_batches", train)
    latencies = [s * 1000 for one in rounds for s in one["latency"]]
    train_padded = _median_rate(rounds, "train", train, padded=True)
    flops, rate = facts.get("flops_per_token"), samples["matrix_rate"]
    return {
        "params": facts["params"],
        "train_tokens_per_s": _median_rate(rounds, "train", train, padded=False),
        "train_padded_tokens_per_s": train_padded,
        "infer_tokens_per_s": _median_rate(rounds, "infer", infer, padded=False),
        "infer_padded_tokens_per_s": _median_rate(rounds, "infer", infer, padded=True),
        "latency_ms": statistics.median(latencies),
        "latency_p95_ms": float(np.percentile(latencies, 95)),
        "peak_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "reserved_memory_mib": memory["training"].get("reserved_mib"),
        "memory_how": memory["training"]["how"],
        "flops_per_token": flops,
        "matrix_share": train_padded * flops / rate if flops and rate else None,
        "compile_seconds": facts.get("compile_seconds"),
        "first_step_seconds": facts.get("first_step_seconds"),
        "kernels": facts["kernels"],
    }


def round_rates(
    rounds: list[dict[str, Any]], phase: str, batches: list[list[int]], padded: bool
) -> list[float]:
    """Tokens per second of each round."""
    rates = []
    for one in rounds:
        seconds = one[phase]
        tokens = sum(batch[padded] for batch in batches[: len(seconds)])
        rates.append(tokens / sum(seconds))
    return rates


def _median_rate(
    rounds: list[dict[str, Any]], phase: str, batches: list[list[int]], *, padded: bool
) -> float:
    return statistics.median(round_rates(rounds, phase, batches, padded))
