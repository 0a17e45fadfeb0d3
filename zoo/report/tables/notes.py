"""The notes under a table: what its marks and intervals mean, and what it was made on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted, listed
from zoo.measure.turns import CONTENDED as MOST_CONTENTION
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.ratios import CONTENDED, UNDECIDED
from zoo.report.stats.verdicts import MOST_RANKED
from zoo.report.tables.text import from_to, plain
from zoo.sweep.records import Record, shared_part

NAMED = 6  # rows of a list that are named, and lists


def notes_of(run: EvaluatedRun) -> list[str]:
    """All notes of a report, in the order in which they are printed."""
    if not run.records:
        return ["No records."]
    notes = [
        _seeds(run),
        _rank(run),
        _sampling_error(run),
        _speed(run),
        _visible(run),
        _equal_rows(run),
        _same_function(run),
        _chance(run),
        _tuning(run),
        *run.remarks,
        made_on(run.typical, run.metric),
        *mixed([record for row in run.recorded_rows for record in row.used]),
    ]
    return [plain(note) for note in notes if note]


def _seeds(run: EvaluatedRun) -> str:
    trained = [row for row in run.rows if row.trained]
    cells = [row for row in trained if not row.baseline] or trained
    counts = [len({record.seed for record in row.trained.values()}) for row in cells]
    if not counts:
        return ""
    note = (
        f"Seeds: {from_to(min(counts), max(counts))} per row, paired across rows. ± is the 95% "
        f"interval of the mean over at least {ENOUGH} seeds. The variances of all rows are shrunk "
        "towards each other."
    )
    if any(row.deterministic for row in run.rows):
        note += " A deterministic fit is the same with every seed, and has no interval."
    if not run.metric.higher_is_better:
        note += f" Lower {run.metric.label} is better."
    return note


def _rank(run: EvaluatedRun) -> str:
    verdicts, scored = run.verdicts, run.metric.scored
    if not verdicts.ranks():
        return ""
    votes = f" and McNemar's test over the {scored} on which two rows disagree"
    note = (
        "Rank: 1 + the number of rows that are significantly better (paired t-test over seeds"
        f"{votes if any(row.examples for row in run.rows) else ''}; 5% level, Holm's correction "
        f"for {counted(verdicts.tests, 'comparison')}: every pair of rows and every effect). "
        "Trained again with new seeds and scored on this test set, they would be better again."
    )
    limit = f" Only the first {MOST_RANKED} rows by score are ranked."
    return note + (limit if verdicts.limited else "")


def _sampling_error(run: EvaluatedRun) -> str:
    metric = run.metric
    errors = [error for row in run.rows if (error := run.sampling_error(row)) is not None]
    if not errors:
        return ""
    examples = max(row.examples for row in run.rows)
    size = f"Test set: {examples} {metric.scored}. " if examples else ""
    parts = "" if examples else f"; the {metric.scored} of one text are not independent"
    return (
        f"{size}On another test set of this size from the same source, a model's {metric.label} "
        f"may differ by up to {metric.format_size(max(errors))} (95%, Wilson{parts}); ± does not "
        "include this."
    )


def _speed(run: EvaluatedRun) -> str:
    speeds = run.speeds
    if not speeds.measured:
        return ""
    blocks = [speeds.blocks(name) for name in speeds.measured]
    clock = "CPU time at one thread" if speeds.clock == "cpu" else "wall time"
    note = (
        f"×: speed divided by that of the reference, {run.reference}, in the same blocks "
        f"({from_to(min(blocks), max(blocks))} of them), in {clock}. ~: not told apart from the "
        "reference, because the 95% interval contains 1 or is unknown, or because the ratio is "
        f"within {UNDECIDED:.0%} of 1."
    )
    if speeds.contended(*speeds.measured):
        note += (
            " contended: other work had the cores while the row was timed, so that its turns took "
            f"more than {MOST_CONTENTION} times their CPU time; then ~ reaches to {CONTENDED:.0%}."
        )
    return note


def _visible(run: EvaluatedRun) -> str:
    pair, effect = run.verdicts.visible(), run.verdicts.visible("effect")
    if pair is None:
        return ""
    effects = f", and effects of {run.metric.format_size(effect)} or more" if effect else ""
    return (
        f"Differences of {run.metric.format_size(pair)} or more between two rows would have shown "
        f"in 4 of 5 such runs{effects}."
    )


def _equal_rows(run: EvaluatedRun) -> str:
    groups = [listed(run.short_names(rows), NAMED) for rows in run.verdicts.equal_rows()]
    more = f"; and {counted(len(groups) - NAMED, 'more group')}" if groups[NAMED:] else ""
    same = "The same results with every seed, and so one row in every comparison: "
    return f"{same}{'; '.join(groups[:NAMED])}{more}." if groups else ""


def _same_function(run: EvaluatedRun) -> str:
    """Which attentions compute the same, and how far rounding sets their scores apart."""
    effects = [
        effect
        for effect in (run.effects.main if run.effects else [])
        if effect.axis == "attention"
        and all(a.exact and b.exact and a.chosen == b.chosen for a, b, _ in effect.pairs)
    ]
    pairs = [pair for effect in effects for pair in effect.pairs]
    shared = [(a, b, seed) for a, b, _ in pairs for seed in a.values.keys() & b.values.keys()]
    if not effects:
        return ""
    names = listed([effects[0].component, *(effect.against for effect in effects)], NAMED)
    gap = run.metric.format_size(max(abs(a.values[s] - b.values[s]) for a, b, s in shared))
    return f"{names} compute the same; with one seed their scores differ by at most {gap}."


def _chance(run: EvaluatedRun) -> str:
    if run.chance is None:
        return ""
    level = f"Chance level of {run.metric.label}: {run.metric.format(run.chance)}"
    scored = [row for row in run.rows if row.values]
    rows = run.short_names(row for row in scored if _at_chance(run, row, run.chance))
    return f"{level}; not better than it: {listed(rows, NAMED)}." if rows else f"{level}."


def _at_chance(run: EvaluatedRun, row: Row, chance: float) -> bool:
    """Whether a row with a score is no better than chance, over seeds or over other test sets."""
    interval, better = run.verdicts.intervals[row.name], run.metric.better
    error = run.sampling_error(row) or 0.0
    ends = [row.mean - error, row.mean + error]
    ends += [end for end in (interval.low, interval.high) if end is not None] if interval else []
    return min(map(better, ends)) <= better(chance)


def _tuning(run: EvaluatedRun) -> str:
    """Which settings were tried, and on what."""
    first = next((row for row in run.recorded_rows if row.chosen and row.trials), None)
    if first is None:
        return ""
    config = first.trials[0].config
    tuning, part = config["tuning"], "the validation split"
    settings = [
        f"{name.replace('_', ' ')} of {', '.join(f'{value:g}' for value in values)}"
        for name, values in tuning["values"].items()
    ]
    if not config["data"].get("validation"):
        part = f"{tuning['share']:.0%} of the training split"
    return (
        f"Each row was trained with {' and '.join(settings)} and scored on {part} "
        f"({counted(tuning['seeds'], 'seed')}). The first value within a standard error of the "
        "best is in the table, and was then trained on the whole training split."
    )


def made_on(record: Record, metric: MetricDescription) -> str:
    """Data, model and machine of a record, in three sentences."""
    config, data = record.config, record.config["data"]
    sizes, training = config.get("sizes", {}), config.get("training", {})
    options, validation = config.get("task_options", {}), data.get("validation")
    model = [
        counted(sizes["layers"], "layer") if "layers" in sizes else "",
        f"width {sizes['dim']}" if "dim" in sizes else "",
        counted(sizes["heads"], "head") if "heads" in sizes else "",
        f"{sizes['max_length']} tokens" if "max_length" in sizes else "",
        counted(training["epochs"], "epoch") if "epochs" in training else "",
        _pretraining(shared_part(config, "pretraining")),
    ]
    size = str(data.get("summary") or "").rstrip(".")
    if not size and "train" in data and "test" in data:
        held_out = f", {validation} validation" if validation else ""
        size = f"{data['train']} training{held_out} and {data['test']} test {metric.scored}"
        if (duplicates := data.get("duplicates")) is not None:
            dropped = duplicates and not options.get("keep_duplicates", True)
            size += f", {duplicates} in both{' (dropped from training)' if dropped else ''}"
    about = f"{data['name']} ({data['fingerprint'][:12]}){f', {size}' if size else ''}"
    # The score of a trial is in no table.
    if record.kind != "tune" and (share := training.get("validation", 0.0)):
        split = f"{share:.0%} of the training {metric.scored}, held out from it"
        split = f"the validation split, {validation} {metric.scored}" if validation else split
        about += f"; scored on {split}"
    described = ", ".join(filter(None, model))
    return (
        f"Data: {about}. {f'Model: {described}. ' if described else ''}"
        f"Machine: {machine_summary(record.environment)}."
    )


def _pretraining(stage: Mapping[str, Any]) -> str:
    """Where the weights of every cell came from; empty where they were drawn."""
    if stage.get("init") == "pretrain":
        return f"pretrained for {counted(stage['pretrain_epochs'], 'epoch')} on the training texts"
    return f"begun with the encoder of {plain(stage['init'], 60)}" if stage.get("init") else ""


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


def mixed(records: Sequence[Record]) -> list[str]:
    """That the records of a table are of several states of the code, or of several machines.

    Another version of torch or another precision counts as another machine. Another number of
    threads does not: trainings and costs may have different ones.
    """
    done = [record for record in records if record.status == "ok"]
    states = Counter(module for module, _ in {pair for r in done for pair in r.code.items()})
    code = sorted(module for module, count in states.items() if count > 1)
    machines = dict.fromkeys(
        machine_summary({**record.environment, "threads": None, "nice": None}) for record in done
    )
    notes = [f"Made by several states of the code: {', '.join(code)}."] if code else []
    if len(machines) > 1:
        notes.append(f"Made on several machines: {'; '.join(machines)}.")
    return notes
