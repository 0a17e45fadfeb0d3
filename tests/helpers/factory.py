"""Records made by hand, as a sweep writes them, with every number chosen."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.measure.turns import batch_of
from zoo.report.compare import compare as compare_runs
from zoo.report.run_report import RunReport
from zoo.sweep.keys import digest
from zoo.sweep.records import Record, RecordFile, Status

PLAIN = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "gelu",
    "block": "pre",
    "pool": "mean",
}
CONFIG = {
    "task": "classify",
    "task_options": {"keep_duplicates": False},
    "data": {
        "name": "newswire",
        "fingerprint": "baf54e51824876d4",
        "train": 1000,
        "test": 1000,
        "duplicates": 0,
    },
    "sizes": {"layers": 2, "dim": 64, "heads": 4, "max_length": 64},
    "training": {"epochs": 2},
}
ACCURACY = MetricDescription(name="accuracy", label="accuracy", paired=True)
CLASSIFY = (ACCURACY, MetricDescription(name="macro_f1", label="macro F1"))
BITS_PER_BYTE = MetricDescription(
    name="bits_per_byte",
    label="bits/byte",
    higher_is_better=False,
    unit="bits per byte",
    scale=1,
    unit_digits=3,
    highest=None,
    scored="tokens",
)
LM = (BITS_PER_BYTE, BITS_PER_BYTE.model_copy(update={"name": "nats", "label": "nats/token"}))
MACHINE = {"device_name": "a machine", "threads": 2, "torch": "2.13.0", "precision": "fp32"}
EXAMPLES = 1000
BATCHES = [[900, 1000], [1800, 2000]]


def cell(**choices: str) -> dict[str, str]:
    return PLAIN | choices


def name(**choices: str) -> str:
    return "+".join(cell(**choices).values())


def record(kind: Any, status: Status = "ok", **fields: Any) -> Record:
    fields = {
        "cell": {},
        "config": CONFIG,
        "environment": MACHINE,
        "metric_descriptions": CLASSIFY,
        **fields,
    }
    # Most simulations spend their time here, and a digest of all scores would double it.
    key = digest([kind, status, fields["cell"], fields.get("baseline"), fields.get("seed")])
    return Record(kind=kind, status=status, key=key, **fields)


def train_record(
    row: Mapping[str, str] | str,
    seed: int,
    wrong: Sequence[int] | int,
    *,
    examples: int = EXAMPLES,
    listed: bool = True,
    **more: object,
) -> Record:
    """One that got these examples wrong, or the first so many.

    listed: whether it has a list of them. more: of its metrics.
    """
    indices = np.arange(wrong) if isinstance(wrong, int) else np.asarray(wrong, dtype=int)
    right = examples - len(indices)
    metrics: dict[str, Any] = {
        "accuracy": right / examples,
        "macro_f1": right / examples,
        "confusion": [[right, len(indices)], [0, 0]],
        "examples": examples,
        "params": 1234,
        "train_seconds": 10.0,
        **more,
    }
    if listed:
        metrics["errors"] = [[index, 0, 1] for index in indices.tolist()]
    return record("train", seed=seed, metrics=metrics, **_row(row))


def seeds(row: Mapping[str, str] | str, wrong: Iterable[Any], **options: Any) -> list[Record]:
    """Trainings with the seeds from 0 on, that got these examples wrong."""
    return [train_record(row, seed, one, **options) for seed, one in enumerate(wrong)]


def cost_record(
    row: Mapping[str, str] | str,
    speed: Sequence[float],
    reference: str,
    base: Sequence[float] = (1.0,) * 12,
    *,
    memory: float = 100.0,
    wall: float = 1.0,
    session: str = "one",
    **fields: Any,
) -> Record:
    """A cost measurement: these many thousand tokens/s, block by block, and the reference's.

    Half of the blocks are of each of two processes. Inference is three times as fast in all of
    them. wall: over CPU time.
    """
    return record(
        "cost",
        metrics={
            "params": 1234,
            "train_tokens_per_s": float(np.median(speed)) * 1000,
            "infer_tokens_per_s": float(np.median(speed)) * 3000,
            "latency_ms": 1.0,
            "peak_memory_mib": memory,
        },
        samples={
            "session": session,
            "properties": {"params": 1234, "batches": BATCHES},
            "clock": "cpu",
            "turns": turns(speed, wall),
            "reference": {
                "name": reference,
                "clock": "cpu",
                "properties": {"batches": BATCHES},
                "turns": turns(base, wall),
            },
        },
        **_row(row),
        **fields,
    )


def turns(speed: Sequence[float], wall: float = 1.0) -> dict[str, dict[str, list[list[float]]]]:
    """Turns at so many thousand real tokens a second, half of them in each of two processes."""
    half = (len(speed) + 1) // 2
    processes = [list(speed[:half]), list(speed[half:])]
    cpu = [
        [BATCHES[batch_of(process, n, len(BATCHES))][0] / (1000 * one) for n, one in enumerate(of)]
        for process, of in enumerate(processes)
        if of
    ]

    def times(share: float) -> list[list[float]]:
        return [[share * one for one in of] for of in cpu]

    return {
        "train": {"cpu": times(1), "wall": times(wall)},
        "infer": {"cpu": times(1 / 3), "wall": times(wall / 3)},
        "latency": {"cpu": times(0.001), "wall": times(0.001 * wall)},
    }


def skipped(row: Mapping[str, str], reason: str = "cannot be combined") -> Record:
    return record("train", "skipped", reason=reason, **_row(row))


def failed(row: Mapping[str, str], seed: int, status: Status = "crashed") -> Record:
    return record("train", status, reason="it did not end well", seed=seed, **_row(row))


def with_config(records: Iterable[Record], part: str, **values: object) -> list[Record]:
    """The same records with other values in this part of their configuration."""
    return [
        one.model_copy(update={"config": one.config | {part: one.config[part] | values}})
        for one in records
    ]


def _row(row: Mapping[str, str] | str) -> dict[str, Any]:
    return {"baseline": row} if isinstance(row, str) else {"cell": dict(row)}


def lm(row: Mapping[str, str], bits: Sequence[float]) -> list[Record]:
    """Training records of a language model, of which fewer bits per byte are better."""
    return [
        record(
            "train",
            cell=dict(row),
            seed=seed,
            config={**CONFIG, "task": "lm"},
            metric_descriptions=LM,
            metrics={"bits_per_byte": value, "nats": 4.5},
        )
        for seed, value in enumerate(bits)
    ]


def write_records(directory: Path, records: Iterable[Record], *file_name: str) -> Path:
    """A run's directory with these records; it is returned."""
    file = RecordFile(directory, *file_name)
    with file.lock():
        for one in records:
            file.append(one)
    (directory / ".lock").unlink()
    return directory


def simulated(
    generator: np.random.Generator,
    axes: Mapping[str, Sequence[str]],
    right: Callable[[dict[str, str]], float],
    *,
    seeds: int = 5,
    examples: int = EXAMPLES,
    spread: float = 0.1,
    shared: float = 0.1,
    hardness: np.ndarray | None = None,
) -> list[Record]:
    """A grid whose cells have a known accuracy on this test set, trained anew with each seed.

    right: the log odds with which a cell gets an example of average hardness right. Examples are
    of different hardness, the same for all cells. spread: standard deviation of the log odds of
    one training; shared: of what a seed does to all cells alike.
    """
    if hardness is None:
        hardness = generator.normal(0, 1.5, examples)
    examples = len(hardness)
    seed_effects = generator.normal(0, shared, seeds)
    records = []
    for choices in itertools.product(*axes.values()):
        parts = cell(**dict(zip(axes, choices, strict=True)))
        for seed in range(seeds):
            own = right(parts) + seed_effects[seed] + generator.normal(0, spread)
            chance = 1 / (1 + np.exp(-(own - hardness)))
            wrong = np.flatnonzero(generator.random(examples) >= chance)
            records.append(train_record(parts, seed, wrong, examples=examples))
    return records


def expected(odds: float, hardness: np.ndarray, spread: float = 0.1, shared: float = 0.1) -> float:
    """The mean accuracy of ``simulated`` over all possible seeds, on these examples."""
    points, weights = np.polynomial.hermite_e.hermegauss(20)
    own = odds + np.hypot(spread, shared) * points
    chance = (1 / (1 + np.exp(-(own[:, None] - hardness)))).mean(axis=1)
    return float((weights * chance).sum() / weights.sum())


def make_table(records):
    """The table of these records."""
    return RunReport(records).table.frame


def readable(records):
    """The same as a person reads it."""
    return shown_table(RunReport(records))


def shown_table(report):
    """The texts of the table under their heads; heads may be equal."""
    table = report.table
    rows = [*zip(*table.texts.values(), strict=True)]
    return pd.DataFrame(rows, columns=[column.head for column in table.readable])


def printed(records):
    """The same as text."""
    return RunReport(records).table.text()


def caption(records):
    """The lines under it, as one text."""
    return "\n".join(RunReport(records).notes)


def compare(before, after):
    """``zoo compare`` of two lists of records."""
    return compare_runs(RunReport(before), RunReport(after))


def streamed(
    row: Mapping[str, str],
    examples: Mapping[float, Sequence[int | None]],
    *,
    budget: int = 60_000,
    score: float = 0.53,
    name: str = "copy",
    **data: Any,
) -> list[Record]:
    """Of a row on a streamed diagnostic, each rate with its seeds: the examples until it is solved.

    None: it is not solved at the budget, and has this score. data: more of the data set.
    """
    about = {**CONFIG["data"], "name": name, "train": budget, "test": 1000, "validation": 500}
    about |= {"chance": 0.5, "solved_at": 0.95, **data}
    made = []
    for (lr, seeds), number in itertools.product(examples.items(), range(100)):
        if number >= len(seeds):
            continue
        seen, solved = seeds[number] or budget, seeds[number] is not None
        training = {"lr": lr, "epochs": 1, "batch_size": 32, "evaluate_every": 800}
        tuning = {"values": {"lr": list(examples)}, "chosen": False}
        config = CONFIG | {"data": about, "training": training, "tuning": tuning}
        reached = {"solved": solved, "examples_seen": seen, "budget": budget, "steps": seen // 32}
        scored = 0.99 if solved else score
        metrics = {"accuracy": scored, "macro_f1": scored, "examples": 1000, "params": 25_730}
        metrics |= {**reached, "train_seconds": seen / 2000}
        new = record("train", cell=dict(row), seed=number, config=config, metrics=metrics)
        made.append(new.model_copy(update={"key": digest([new.key, lr, name])}))
    return made
