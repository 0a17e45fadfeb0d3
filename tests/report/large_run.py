"""A large run made by hand: a grid of cells with curves, costs, and every kind of failure."""

import itertools
from typing import Any

import numpy as np
from factory import CONFIG, MACHINE, cell, cost_record, record

from zoo.sweep.records import Record

ATTENTION = ["fused", "naive", "split", "packed", "single", "linear", "window(size=64)"]
ENCODING = ["rope", "sin", "none", "learned", "alibi"]
NORM = ["layer", "rms", "none"]
CLASSES = 5
ENVIRONMENT = {**MACHINE, "zoo": "0.1.0", "git": {"commit": "536c768d" * 5, "dirty": False}}
BLOCKS = 12


def large_run(
    cells: int = 100,
    seeds: int = 5,
    examples: int = 500,
    names: dict[str, str] | None = None,
    failures: bool = True,
) -> list[Record]:
    """So many cells and a baseline. names: other names of components. failures: some fail."""
    draw, names = np.random.default_rng(7), names or {}
    data = {"name": "bbc-news", "train": 1172, "test": examples, "duplicates": 53}
    training = {"epochs": 6, "batch_size": 32, "lr": 0.003}
    config = {**CONFIG, "data": {**CONFIG["data"], **data}, "training": training}
    about = {"config": config, "environment": ENVIRONMENT}
    grid = list(itertools.product(ATTENTION, ENCODING, NORM))[:cells]
    truth = draw.integers(0, CLASSES, examples)
    records: list[Record] = []
    bad = {3: "skipped", 7: "oom", 11: "crashed", 13: "diverged"} if failures else {}
    reference = "+".join(_cell(grid[0], names).values())
    base = 1 + draw.normal(0, 0.01, BLOCKS)
    for number, choices in enumerate(grid):
        parts, fate = _cell(choices, names), bad.get(number)
        who: dict[str, Any] = {"cell": parts, **about}
        if fate == "skipped":
            reason = f"{parts['attention']} takes no rotary encoding"
            records.append(record("train", "skipped", reason=reason, **who))
            continue
        if fate == "oom":
            reason = "CUDA out of memory: tried to allocate 2.00 GiB"
            records += [record("train", "oom", reason=reason, seed=s, **who) for s in range(seeds)]
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
                    metrics=_scored(draw, truth, skill + draw.normal(0, 0.006)),
                    curve=_curve(draw, skill),
                    command=f"zoo bench {options} --data data/bbc-news",
                    started=f"2026-11-20T11:{number % 60:02}:{seed:02}+00:00",
                    **who,
                )
            )
        speed = 1.6 * 0.97 ** (number % 40) + 0.3 * (choices[2] == "none") if number else 1.0
        own = base * speed * (1 + draw.normal(0, 0.02, BLOCKS))
        records.append(
            cost_record(
                parts,
                own,
                reference,
                base,
                memory=200 + 7.0 * (number * 13 % 59),
                command="zoo bench --data data/bbc-news",
                started="2026-11-20T12:00:00+00:00",
                **about,
            )
        )
    baseline = names.get("words", "tfidf-logreg")
    for seed in range(seeds):
        metrics = _scored(draw, truth, 0.93)
        records.append(record("train", baseline=baseline, seed=seed, metrics=metrics, **about))
    return records


def _cell(choices: tuple[str, ...], names: dict[str, str]) -> dict[str, str]:
    attention, pe, norm = (names.get(choice, choice) for choice in choices)
    return cell(attention=attention, pe=pe, norm=norm)


def _scored(draw: np.random.Generator, truth: np.ndarray, right: float) -> dict:
    other = draw.integers(0, CLASSES, len(truth))
    predicted = np.where(draw.random(len(truth)) < right, truth, other)
    wrong = np.flatnonzero(truth != predicted)
    return {
        "params": 1234,
        "train_seconds": float(draw.uniform(30, 60)),
        "scored": "test",
        "accuracy": float((truth == predicted).mean()),
        "macro_f1": float((truth == predicted).mean()) - 0.002,
        "examples": len(truth),
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
