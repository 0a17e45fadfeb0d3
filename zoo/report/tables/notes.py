"""The lines under a table: what its marks and intervals mean, and what it was made on."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.ratios import MEMORY_TIE, too_noisy
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.readable import has_front, metrics_in
from zoo.report.tables.text import from_to, percent
from zoo.sweep.records import Record, made_by
from zoo.wording import counted


def made_on(record: Record, metric: MetricDescription) -> str:
    """Data, model and machine of a record, in three sentences."""
    config, data = record.config, record.config["data"]
    sizes, training = config.get("sizes", {}), config.get("training", {})
    options = config.get("task_options", {})
    members, beam = options.get("ensemble", 1), options.get("beam")
    model = [
        counted(sizes["layers"], "layer") if "layers" in sizes else "",
        f"width {sizes['dim']}" if "dim" in sizes else "",
        counted(sizes["heads"], "head") if "heads" in sizes else "",
        f"{sizes['max_length']} tokens" if "max_length" in sizes else "",
        f"ensembles of {members} members" if members > 1 else "",
    ]
    work = [
        counted(training["epochs"], "epoch") if "epochs" in training else "",
        counted(beam, "beam") if beam else "",
    ]
    described = "; ".join(filter(None, [", ".join(filter(None, part)) for part in (model, work)]))
    return (
        f"Data: {data['name']} ({data['fingerprint'][:12]})"
        f"{', ' if (about := data_summary(config, metric)) else ''}{about}"
        f"{held_out(record, metric)}. "
        f"{f'Model: {described}. ' if described else ''}"
        f"Machine: {machine_summary(record.environment)}."
    )


def mixed_code(records: Sequence[Record]) -> str:
    """That the records of a table are of several commits; empty where they are of one."""
    made = dict.fromkeys(made_by(record) for record in records if record.status == "ok")
    listed = ", ".join(made)
    return f"Made by several states of the code: {listed}." if len(made) > 1 else ""


def mixed_machines(records: Sequence[Record]) -> str:
    """That the records of a table are of several machines; empty where they are of one.

    Another version of torch or another precision counts as another machine. Another number of
    threads does not: trainings and costs may have different ones.
    """
    made = dict.fromkeys(
        machine_summary({**record.environment, "threads": None, "nice": None})
        for record in records
        if record.status == "ok"
    )
    return f"Made on several machines: {'; '.join(made)}." if len(made) > 1 else ""


def data_summary(config: Mapping[str, Any], metric: MetricDescription) -> str:
    """How much data there is: the record's own sentence about it, or the counts."""
    data, options = config["data"], config.get("task_options", {})
    if summary := data.get("summary"):
        return str(summary).rstrip(".")
    if "train" not in data or "test" not in data:
        return ""
    validation = f", {data['validation']} validation" if data.get("validation") else ""
    counts = f"{data['train']} training{validation} and {data['test']} test {metric.scored}"
    if (duplicates := data.get("duplicates")) is None:
        return counts
    dropped = duplicates and not options.get("keep_duplicates", True)
    return f"{counts}, {duplicates} in both{' (dropped from training)' if dropped else ''}"


def held_out(record: Record, metric: MetricDescription) -> str:
    """What was scored, where it is not the test split. The score of a trial is in no table."""
    if record.kind == "tune":
        return ""
    share = record.config.get("training", {}).get("validation", 0.0)
    if not share:
        return ""
    if validation := record.config["data"].get("validation"):
        return f"; scored on the validation split, {validation} {metric.scored}"
    return f"; scored on {share:.0%} of the training {metric.scored}, held out from it"


def machine_summary(environment: Mapping[str, Any]) -> str:
    """``AMD EPYC, 2 threads, torch 2.13.0+cpu, fp32``; what is not known is left out."""
    threads, torch = environment.get("threads"), environment.get("torch")
    parts = [
        str(environment.get("device_name") or environment.get("device") or "unknown"),
        counted(threads, "thread") if threads else "",
        f"torch {torch}" if torch else "",
        str(environment.get("precision") or ""),
        f"niceness {nice}" if (nice := environment.get("nice")) else "",
    ]
    return ", ".join(filter(None, parts))


def notes(table: pd.DataFrame, tests: int) -> list[str]:
    """What the marks and intervals of the table mean, and how much noise there is.

    tests: how many comparisons the ranks are corrected for.
    """
    lines = []
    metric = metrics_in(table)[0]
    if table[f"{metric.name}_mean"].notna().any():
        lines += _metric_notes(table, metric, tests)
    if names := table.attrs["auxiliary"]:
        lines.append(
            f"{' and '.join(f'{name} loss' for name in names)}: added to the loss of the task in "
            "training by a part of the model; its mean in the last epoch, before its weight."
        )
    if table["train_ratio"].notna().any():
        lines += _speed_notes(table)
    if has_front(table):
        lines.append(
            f"Front ({metric.label} against speed, {metric.label} against memory): no other cell "
            "is significantly better on one of the two and at least tied on the other. In "
            "brackets: another cell is better on one of the two, but tied on the other. Memory is "
            f"measured once; differences within {MEMORY_TIE:.0%} are ties."
        )
    return lines


def _metric_notes(table: pd.DataFrame, metric: MetricDescription, tests: int) -> list[str]:
    cells = table[(table["baseline"] == "") & (table["seeds"] > 0)]
    counts = (cells if len(cells) else table[table["seeds"] > 0])["seeds"]
    few, many = int(counts.min()), int(counts.max())
    seeds = f"Seeds: {from_to(few, many)} per row"
    if many < ENOUGH:
        lines = [f"{seeds}: too few seeds for an interval (at least {ENOUGH}); nothing is ranked."]
    else:
        fewer = "" if few >= ENOUGH else f"; with fewer than {ENOUGH} seeds there is none"
        lines = [
            f"{seeds}, paired across rows. ± is the 95% interval of the mean over seeds{fewer}; "
            "the variances of all rows are shrunk towards each other"
            f"{', and near 0 and 1 the interval has two ends' if metric.highest == 1 else ''}."
        ]
        if table["deterministic"].any():
            lines[-1] += " A deterministic fit is the same with every seed, and has no interval."
    if not metric.higher_is_better:
        lines[-1] += f" {lower_is_better(metric)}"
    shares = bool(table["test_examples"].notna().any())
    if table["rank"].notna().any():
        mcnemar = f" and McNemar's test over the {metric.scored} on which two rows disagree"
        lines.append(
            "Rank: 1 + the number of rows that are significantly better (paired t-test over seeds"
            f"{mcnemar if shares else ''}; 5% level, Holm's "
            f"correction for {counted(tests, 'comparison')}: every pair of rows and every effect): "
            "trained again with new seeds and scored on this test set, they would be better again. "
            "1=: no row is, and there are several such rows."
        )
    if table[f"{metric.name}_sampling_error"].notna().any():
        error = metric.scale * table[f"{metric.name}_sampling_error"].max()
        size = f"Test set: {table['test_examples'].max():.0f} {metric.scored}. " if shares else ""
        how = "Wilson" if shares else f"Wilson; the {metric.scored} of one text are not independent"
        lines.append(
            f"{size}On another test set of this size from the same source, a model's "
            f"{metric.label} may differ by up to {error:.{metric.unit_digits}f} {metric.unit} "
            f"(95%, {how}); ± does not include this."
        )
    return lines


def verdict_notes(verdicts: Verdicts, name: Callable[[Row], str]) -> list[str]:
    """What the run could have seen, at which level, and which rows are equal."""
    lines = []
    if (pair := verdicts.visible()) is not None:
        metric, effect = verdicts.known[0].metric, verdicts.visible("effect")
        shown = [metric.format_difference(d).lstrip("+") for d in (pair, effect) if d is not None]
        lines.append(
            f"Differences of {shown[0]} or more between two rows would have shown in 4 of 5 such "
            f"runs{f', and effects of {shown[1]} or more' if effect is not None else ''}."
        )
    lines += _rank_note(verdicts, name)
    if equal := [", ".join(map(name, group)) for group in verdicts.equal_rows()]:
        lines.append(
            f"The same results with every seed, and so one row in every comparison: "
            f"{'; '.join(equal)}."
        )
    return lines


def _rank_note(verdicts: Verdicts, name: Callable[[Row], str]) -> list[str]:
    """Why ranks do not follow the means, with two rows as an example; nothing where they do."""
    ranks = verdicts.ranks()
    means = {
        row.name: row.metric.better(statistics.fmean(row.values.values())) for row in verdicts.rows
    }
    ranked = [row for row in verdicts.rows if row.name in ranks]
    ranked.sort(key=lambda row: means[row.name], reverse=True)
    for above, below in itertools.combinations(ranked, 2):
        if ranks[above.name] > ranks[below.name] and means[above.name] > means[below.name]:
            return [
                f"Ranks do not follow the means everywhere: {name(above)} has a better mean than "
                f"{name(below)} and a worse rank, because less is certain of {name(below)}. A rank "
                "is the best place that a row may have as far as these tests can tell."
            ]
    return []


def baseline_notes(rows: Sequence[Row]) -> list[str]:
    """What each baseline says that it chose when it was fitted."""
    said = {row.name: [r.metrics.get("note") for r in row.trained.values()] for row in rows}
    found = {name: dict.fromkeys(str(note) for note in its if note) for name, its in said.items()}
    return [f"{name}: {'; '.join(its)}." for name, its in found.items() if its]


def lower_is_better(metric: MetricDescription) -> str:
    """The sentence that says so."""
    return f"Lower {metric.label} is better."


def highest_noise(table: pd.DataFrame) -> float:
    """The highest noise floor of the run's measurements, as a share; 0 where none is known."""
    return max((float(floor) for floor in _floors(table) if pd.notna(floor)), default=0.0)


def noise_note(table: pd.DataFrame) -> str:
    """The noise floor of the speeds, and whether it is too high to compare them."""
    if not (noise := noise_text(table)):
        return "Noise floor: unknown, because the reference has too few rounds."
    if not too_noisy(highest_noise(table)):
        return f"Noise floor: {noise}."
    return (
        f"Noise floor: {noise}. That is too much to compare speeds: the machine was doing other "
        "work, or its clock was changing. Measure again on a quiet one."
    )


def noise_text(table: pd.DataFrame) -> str:
    """How much the reference differed from itself, for training and inference; empty: unknown."""
    train, infer = _floors(table)
    if pd.isna(train) or pd.isna(infer):
        return ""
    return (
        "the reference, measured twice, differed from itself by up to "
        f"{percent(train)} (training) and {percent(infer)} (inference)"
    )


def _floors(table: pd.DataFrame) -> tuple[Any, Any]:
    """The noise floors of training and inference; missing values where they are unknown."""
    return table["noise_floor"].max(), table["infer_noise_floor"].max()


def memory_notes(rows: Sequence[Row]) -> list[str]:
    """What memory beside speed means, and whether it means the same in every row."""
    costs = [row.cost for row in rows if row.cost.get("peak_memory_mib")]
    lines = []
    if any(cost.get("held_memory_mib") for cost in costs):
        lines.append(
            "Memory: what training steps need. Held: what the process holds at the measured speed, "
            "where it keeps freed memory for the next step."
        )
    hows = [str(cost["memory_how"]) for cost in costs if cost.get("memory_how")]
    if len(set(hows)) > 1:
        counts = (f"{how} ({counted(hows.count(how), 'row')})" for how in dict.fromkeys(hows))
        lines.append(
            "Memory was measured in several ways, and cannot be compared across them: "
            f"{'; '.join(counts)}."
        )
    return lines


def _speed_notes(table: pd.DataFrame) -> list[str]:
    rounds = table["rounds"].dropna()
    few, many = int(rounds.min()), int(rounds.max())
    too_few = f"; too few rounds for an interval (at least {ENOUGH})" if few < ENOUGH else ""
    lines = [
        f"×: speed divided by the reference's in the same rounds ({from_to(few, many)} of them), "
        f"with the 95% t-interval of the mean log ratio{too_few}. "
        "tie: the interval contains 1, or the ratio is within the noise floor.",
        f"Reference: {table['reference'].iloc[0]}.",
    ]
    missing = int((table["train_tokens_per_s"].notna() & table["train_ratio"].isna()).sum())
    if missing:
        lines[-1] += f" No ratio for {counted(missing, 'row')} measured against another reference."
    lines.append(noise_note(table))
    if table["train_seconds"].notna().any():
        lines.append(
            "train s: seconds of one whole training (all epochs of a cell, the one pass of a fit), "
            "the mean over seeds; other work may have run at the same time."
        )
    return lines
