"""The lines under a table: what its marks and intervals mean, and what it was made on."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.ratios import MEMORY_TIE, too_noisy
from zoo.report.tables.table import at_chance
from zoo.report.tables.text import from_to, listed, percent, plain
from zoo.sweep.records import Record, made_by, shared_part
from zoo.wording import counted

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

NAMED = 6  # rows that a note names
STAGE = "pretrain"  # what ``init`` is where there was a stage, as in zoo.config.pretraining


def notes_of(run: RunReport) -> list[str]:
    """All notes of a report, in the order in which they are printed."""
    if not run.records:
        return ["No records."]
    used = [record for row in run.recorded_rows for record in row.used]
    last, pretrain_seconds = run.typical, "pretrain_seconds" in run.table
    found = [
        *_metric_notes(run),
        *_auxiliary_note(run.auxiliary),
        *_speed_notes(run),
        *_front_note(run),
        *memory_notes(run.rows),
        visible_note(run),
        _rank_order_note(run),
        *_equal_note(run),
        *baseline_notes(run.rows),
        *_chance_note(run),
        *pretraining_notes(last.config, pretrain_seconds),
        *tuning_notes(run.rows),
        *models_note(run.rows, run.best),
        *last.config["data"].get("remarks", []),
        _made_on(last, run.metric),
        mixed_code(used),
        mixed_machines(used),
    ]
    return [note for note in found if note]


def _metric_notes(run: RunReport) -> list[str]:
    """Seeds and intervals, ranks, and the error of the test set."""
    metric, trained = run.metric, [row for row in run.rows if row.trained]
    if not trained:
        return []
    cells = [row for row in trained if not row.baseline] or trained
    counts = [len({record.seed for record in row.trained.values()}) for row in cells]
    few, many = min(counts), max(counts)
    seeds = f"Seeds: {from_to(few, many)} per row"
    if many < ENOUGH:
        first = f"{seeds}: too few seeds for an interval (at least {ENOUGH}); nothing is ranked."
    else:
        fewer = "" if few >= ENOUGH else f"; with fewer than {ENOUGH} seeds there is none"
        bounds = ", and near 0 and 1 the interval has two ends" if metric.highest == 1 else ""
        first = (
            f"{seeds}, paired across rows. ± is the 95% interval of the mean over seeds{fewer}; "
            f"the variances of all rows are shrunk towards each other{bounds}."
        )
        if any(row.deterministic for row in run.rows):
            first += " A deterministic fit is the same with every seed, and has no interval."
    if not metric.higher_is_better:
        first += f" {lower_is_better(metric)}"
    shares = max(row.examples for row in run.rows)
    lines = [first]
    if any(line["rank"] is not None for line in run.lines):
        lines.append(_rank_note(run, bool(shares)))
    errors = [line[f"{metric.name}_sampling_error"] for line in run.lines]
    if known := [error for error in errors if error is not None]:
        error = metric.scale * max(known)
        size = f"Test set: {shares} {metric.scored}. " if shares else ""
        how = "Wilson" if shares else f"Wilson; the {metric.scored} of one text are not independent"
        lines.append(
            f"{size}On another test set of this size from the same source, a model's "
            f"{metric.label} may differ by up to {error:.{metric.unit_digits}f} {metric.unit} "
            f"(95%, {how}); ± does not include this."
        )
    return lines


def _rank_note(run: RunReport, shares: bool) -> str:
    """What a rank is, and how the tests behind it were corrected."""
    tests = run.verdicts.tests
    if not tests:  # all of them are one row
        return "Rank: all ranked rows have the same results with every seed. Nothing was tested."
    mcnemar = f" and McNemar's test over the {run.metric.scored} on which two rows disagree"
    return (
        "Rank: 1 + the number of rows that are significantly better (paired t-test over seeds"
        f"{mcnemar if shares else ''}; 5% level, Holm's correction for "
        f"{counted(tests, 'comparison')}: every pair of rows and every effect). Trained again with "
        "new seeds and scored on this test set, they would be better again. "
        "1=: no row is better, and several rows have this rank."
    )


def lower_is_better(metric: MetricDescription) -> str:
    """The sentence that says so."""
    return f"Lower {metric.label} is better."


def _auxiliary_note(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"{' and '.join(f'{name} loss' for name in names)}: a part of the model adds this to the "
        "loss of the task in training; its mean in the last epoch, before its weight."
    ]


def _speed_notes(run: RunReport) -> list[str]:
    """Ratios, the reference, the noise floor, and seconds of trainings."""
    lines = run.lines
    rounds = [line["rounds"] for line in lines if line["train_ratio"] is not None]
    if not rounds:
        return []
    few, many = int(min(rounds)), int(max(rounds))
    too_few = f"; too few rounds for an interval (at least {ENOUGH})" if few < ENOUGH else ""
    found = [
        f"×: speed divided by the reference's in the same rounds ({from_to(few, many)} of them), "
        f"with the 95% t-interval of the mean log ratio{too_few}. "
        "tie: the interval contains 1, or the ratio is within the noise floor.",
        f"Reference: {run.reference}.",
    ]
    missing = sum(
        line["train_tokens_per_s"] is not None and line["train_ratio"] is None for line in lines
    )
    if missing:
        found[-1] += f" No ratio for {counted(missing, 'row')} measured against another reference."
    found.append(noise_note(run))
    if any(line["train_seconds"] is not None for line in lines):
        found.append(
            "train s: seconds of one whole training (all epochs of a cell, the one pass of a fit), "
            "the mean over seeds; other work may have run at the same time."
        )
    return found


def noise_note(run: RunReport) -> str:
    """The noise floor of the speeds, and whether it is too high to compare them."""
    if not (noise := noise_text(run)):
        return "Noise floor: unknown, because the reference has too few rounds."
    if not too_noisy(run.noise_floor):
        return f"Noise floor: {noise}."
    return (
        f"Noise floor: {noise}. That is too much to compare speeds: the machine was doing other "
        "work, or its clock was changing. Measure again on a quiet one."
    )


def noise_text(run: RunReport) -> str:
    """How much the reference differed from itself, for training and inference; empty: unknown."""
    train, infer = run.noise_floors
    if train is None or infer is None:
        return ""
    return (
        "the reference, measured twice, differed from itself by up to "
        f"{percent(train)} (training) and {percent(infer)} (inference)"
    )


def _front_note(run: RunReport) -> list[str]:
    if not any(line["pareto_speed"] or line["pareto_memory"] for line in run.lines):
        return []
    label = run.metric.label
    return [
        f"Front ({label} against speed, {label} against memory): no other cell is significantly "
        "better on one of the two and at least tied on the other. In brackets: another cell is "
        "better on one of the two, but tied on the other. Memory is measured once; differences "
        f"within {MEMORY_TIE:.0%} are ties."
    ]


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


def visible_note(run: RunReport) -> str:
    """The differences that such a run shows; empty where nothing was tested."""
    pair, effect = run.verdicts.visible(), run.verdicts.visible("effect")
    if pair is None:
        return ""
    shown = [run.metric.format_difference(d).lstrip("+") for d in (pair, effect) if d is not None]
    return (
        f"Differences of {shown[0]} or more between two rows would have shown in 4 of 5 such "
        f"runs{f', and effects of {shown[1]} or more' if effect is not None else ''}."
    )


def _rank_order_note(run: RunReport) -> str:
    """Why ranks do not follow the means, with two rows as an example; empty where they do."""
    ranks = run.verdicts.ranks()
    means = {
        row.name: row.metric.better(statistics.fmean(row.values.values()))
        for row in run.verdicts.rows
    }
    ranked = [row for row in run.verdicts.rows if row.name in ranks]
    ranked.sort(key=lambda row: means[row.name], reverse=True)
    for above, below in itertools.combinations(ranked, 2):
        if ranks[above.name] > ranks[below.name] and means[above.name] > means[below.name]:
            one, other = run.short_name(above), run.short_name(below)
            return (
                f"Ranks do not follow the means everywhere: {one} has a better mean than {other} "
                f"and a worse rank, because less is certain of {other}. A rank is the best place "
                "that a row may have as far as these tests can tell."
            )
    return ""


def _equal_note(run: RunReport) -> list[str]:
    equal = [", ".join(map(run.short_name, group)) for group in run.verdicts.equal_rows()]
    if not equal:
        return []
    return [
        f"The same results with every seed, and so one row in every comparison: {'; '.join(equal)}."
    ]


def baseline_notes(rows: Sequence[Row]) -> list[str]:
    """What each baseline says that it chose when it was fitted."""
    said = {row.name: [r.metrics.get("note") for r in row.trained.values()] for row in rows}
    found = {name: dict.fromkeys(str(note) for note in its if note) for name, its in said.items()}
    return [f"{name}: {'; '.join(its)}." for name, its in found.items() if its]


def _chance_note(run: RunReport) -> list[str]:
    """The chance level and the rows that are not above it; nothing if it is unknown."""
    metric, chance = run.metric, run.chance
    if chance is None:
        return []
    found: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for row, line in zip(run.rows, run.lines, strict=True):
        if line[f"{metric.name}_mean"] is not None:
            found[at_chance(line, metric, chance)].append(run.short_name(row))
    about = [f"not better than it: {listed(found[True], NAMED)}"] if found[True] else []
    if found[None]:
        about.append(
            f"cannot be said of {listed(found[None], NAMED)}: neither an interval over seeds nor a "
            "sampling error is known"
        )
    said = "; ".join(about) or "every row is better"
    return [f"Chance level of {metric.label}: {metric.format(chance)}; {said}."]


def pretraining_notes(config: Mapping[str, Any], seconds: bool) -> list[str]:
    """What the encoders of the cells began with, where that is no new weights.

    config: of a record. seconds: whether the table has those of a stage of pretraining.
    """
    about = shared_part(config, "pretraining")
    if not about["init"]:
        return []
    if about["init"] != STAGE:
        return [
            f"The encoder of every cell began with that of {plain(about['init'], 60)}, a masked "
            "language model; its training is not in the times."
        ]
    texts = plain(about["pretrain_data"], 60) or "the texts of the training split"
    what = "words" if about["pretrain_whole_words"] else "word pieces"
    line = (
        f"Every cell was pretrained: {counted(about['pretrain_epochs'], 'epoch')} of masked "
        f"language modelling on {texts} before training, rate {about['pretrain_lr']:g}, "
        f"{percent(about['pretrain_masked'])} of the {what} masked; no text that is scored is "
        "among them."
    )
    if seconds:
        line += " train s is without pretrain s, the seconds of that stage."
    return [line]


Values = tuple[float, ...]


def tuning_notes(rows: Sequence[Row]) -> list[str]:
    """Which settings were tried and how; which row depends most on them; which rows lack training.

    Settings were chosen for each row on a held-out part of the training split.
    """
    lines = []
    scores = {row.name: found for row in rows if row.chosen and (found := trial_scores(row))}
    if tuned := [row for row in rows if row.name in scores]:
        metric, trial = tuned[0].metric, tuned[0].trials[0]
        tuning = trial.config["tuning"]
        named = (f"{name} of {_numbers(tried)}" for name, tried in tuning["values"].items())
        part = f"{tuning['share']:.0%} of the training split"
        if trial.config["data"].get("validation"):
            part = "the validation split"
        lines.append(
            f"Each row was trained with {' and '.join(named).replace('_', ' ')} and scored on "
            f"{part} ({counted(tuning['seeds'], 'seed')}); the first value within a standard error "
            "of the best is in the table, and was then trained on the whole training split."
        )
        spans = {name: max(found.values()) - min(found.values()) for name, found in scores.items()}
        most = max(tuned, key=lambda row: spans[row.name])
        shown = [f"{metric.format(s)} at {_numbers(at)}" for at, s in scores[most.name].items()]
        name = plain(most.name, 60)
        lines.append(f"Most depends on it for {name}: {metric.label} {', '.join(shown)}.")
        common = [v for v in scores[most.name] if all(v in found for found in scores.values())]
        best = {values: _best_with(tuned, scores, values) for values in common}
        if best and not set.intersection(*map(set, best.values())):
            text = "; ".join(
                f"at {_numbers(values)} {_either(names)}" for values, names in best.items()
            )
            lines.append(f"With one value for all rows, the best row would depend on it: {text}.")
    if untrained := [f"{plain(r.name, 60)} ({r.tried})" for r in rows if r.only_tuned]:
        lines.append(
            f"Not trained: {', '.join(untrained)}. The training with the chosen values is missing; "
            "the same command goes on from there."
        )
    return lines


def trial_scores(row: Row) -> dict[Values, float]:
    """Values of the tuned settings, in the order given, to the mean score of trials with them.

    Values are missing where every trial failed.
    """
    found: dict[Values, list[float]] = {}
    for record in row.trials:
        score = record.metrics.get(row.metric.name)
        if record.status == "ok" and score is not None:
            training = record.config["training"]
            values = tuple(training[name] for name in record.config["tuning"]["values"])
            found.setdefault(values, []).append(score)
    tried = itertools.product(*row.trials[0].config["tuning"]["values"].values())
    return {values: statistics.fmean(found[values]) for values in tried if values in found}


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _best_with(
    rows: Sequence[Row], scores: Mapping[str, Mapping[Values, float]], values: Values
) -> list[str]:
    """The rows with the best score where all have the same values; several where it is equal."""
    better = rows[0].metric.better
    best = max(better(scores[row.name][values]) for row in rows)
    return [row.name for row in rows if better(scores[row.name][values]) == best]


def _either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a or 3 others``."""
    first, *others = (plain(name, 60) for name in names)
    if len(others) > 1:
        return f"{first} or {len(others)} others"
    return " or ".join([first, *others])


def models_note(rows: Sequence[Row], best: Row | None) -> list[str]:
    """One line with the number of models and the best row's; nothing where none was kept."""
    count = sum(bool(record.model) for row in rows for record in row.trained.values())
    if not count:
        return []
    of_best = f"; of the best row: {best.model}" if best and best.model else ""
    return [f"{counted(count, 'model')} kept in this directory, for zoo predict{of_best}."]


def _made_on(record: Record, metric: MetricDescription) -> str:
    """Data, model and machine of a record, in three sentences."""
    config, data = record.config, record.config["data"]
    sizes, training = config.get("sizes", {}), config.get("training", {})
    options = config.get("task_options", {})
    ensemble, beam = options.get("ensemble", 1), options.get("beam")
    model = [
        counted(sizes["layers"], "layer") if "layers" in sizes else "",
        f"width {sizes['dim']}" if "dim" in sizes else "",
        counted(sizes["heads"], "head") if "heads" in sizes else "",
        f"{sizes['max_length']} tokens" if "max_length" in sizes else "",
        f"ensembles of {ensemble} members" if ensemble > 1 else "",
    ]
    work = [
        counted(training["epochs"], "epoch") if "epochs" in training else "",
        counted(beam, "beam") if beam else "",
    ]
    described = "; ".join(filter(None, [", ".join(filter(None, part)) for part in (model, work)]))
    about = ", ".join(
        filter(
            None, [f"{data['name']} ({data['fingerprint'][:12]})", _data_summary(config, metric)]
        )
    )
    held = f"; {scored}" if (scored := held_out(record, metric)) else ""
    return (
        f"Data: {about}{held}. {f'Model: {described}. ' if described else ''}"
        f"Machine: {machine_summary(record.environment)}."
    )


def _data_summary(config: Mapping[str, Any], metric: MetricDescription) -> str:
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
    share = record.config.get("training", {}).get("validation", 0.0)
    if record.kind == "tune" or not share:
        return ""
    if validation := record.config["data"].get("validation"):
        return f"scored on the validation split, {validation} {metric.scored}"
    return f"scored on {share:.0%} of the training {metric.scored}, held out from it"


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


def mixed_code(records: Sequence[Record]) -> str:
    """That the records of a table are of several commits; empty where they are of one."""
    made = dict.fromkeys(made_by(record) for record in records if record.status == "ok")
    return f"Made by several states of the code: {', '.join(made)}." if len(made) > 1 else ""


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
