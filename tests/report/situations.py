"""Small runs in which every number is known: the approved reports are made of them."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from example import (
    ACCURACIES,
    REFERENCE,
    profile_of_skills,
    records_of,
    run,
    scale_sweep,
    skills,
)
from factory import (
    BITS_PER_BYTE,
    CONFIG,
    LM,
    cell,
    cost_record,
    failed,
    lm,
    record,
    skipped,
    train_record,
    with_config,
)

from zoo.config.metric_description import MetricDescription
from zoo.report.compare import Comparison, compare
from zoo.report.profile import DataSetReport, Profile
from zoo.report.run_report import RunReport
from zoo.sweep.records import Record

STEADY = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0] * 2
TOKENS = MetricDescription(name="token_accuracy", label="token accuracy", scored="tokens")


def timed(row: dict[str, str], speed: float, base: float = 1.0, **fields: Any) -> Record:
    """A cell that is this many thousand tokens/s fast, where the reference does ``base``."""
    own, other = ([scale * turn for turn in STEADY] for scale in (speed, base))
    return cost_record(row, own, REFERENCE, other, **fields)


def exact(records: Sequence[Record]) -> list[Record]:
    return [record.model_copy(update={"exact": True}) for record in records]


def few_seeds() -> RunReport:
    """Two seeds: no interval and no rank, and what more seeds would allow."""
    return RunReport(run(seeds=2))


def ties() -> RunReport:
    """Two exact attentions that compute the same, one twice as slow; sin is worse."""
    records = []
    for attention, pe in itertools.product(("fused", "naive"), ("rope", "sin")):
        row = cell(attention=attention, pe=pe)
        records += [train_record(row, s, 50 + 3 * s + 90 * (pe == "sin")) for s in range(5)]
        records.append(timed(row, 1.0 if attention == "fused" else 0.5))
    words = [train_record("words", seed, 300, deterministic=True) for seed in range(5)]
    return RunReport([*exact(records), *words])


def failures() -> RunReport:
    """Of every kind one; a cell that was timed beside other work; one measured elsewhere."""
    oom = record("cost", "oom", cell=cell(pe="learned"), reason="out of memory")
    busy = [train_record(cell(pe="t5"), seed, 60 + seed) for seed in range(5)]
    busy.append(timed(cell(pe="t5"), 1.08, wall=1.6))
    other = cost_record(cell(pe="fire"), STEADY, "another reference")
    bad = [skipped(cell(pe="alibi"), "no bias"), failed(cell(pe="xpos"), 0, "diverged")]
    return RunReport([other, *bad, oom, *run(), *busy])


def tuned() -> RunReport:
    """The rate of each cell was chosen on a part of the training split; one is not trained yet."""
    records = []
    for pe, lr in (("rope", 0.01), ("sin", 0.001), ("none", None)):
        tuning = {"values": {"lr": [0.001, 0.01]}, "seeds": 1, "share": 0.2}
        for value in (0.001, 0.01):
            trial = with_config([train_record(cell(pe=pe), 9, 60)], "training", lr=value)
            records += [
                record.model_copy(
                    update={"kind": "tune", "config": record.config | {"tuning": tuning}}
                )
                for record in trial
            ]
        if lr is not None:
            wrong = 50 if pe == "rope" else 90
            trained = [train_record(cell(pe=pe), s, wrong + s) for s in range(3)]
            records += [
                record.model_copy(update={"config": record.config | {"tuning": tuning}})
                for record in with_config(trained, "training", lr=lr)
            ]
    return RunReport(records)


def no_reference() -> RunReport:
    """Baselines alone, and remarks on the data."""
    records = [train_record("words", seed, 20 + seed) for seed in range(4)]
    records += [train_record("majority", seed, 700, deterministic=True) for seed in range(4)]
    remark = "600 of 1,000 test texts are longer than 64 tokens. What follows is cut."
    return RunReport(with_config(records, "data", remarks=[remark], test=49, train=12))


def tag() -> RunReport:
    """Tokens of one text are not independent; one cell is no better than chance."""
    records = [
        record(
            "train",
            cell=cell(pe=pe),
            seed=seed,
            config={**CONFIG, "task": "tag", "data": {**CONFIG["data"], "chance": 0.5}},
            metric_descriptions=(TOKENS,),
            metrics={
                "token_accuracy": accuracy + seed / 500,
                "examples": 1000,
                "effective_examples": {"token_accuracy": 200},
                "groups": {
                    "to 40": {"examples": 600, "token_accuracy": accuracy},
                    "41 to 100": {"examples": 400, "token_accuracy": accuracy - 0.1},
                },
            },
        )
        for pe, accuracy in (("rope", 0.9), ("sin", 0.85), ("none", 0.5))
        for seed in range(5)
    ]
    return RunReport(records)


def language_model() -> RunReport:
    """Fewer bits are better."""
    records = []
    noise = (0.001, -0.002, 0.0005, 0.0015, -0.001)
    for turn, (pe, bits) in enumerate((("rope", 2.0), ("sin", 2.2), ("none", 2.5))):
        records += lm(cell(pe=pe), [bits + more for more in noise[turn:] + noise[:turn]])
        fields = {"config": {**CONFIG, "task": "lm"}, "metric_descriptions": LM}
        records.append(timed(cell(pe=pe), {"rope": 1.0, "sin": 2.0, "none": 1.01}[pe], **fields))
    assert records[0].metric_descriptions[0] == BITS_PER_BYTE
    return RunReport(records)


def chance() -> RunReport:
    """A diagnostic that is solved or not: three seeds are too few for ranks."""
    return RunReport(records_of("luck", (0.99, 0.70, 0.51), seeds=3))


def mixed_code() -> RunReport:
    """Records of two states of the code, and of two versions of torch."""
    first, second = ({"components/pe/rope.py": letter * 8} for letter in "ab")
    records = [record.model_copy(update={"code": first}) for record in run(baseline=False)]
    torch = {**records[0].environment, "torch": "2.11.0"}
    records[0] = records[0].model_copy(update={"code": second, "environment": torch})
    return RunReport(records)


def lengths() -> list[Record]:
    """Costs of a linear and a quadratic cell at growing lengths; one runs out of memory."""
    return scale_sweep()


def streamed() -> RunReport:
    """A streamed diagnostic, which one row solves in a third of the examples, and one never."""
    return RunReport(skills()["copy"])


def data_sets() -> Profile:
    """Three cells on six data sets; on one of them all are at chance."""
    return Profile(
        [
            DataSetReport(name, name, RunReport(records_of(name, accuracies)))
            for name, accuracies in ACCURACIES.items()
        ]
    )


@functools.cache
def many_rows() -> RunReport:
    """250 cells, of which the first 200 by score are ranked."""
    records = [
        train_record(cell(attention=f"a{a:02}", pe=f"p{pe:02}"), seed, 50 + 3 * (a + pe) + seed)
        for a in range(25)
        for pe in range(10)
        for seed in range(3)
    ]
    return RunReport(records)


def two_runs() -> Comparison:
    """A row that is worse, one better, one equal, one that fails now; others of one run alone."""
    sin, none, naive = cell(pe="sin"), cell(pe="none"), cell(attention="naive")

    def of_run(worse: int) -> list[Record]:
        records = [train_record(cell(), seed, 50 + seed) for seed in range(5)]
        records += [train_record(sin, s, 60 + (3 + worse) * s + 40 * worse) for s in range(5)]
        records += [train_record(none, s, 90 + 3 * s - 30 * worse) for s in range(5)]
        return records

    before = [*of_run(0), *(train_record(naive, seed, 50) for seed in range(5))]
    before.append(train_record(cell(pe="alibi"), 0, 70))
    after = [*of_run(1), failed(naive, 4, "oom"), train_record(cell(pe="t5"), 0, 70)]
    after += [train_record(naive, seed, 50) for seed in range(4)]
    return compare(RunReport(before), RunReport(after))


SITUATIONS: dict[str, Callable[[], RunReport | Profile | Comparison | list[Record]]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        few_seeds,
        ties,
        failures,
        tuned,
        no_reference,
        tag,
        language_model,
        chance,
        mixed_code,
        lengths,
        streamed,
        profile_of_skills,
        data_sets,
        many_rows,
        two_runs,
    )
}
