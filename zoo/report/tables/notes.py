"""The lines under a table: what its marks and intervals mean, and what it was made on."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.ratios import MEMORY_TIE, too_noisy
from zoo.report.tables.table import at_chance
from zoo.report.tables.text import from_to, listed, percent, plain
from zoo.sweep.records import Record, made_by, shared_part

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

NAMED = 6  # rows that a note names
STAGE = "pretrain"  # what ``init`` is where there was a stage, as in zoo.config.settings


def notes_of(run: RunReport) -> list[str]:
    """All notes of a report, in the order in which they are printed."""
    if not run.records:
        return ["No records."]
    last = run.typical
    found = [
        *_score_notes(run),
        *_speed_notes(run),
        _front_note(run),
        *memory_notes(run.rows),
        visible_note(run),
        _rank_order_note(run),
        _equal_note(run),
        *baseline_notes(run.rows),
        _chance_note(run),
        pretraining_note(last.config, "pretrain_seconds" in run.table),
        *tuning_notes(run.rows),
        models_note(run.rows, run.best),
        *last.config["data"].get("remarks", []),
        made_on(last, run.metric),
        *mixed([record for row in run.recorded_rows for record in row.used]),
    ]
    return [note for note in found if note]


def _score_notes(run: RunReport) -> list[str]:
    """Seeds and intervals, ranks, the error of the test set, and losses that parts add."""
    metric, trained = run.metric, [row for row in run.rows if row.trained]
    if not trained:
        return []
    cells = [row for row in trained if not row.baseline] or trained
    counts = [len({record.seed for record in row.trained.values()}) for row in cells]
    first = f"Seeds: {from_to(min(counts), max(counts))} per row"
    if max(counts) < ENOUGH:
        first += f": too few seeds for an interval (at least {ENOUGH}); nothing is ranked."
    else:
        fewer = "" if min(counts) >= ENOUGH else f"; with fewer than {ENOUGH} seeds there is none"
        bounds = ", and near 0 and 1 the interval has two ends" if metric.highest == 1 else ""
        first += (
            f", paired across rows. ± is the 95% interval of the mean over seeds{fewer}; "
            f"the variances of all rows are shrunk towards each other{bounds}."
        )
        if any(row.deterministic for row in run.rows):
            first += " A deterministic fit is the same with every seed, and has no interval."
    if not metric.higher_is_better:
        first += f" {lower_is_better(metric)}"
    lines, examples, tests = [first], max(row.examples for row in run.rows), run.verdicts.tests
    disagreed = f" and McNemar's test over the {metric.scored} on which two rows disagree"
    ranked = any(line["rank"] is not None for line in run.lines)
    if ranked and tests:
        lines.append(
            "Rank: 1 + the number of rows that are significantly better (paired t-test over seeds"
            f"{disagreed if examples else ''}; 5% level, Holm's correction for "
            f"{counted(tests, 'comparison')}: every pair of rows and every effect). Trained again "
            "with new seeds and scored on this test set, they would be better again. "
            "1=: no row is better, and several rows have this rank."
        )
    elif ranked:
        lines.append(
            "Rank: all ranked rows have the same results with every seed. Nothing was tested."
        )
    errors = [line[f"{metric.name}_sampling_error"] for line in run.lines]
    if known := [metric.scale * error for error in errors if error is not None]:
        size = f"Test set: {examples} {metric.scored}. " if examples else ""
        together = "" if examples else f"; the {metric.scored} of one text are not independent"
        lines.append(
            f"{size}On another test set of this size from the same source, a model's "
            f"{metric.label} may differ by up to {max(known):.{metric.unit_digits}f} {metric.unit} "
            f"(95%, Wilson{together}); ± does not include this."
        )
    if run.auxiliary:
        lines.append(
            f"{' and '.join(f'{name} loss' for name in run.auxiliary)}: a part of the model adds "
            "this to the loss of the task in training; its mean in the last epoch, before its "
            "weight."
        )
    return lines


def lower_is_better(metric: MetricDescription) -> str:
    """The sentence that says so."""
    return f"Lower {metric.label} is better."


def _speed_notes(run: RunReport) -> list[str]:
    """Ratios, the reference, the noise floor, and seconds of trainings."""
    lines = run.lines
    rounds = [int(line["rounds"]) for line in lines if line["train_ratio"] is not None]
    if not rounds:
        return []
    few, many = min(rounds), max(rounds)
    too_few = f"; too few rounds for an interval (at least {ENOUGH})" if few < ENOUGH else ""
    timed = sum(line["train_tokens_per_s"] is not None for line in lines)
    others = (
        f" No ratio for {counted(timed - len(rounds), 'row')} measured against another reference."
    )
    found = [
        f"×: speed divided by the reference's in the same rounds ({from_to(few, many)} of them), "
        f"with the 95% t-interval of the mean log ratio{too_few}. "
        "tie: the interval contains 1, or the ratio is within the noise floor.",
        f"Reference: {run.reference}.{others if timed > len(rounds) else ''}",
        noise_note(run),
    ]
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


def _front_note(run: RunReport) -> str:
    if "front" not in run.columns:
        return ""
    label = run.metric.label
    return (
        f"Front ({label} against speed, {label} against memory): no other cell is significantly "
        "better on one of the two and at least tied on the other. In brackets: another cell is "
        "better on one of the two, but tied on the other. Memory is measured once; differences "
        f"within {MEMORY_TIE:.0%} are ties."
    )


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
    means = {row.name: run.metric.better(row.mean) for row in run.verdicts.rows}
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


def _equal_note(run: RunReport) -> str:
    equal = "; ".join(", ".join(map(run.short_name, g)) for g in run.verdicts.equal_rows())
    text = "The same results with every seed, and so one row in every comparison: "
    return f"{text}{equal}." if equal else ""


def baseline_notes(rows: Sequence[Row]) -> list[str]:
    """What each baseline says that it chose when it was fitted."""
    said = {row.name: [r.metrics.get("note") for r in row.trained.values()] for row in rows}
    found = {name: dict.fromkeys(str(note) for note in its if note) for name, its in said.items()}
    return [f"{name}: {'; '.join(its)}." for name, its in found.items() if its]


def _chance_note(run: RunReport) -> str:
    """The chance level and the rows that are not above it; empty if it is unknown."""
    metric, chance = run.metric, run.chance
    if chance is None:
        return ""
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
    return f"Chance level of {metric.label}: {metric.format(chance)}; {said}."


def pretraining_note(config: Mapping[str, Any], seconds: bool) -> str:
    """What the encoders of the cells began with; empty where that is new weights.

    config: of a record. seconds: whether the table has those of a stage of pretraining.
    """
    about = shared_part(config, "pretraining")
    if not about["init"]:
        return ""
    if about["init"] != STAGE:
        return (
            f"The encoder of every cell began with that of {plain(about['init'], 60)}, a masked "
            "language model; its training is not in the times."
        )
    texts = plain(about["pretrain_data"], 60) or "the texts of the training split"
    what = "words" if about["pretrain_whole_words"] else "word pieces"
    times = " train s is without pretrain s, the seconds of that stage." if seconds else ""
    return (
        f"Every cell was pretrained: {counted(about['pretrain_epochs'], 'epoch')} of masked "
        f"language modelling on {texts} before training, rate {about['pretrain_lr']:g}, "
        f"{percent(about['pretrain_masked'])} of the {what} masked; no text that is scored is "
        f"among them.{times}"
    )


Values = tuple[float, ...]


def tuning_notes(rows: Sequence[Row]) -> list[str]:
    """Which settings were tried and how; which row depends most on them; which rows lack training.

    Settings were chosen for each row on a held-out part of the training split.
    """
    lines = []
    scores = {row.name: found for row in rows if row.chosen and (found := trial_scores(row))}
    if tuned := [row for row in rows if row.name in scores]:
        metric, config = tuned[0].metric, tuned[0].trials[0].config
        tuning, validation = config["tuning"], config["data"].get("validation")
        named = " and ".join(f"{name} of {_numbers(v)}" for name, v in tuning["values"].items())
        part = "validation split" if validation else f"{tuning['share']:.0%} of the training split"
        lines.append(
            f"Each row was trained with {named.replace('_', ' ')} and scored on "
            f"{'the ' if validation else ''}{part} ({counted(tuning['seeds'], 'seed')}); the first "
            "value within a standard error of the best is in the table, and was then trained on "
            "the whole training split."
        )
        most = max(scores, key=lambda n: max(scores[n].values()) - min(scores[n].values()))
        shown = [f"{metric.format(s)} at {_numbers(at)}" for at, s in scores[most].items()]
        lines.append(
            f"Most depends on it for {plain(most, 60)}: {metric.label} {', '.join(shown)}."
        )
        best = {}
        for values in scores[most]:
            if all(values in found for found in scores.values()):
                of_row = {name: metric.better(found[values]) for name, found in scores.items()}
                best[values] = [n for n in of_row if of_row[n] == max(of_row.values())]
        if best and not set.intersection(*map(set, best.values())):
            text = "; ".join(f"at {_numbers(at)} {_either(names)}" for at, names in best.items())
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


def _either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a or 3 others``."""
    first, *others = (plain(name, 60) for name in names)
    if len(others) > 1:
        return f"{first} or {len(others)} others"
    return " or ".join([first, *others])


def models_note(rows: Sequence[Row], best: Row | None) -> str:
    """The number of models that were kept, and the best row's; empty where none was."""
    count = sum(bool(record.model) for row in rows for record in row.trained.values())
    of_best = f"; of the best row: {best.model}" if best and best.model else ""
    text = f"{counted(count, 'model')} kept in this directory, for zoo predict{of_best}."
    return text if count else ""


def made_on(record: Record, metric: MetricDescription) -> str:
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
    size = str(data.get("summary") or "").rstrip(".")
    validation = data.get("validation")
    if not size and "train" in data and "test" in data:
        size = f"{data['train']} training{f', {validation} validation' if validation else ''}"
        size += f" and {data['test']} test {metric.scored}"
        if (duplicates := data.get("duplicates")) is not None:
            dropped = duplicates and not options.get("keep_duplicates", True)
            size += f", {duplicates} in both{' (dropped from training)' if dropped else ''}"
    about = f"{data['name']} ({data['fingerprint'][:12]}){f', {size}' if size else ''}"
    # The score of a trial is in no table.
    if record.kind != "tune" and (share := training.get("validation", 0.0)):
        split = f"{share:.0%} of the training {metric.scored}, held out from it"
        split = f"the validation split, {validation} {metric.scored}" if validation else split
        about += f"; scored on {split}"
    return (
        f"Data: {about}. {f'Model: {described}. ' if described else ''}"
        f"Machine: {machine_summary(record.environment)}."
    )


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
    """That the records of a table are of several commits, or of several machines.

    Another version of torch or another precision counts as another machine. Another number of
    threads does not: trainings and costs may have different ones.
    """
    done = [record for record in records if record.status == "ok"]
    code = list(dict.fromkeys(map(made_by, done)))
    machines = dict.fromkeys(
        machine_summary({**record.environment, "threads": None, "nice": None}) for record in done
    )
    lines = [f"Made by several states of the code: {', '.join(code)}."] if code[1:] else []
    return lines + ([f"Made on several machines: {'; '.join(machines)}."] * (len(machines) > 1))
