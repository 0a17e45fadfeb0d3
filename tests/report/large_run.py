"""A large run made by hand: a grid of cells with curves, costs, and every kind of failure."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from factory import cell, cost_record, record

from zoo.sweep.records import Record

ATTENTION = [
    "fused",
    "naive",
    "split",
    "packed",
    "single",
    "linear",
    "performer",
    "window(size=64)",
]
ENCODING = ["rope", "sin", "none", "learned", "alibi"]
NORM = ["layer", "rms", "none"]
LABELS = ["tech", "business", "sport", "entertainment", "politics"]
ENVIRONMENT = {
    "python": "3.11.7",
    "torch": "2.13.0+cpu",
    "platform": "Linux x86_64",
    "device": "cpu",
    "device_name": "a machine",
    "driver": "",
    "cuda": "",
    "precision": "fp32",
    "threads": 2,
    "cores": 2,
    "zoo": "0.1.0",
    "git": {"commit": "536c768ddb62e63410e7496b89035f7fc307ce44", "dirty": False},
}
BLOCKS = 12


def config(labels: list[str], examples: int) -> dict[str, Any]:
    return {
        "task": "classify",
        "task_options": {"ensemble": 1, "keep_duplicates": False, "all_positions": False},
        "data": {
            "name": "bbc-news",
            "fingerprint": "679a134ccd27afa5d7907d6ef7c0ebc543ab3b3cf8b75d1178a839ceb22edf5e",
            "train": 1172,
            "test": examples,
            "labels": labels,
            "duplicates": 53,
            "vocab_size": 4000,
            "notes": {},
        },
        "sizes": {"dim": 64, "layers": 2, "heads": 4, "ffn_dim": 256, "max_length": 256},
        "training": {"epochs": 6, "batch_size": 32, "lr": 0.003},
        "execution": {"precision": "fp32", "compile": False},
    }


def large_run(
    cells: int = 100,
    seeds: int = 5,
    labels: list[str] = LABELS,
    examples: int = 500,
    names: dict[str, str] | None = None,
    failures: bool = True,
) -> list[Record]:
    """So many cells and a baseline. names: other names of components. failures: some fail."""
    draw, names = np.random.default_rng(7), names or {}
    settings = config(labels, examples)
    grid = list(itertools.product(ATTENTION, ENCODING, NORM))[:cells]
    truth = draw.integers(0, len(labels), examples)
    records: list[Record] = []
    reference = "+".join(_cell(grid[0], names).values())
    base = 1 + draw.normal(0, 0.01, BLOCKS)
    for number, choices in enumerate(grid):
        parts = _cell(choices, names)
        who: dict[str, Any] = {"cell": parts, "config": settings, "environment": ENVIRONMENT}
        bad = {3: "skipped", 7: "oom", 11: "crashed", 13: "diverged"} if failures else {}
        fate = bad.get(number)
        if fate == "skipped":
            reason = f"{parts['attention']} takes no rotary encoding"
            records.append(record("train", "skipped", reason=reason, **who))
            continue
        if fate == "oom":
            for seed in range(seeds):
                reason = "CUDA out of memory: tried to allocate 2.00 GiB"
                records.append(record("train", "oom", reason=reason, seed=seed, **who))
            continue
        skill = 0.9 - 0.004 * number % 0.09 - 0.12 * (choices[1] == "none")
        for seed in range(seeds):
            if fate and seed == 1:
                reason = "loss is no number at step 31"
                records.append(record("train", fate, reason=reason, seed=seed, **who))
                continue
            options = f"--attention '{parts['attention']}' --pe {parts['pe']} --seed {seed}"
            records.append(
                record(
                    "train",
                    seed=seed,
                    metrics=_scored(draw, truth, skill + draw.normal(0, 0.006), len(labels)),
                    curve=_curve(draw, skill),
                    command=f"zoo bench {options} --data data/bbc-news",
                    started=f"2026-11-20T11:{number % 60:02}:{seed:02}+00:00",
                    **who,
                )
            )
        speed = 1.6 * 0.97 ** (number % 40) + 0.3 * (choices[2] == "none") if number else 1.0
        twin = base * (1 + draw.normal(0, 0.01, BLOCKS))
        own = base * speed * (1 + draw.normal(0, 0.02, BLOCKS))
        records.append(
            cost_record(
                parts,
                own,
                reference,
                base,
                twin,
                memory=200 + 7.0 * (number * 13 % 59),
                command="zoo bench --data data/bbc-news",
                started="2026-11-20T12:00:00+00:00",
                config=settings,
                environment=ENVIRONMENT,
            )
        )
    words = {"cell": {}, "baseline": names.get("words", "tfidf-logreg"), "config": settings}
    for seed in range(seeds):
        metrics = _scored(draw, truth, 0.93, len(labels))
        records.append(
            record("train", seed=seed, metrics=metrics, environment=ENVIRONMENT, **words)
        )
    return records


def _cell(choices: tuple[str, ...], names: dict[str, str]) -> dict[str, str]:
    attention, pe, norm = (names.get(choice, choice) for choice in choices)
    return cell(attention=attention, pe=pe, norm=norm)


def _scored(draw: np.random.Generator, truth: np.ndarray, right: float, classes: int) -> dict:
    predicted = np.where(
        draw.random(len(truth)) < right, truth, draw.integers(0, classes, len(truth))
    )
    confusion = np.zeros((classes, classes), dtype=int)
    np.add.at(confusion, (truth, predicted), 1)
    wrong = np.flatnonzero(truth != predicted)
    return {
        "params": 1234,
        "train_seconds": float(draw.uniform(30, 60)),
        "scored": "test",
        "accuracy": float((truth == predicted).mean()),
        "macro_f1": float((truth == predicted).mean()) - 0.002,
        "examples": len(truth),
        "confusion": confusion.tolist(),
        "errors": [[int(i), int(truth[i]), int(predicted[i])] for i in wrong],
    }


def _curve(draw: np.random.Generator, skill: float) -> list[dict[str, float]]:
    return [
        {
            "number": epoch,
            "loss": float(1.5 * np.exp(-epoch * skill) + draw.uniform(0, 0.02)),
            "accuracy": float(1 - 0.8 * np.exp(-epoch * skill) - draw.uniform(0, 0.01)),
            "seconds": 6.5,
            "lr": 0.003,
        }
        for epoch in range(1, 7)
    ]
