"""Runs of which every number is known: on one data set, on several, and of growing sizes."""

from factory import cell, cost_record, name, streamed, train_record, with_config

from zoo.report.profile import DataSetReport, Profile
from zoo.report.run_report import RunReport
from zoo.sweep.records import Record, Status

SVG = "{http://www.w3.org/2000/svg}"
REFERENCE = name()
WRONG = {
    "rope": [50, 52, 55, 49, 51],
    "sin": [51, 50, 56, 50, 52],
    "none": [190, 195, 200, 210, 192],
}
SPEED = {
    "rope": [1.0] * 12,
    "sin": [1.01, 0.98, 1.0, 1.02, 0.99, 1.0] * 2,
    "none": [2.0, 2.1, 1.9, 2.0, 2.05, 1.95] * 2,
}


def run(*, seeds=5, baseline=True):
    """Two cells that tie, one much worse and faster, and a baseline better than all."""
    records = [
        train_record(cell(pe=pe), seed, wrong[seed])
        for pe, wrong in WRONG.items()
        for seed in range(seeds)
    ]
    if baseline:
        records += [train_record("words", seed, 20, deterministic=True) for seed in range(seeds)]
    records += [
        cost_record(cell(pe=pe), speed, REFERENCE, SPEED["rope"]) for pe, speed in SPEED.items()
    ]
    return records


# Accuracies of three cells on six data sets; chance is 0.5.
ACCURACIES = {
    "alpha": (0.99, 0.95, 0.90),
    "beta": (0.98, 0.90, 0.70),
    "gamma": (0.97, 0.96, 0.80),
    "delta": (0.90, 0.80, 0.60),
    "epsilon": (0.95, 0.94, 0.50),
    "zeta": (0.51, 0.50, 0.49),
}


PES = ("rope", "sin", "none")


def records_of(data: str, accuracies: tuple[float, ...], seeds: int = 5) -> list[Record]:
    """Three cells with these mean accuracies on one data set of a run on several."""
    found = []
    for pe, accuracy in zip(PES, accuracies, strict=True):
        for seed in range(seeds):
            wrong = round(1000 * (1 - accuracy)) + 2 * (seed - 2)
            one = train_record(cell(pe=pe), seed, wrong)
            found.append(one.model_copy(update={"started": f"2026-01-0{seed + 1}"}))
    return with_config(found, "data", name=data, chance=0.5, fingerprint=data * 8)


def grouped(record: Record, values: dict[str, float]) -> Record:
    """The same record with these accuracies on groups of its test examples."""
    groups = {group: {"examples": 100, "accuracy": value} for group, value in values.items()}
    return record.model_copy(update={"metrics": {**record.metrics, "groups": groups}})


LENGTHS = [128 * 2**n for n in range(7)]


SCALED = {"pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}


def scale_record(attention: str, value: int, status: Status = "ok") -> Record:
    """What is recorded of one length of one cell."""
    power = 2 if attention == "naive" else 1
    cost = 3e-6 * value**power
    metrics = {
        "train_seconds": 3 * cost,
        "infer_seconds": cost,
        "train_memory_mib": 4000 * cost,
        "infer_memory_mib": 3000 * cost,
        "memory_how": "VmHWM",
    }
    return Record(
        kind="scale",
        status=status,
        reason="" if status == "ok" else f"{status}, for a reason",
        cell={"attention": attention, **SCALED},
        key=f"{attention}{value}",
        config={
            "task": "classify",
            "task_options": {},
            "value": value,
            "base": {"dim": 64, "batch": 1},
        },
        metrics=metrics if status == "ok" else {},
        environment={"device_name": "M", "threads": 1, "torch": "2", "precision": "fp32"},
    )


def scale_sweep() -> list[Record]:
    """Of a linear and a quadratic cell; the latter runs out of memory."""
    found = [scale_record(a, n) for n in LENGTHS for a in ("fused", "naive")]
    found[-3] = scale_record("naive", LENGTHS[-2], "oom")
    found[-1] = scale_record("naive", LENGTHS[-1], "skipped")
    return found


def skills() -> dict[str, list[Record]]:
    """Three streamed diagnostics with their controls."""
    rates, budget = (0.001, 0.003, 0.01), 40_000
    fast = [8_000, 8_800, 8_800, 9_600, 8_000, 8_000]
    slow, never = [3 * examples for examples in fast], [None] * 6
    some = [9_600, None, None, 12_000, None, None]
    runs = {  # of fused with rope and without, and of gru
        "copy": ([slow, fast, fast], [never, slow, slow], [never] * 3),
        "parity": ([never] * 3, [never] * 3, [fast, fast, slow]),
        "order(length=20)": ([slow, fast, never], [never] * 3, [never, some, never]),
    }
    cells = (cell(), cell(pe="none"), cell(attention="gru", pe="none"))
    made: dict[str, list[Record]] = {}
    for data, of_rows in runs.items():
        controls = {"positive": "gru+none" if data == "parity" else "fused+rope"}
        controls["negative"] = "gru+none" if data == "copy" else "fused+none"
        about = {"name": data, "budget": budget, "fingerprint": data * 8, **controls}
        made[data] = [
            record.model_copy(update={"started": f"2026-01-0{len(made) + 1}"})
            for row, of_rates in zip(cells, of_rows, strict=True)
            for record in streamed(row, dict(zip(rates, of_rates, strict=True)), **about)
        ]
    return made


def profile_of_skills() -> Profile:
    """What each row learns of several."""
    return Profile([DataSetReport(n, n, RunReport(of)) for n, of in skills().items()])
