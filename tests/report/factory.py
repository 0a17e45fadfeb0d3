"""Records made by hand, as the harness writes them, with every number chosen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zoo.registry import AXES
from zoo.sweep.records import Record, Status, digest

PLAIN = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "gelu",
    "block": "pre",
    "pool": "mean",
}
CONFIG = {
    "data": {
        "name": "newswire",
        "fingerprint": "baf54e51824876d4",
        "train": 1000,
        "test": 1000,
        "duplicates": 0,
        "duplicates_kept": False,
    },
    "sizes": {"layers": 2, "dim": 64, "heads": 4, "max_length": 64, "members": 1},
    "training": {"epochs": 2},
}
MACHINE = {"device_name": "a machine", "threads": 2, "torch": "2.13.0", "precision": "fp32"}
DOCUMENTS = 1000
BATCHES = [[900, 1000], [1800, 2000]]


def cell(**choices: str) -> dict[str, str]:
    return {axis: choices.get(axis, PLAIN[axis]) for axis in AXES}


def name(**choices: str) -> str:
    return "+".join(cell(**choices).values())


def record(kind: Any, status: Status = "ok", **fields: Any) -> Record:
    fields = {"cell": {}, "config": CONFIG, "environment": MACHINE, **fields}
    return Record(kind=kind, status=status, key=digest(str(fields)), **fields)


def trial(
    subject: Mapping[str, str] | str,
    seed: int,
    wrong: Sequence[int] | int,
    *,
    documents: int = DOCUMENTS,
    told: bool = True,
) -> Record:
    """One that got these documents wrong, or the first so many. told: whether it says which."""
    rows = list(range(wrong)) if isinstance(wrong, int) else [int(row) for row in wrong]
    right = documents - len(rows)
    metrics: dict[str, Any] = {
        "accuracy": right / documents,
        "f1": right / documents,
        "confusion": [[right, len(rows)], [0, 0]],
        "params": 1234,
        "train_seconds": 10.0,
    }
    if told:
        metrics["errors"] = [[row, 0, 1] for row in rows]
    return record("trial", seed=seed, metrics=metrics, **_who(subject))


def probe(
    subject: Mapping[str, str] | str,
    speed: Sequence[float],
    reference: str,
    base: Sequence[float] = (1.0,) * 5,
    twin: Sequence[float] = (1.0,) * 5,
    *,
    memory: float = 100.0,
    session: str = "one",
    **fields: Any,
) -> Record:
    """One that ran at these many thousand tokens/s, round by round, beside base and twin.

    Inference is three times as fast in all of them.
    """
    rounds = [timed(s) for s in speed]
    return record(
        "probe",
        metrics={
            "params": 1234,
            "train_tokens_per_s": float(np.median(speed)) * 1000,
            "infer_tokens_per_s": float(np.median(speed)) * 3000,
            "latency_ms": 1.0,
            "latency_p95_ms": 2.0,
            "peak_memory_mib": memory,
            "kernels": ["a_kernel"],
        },
        samples={
            "session": session,
            "facts": {"params": 1234, "batches": BATCHES},
            "rounds": rounds,
            "reference": {"name": reference, "rounds": [timed(s) for s in base]},
            "twin": {"rounds": [timed(s) for s in twin]},
        },
        **_who(subject),
        **fields,
    )


def timed(speed: float) -> dict[str, list[float]]:
    """A round at so many thousand real tokens a second."""
    seconds = [real / (1000 * speed) for real, _ in BATCHES]
    return {"train": seconds, "infer": [s / 3 for s in seconds], "latency": [0.001] * 3}


def skipped(subject: Mapping[str, str], reason: str = "cannot be combined") -> Record:
    return record("trial", "skipped", reason=reason, **_who(subject))


def failed(subject: Mapping[str, str], seed: int, status: Status = "crashed") -> Record:
    return record("trial", status, reason="it did not end well", seed=seed, **_who(subject))


def _who(subject: Mapping[str, str] | str) -> dict[str, Any]:
    return {"baseline": subject} if isinstance(subject, str) else {"cell": dict(subject)}


def simulated(
    generator: np.random.Generator,
    axes: Mapping[str, Sequence[str]],
    right: Callable[[dict[str, str]], float],
    *,
    seeds: int = 5,
    documents: int = DOCUMENTS,
    spread: float = 0.1,
    shared: float = 0.1,
    hardness: np.ndarray | None = None,
) -> list[Record]:
    """A grid whose cells have a known accuracy on this test set, trained anew with each seed.

    right: the log odds with which a cell gets a document of middling hardness right. Documents
    are of different hardness, the same for all cells. spread: of the log odds of one training;
    shared: of what a seed does to all cells alike.
    """
    if hardness is None:
        hardness = generator.normal(0, 1.5, documents)
    documents = len(hardness)
    seed_effects = generator.normal(0, shared, seeds)
    records = []
    for choices in itertools.product(*axes.values()):
        parts = cell(**dict(zip(axes, choices, strict=True)))
        for seed in range(seeds):
            own = right(parts) + seed_effects[seed] + generator.normal(0, spread)
            chance = 1 / (1 + np.exp(-(own - hardness)))
            wrong = np.flatnonzero(generator.random(documents) >= chance)
            records.append(trial(parts, seed, wrong, documents=documents))
    return records


def expected(odds: float, hardness: np.ndarray, spread: float = 0.1, shared: float = 0.1) -> float:
    """The accuracy of ``simulated`` over all seeds there could be, on these documents."""
    points, weights = np.polynomial.hermite_e.hermegauss(20)
    own = odds + np.hypot(spread, shared) * points
    chance = (1 / (1 + np.exp(-(own[:, None] - hardness)))).mean(axis=1)
    return float((weights * chance).sum() / weights.sum())
