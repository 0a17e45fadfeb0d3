"""What is said under a table: the answer, as far as verdicts tell, and notes on every mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted, listed
from zoo.measure.turns import CONTENDED as MOST_CONTENTION
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import ReportRow, settings_of
from zoo.report.stats.intervals import ENOUGH, sampling_error
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import CONTENDED, UNDECIDED
from zoo.report.stats.verdicts import MORE_SEEDS, MOST_RANKED
from zoo.report.tables.learned import NAMED, learned_answer, learned_notes, names_of
from zoo.report.tables.text import ends, from_to, plain
from zoo.sweep.records import Record, shared_part

WHOLE = "whole=True"  # in the name of a baseline that reads whole texts
# Settings of the model that a note names.
SHOWN = ("layers", "dim", "heads", "max_length", "epochs", "init")


def answer_of(run: EvaluatedRun) -> list[str]:
    """At most three lines: what to use, what more seeds would decide, what of equals is faster."""
    cells = run.by_score(baseline=False)
    if not cells:
        return [f"No cell has a value of {run.metric.label}."] if run.records else []
    if run.learning:
        return [plain(line) for line in learned_answer(run)]
    choices = " ".join(filter(None, [_conclusion(run, cells), _choices(run)]))
    lines = choices, _undecided(run, cells), _faster(run)
    return [plain(line) for line in lines if line]


def _conclusion(run: EvaluatedRun, cells: Sequence[ReportRow]) -> str:
    """Which row to use, and what those have that it is held against."""
    best, baselines = run.best or cells[0], run.by_score(baseline=True)
    others = [row for row in cells if row is not best]
    ties = [] if run.crossed else run.tied_cells()[1:]
    name, score = run.short_name(best), f"{run.metric.label} {run.score_text(best.name)}"
    if others and all(run.verdicts.verdict(best.name, row.name) == 1 for row in others):
        score += f", better than the {'other cell' if len(others) == 1 else 'other cells'}"
    tied = f" Not told apart from {name}: {names_of(run, ties)}." if ties else ""
    if not baselines:
        if not others:
            return f"{name} has {score}."
        use = f"Use {name}:" if run.tied_cells() else f"Undecided: {name} has the best"
        return f"{use} {score}.{tied}"
    rival = baselines[0]
    against = [run.verdicts.verdict(row.name, rival.name) for row in [best, *cells]]
    if 1 not in against and against[0] == -1:
        name = _reading(run, rival) if WHOLE in rival.baseline else run.short_name(rival)
        use = f"Use the baseline {name}: {run.metric.label}"
        rest = listed(_scores(run, best, rival), NAMED)
        return f"{use} {run.score_text(rival.name)}, against {rest}.{tied}"
    use = f"Use {name}:" if 1 in against else f"Undecided: {name} has"
    return f"{use} {score}, against {listed(_scores(run, rival, best), NAMED)}.{tied}"


def _scores(run: EvaluatedRun, first: ReportRow, besides: ReportRow) -> list[str]:
    """The score of a row; of baselines that read whole texts or not, of the best of each kind."""
    baselines = run.by_score(baseline=True)
    whole = [WHOLE in row.baseline for row in baselines]
    rows = [first]
    if len(set(whole)) > 1:  # the best of each kind
        kinds = [baselines[whole.index(kind)] for kind in (False, True)]
        kinds = [row for row in kinds if row is not besides]
        rows = kinds if first.baseline else [first, *kinds]
    kind = "the baseline " if len(set(whole)) == 1 else ""
    names = [f"{kind if row.baseline else ''}{_reading(run, row)}" for row in rows]
    return [f"{run.score_text(row.name)} of {name}" for row, name in zip(rows, names, strict=True)]


def _reading(run: EvaluatedRun, row: ReportRow) -> str:
    """A row's name and, of baselines that read whole texts or do not, what it reads."""
    several = {WHOLE in other.baseline for other in run.rows if other.baseline} == {True, False}
    name = run.short_name(row)
    if not several or not row.baseline:
        return name
    if WHOLE in row.baseline:
        return f"{name}, which reads whole texts"
    length = shared_part(run.typical.config, "sizes").get("max_length")
    return f"{name} on the same {length} tokens"


def _choices(run: EvaluatedRun) -> str:
    """The effects that are real, the largest first; of a grid also what ties."""
    if not run.effects:
        return ""
    real = list[str]()
    same, ties = dict[str, list[str]](), dict[str, list[str]]()
    pairs = [(effect, effect.difference) for effect in run.effects.main if effect.difference]
    for effect, difference in sorted(pairs, key=lambda pair: -abs(pair[1].mean)):
        names = effect.component, effect.against
        better, worse = names if run.metric.better(difference.mean) > 0 else names[::-1]
        if difference.real:
            size = run.metric.format_size(difference.mean, difference.half)
            real.append(f"{better} is better than {worse} by {size}")
        elif run.crossed and run.compute_the_same(effect):
            same.setdefault(names[0], []).append(names[1])
        elif run.crossed and difference.adjusted is not None:
            ties.setdefault(names[0], []).append(names[1])
    how = " (averaged over the grid)" if run.effects.averaged else " (exchanged one at a time)"
    rest = [f"{counted(len(real) - NAMED, 'more choice')} too"] if real[NAMED:] else []
    parts = [f"{'; '.join([*real[:NAMED], *rest])}{how if run.crossed else ''}"] if real else []
    parts += [f"{listed([name, *others])} compute the same" for name, others in same.items()]
    parts += [
        f"{listed(others, NAMED)} {'are' if others[1:] else 'is'} not told apart from {name}"
        for name, others in ties.items()
    ]
    return f"Of the parts, {'; '.join(parts)}." if parts else ""


def _undecided(run: EvaluatedRun, cells: Sequence[ReportRow]) -> str:
    """What this run could have seen, and how many seeds would decide what it leaves open."""
    verdicts, enough = run.verdicts, run.verdicts.enough
    if not verdicts.pairs:
        scored = [row for row in run.rows if row.values]
        most = max(len(row.values) for row in cells)
        if verdicts.limited or most >= enough or not scored[1:]:
            return ""
        return f"{counted(most, 'seed')}: a test needs {enough}; run with --seeds {enough}."
    names, difference = _open(run, cells)
    if difference is None or not difference.error:
        return ""
    gap = verdicts.visible_of(difference, difference.seeds)
    if gap is None:
        return ""
    seeds = verdicts.seeds_to_see(difference)
    would = f"--seeds {seeds} would" if seeds else f"not even {MORE_SEEDS[-1]} seeds would"
    return (
        f"Left open: {' and '.join(names)} differ by {run.metric.format_size(difference.mean)}. "
        f"Of these two this run would have shown {run.metric.format_size(gap)} in 4 of 5 cases; "
        f"{would} show as little as that."
    )


def _open(run: EvaluatedRun, cells: Sequence[ReportRow]) -> tuple[Sequence[str], Difference | None]:
    """The undecided difference that matters most, with the names of the two.

    The best cell against the best baseline, else the largest effect of a grid, else the best cell
    and the next.
    """
    verdict, pair, best = run.verdicts.verdict, run.verdicts.pair, run.best or cells[0]
    for rival in run.by_score(baseline=True)[:1]:
        beaten = any(verdict(row.name, rival.name) == 1 for row in cells)
        if not beaten and verdict(best.name, rival.name) == 0:
            return (run.short_name(best), run.short_name(rival)), pair(best.name, rival.name)
    for row in run.tied_cells()[1:] if not run.crossed else ():
        difference = pair(best.name, row.name)
        if difference and not difference.equal:
            return (run.short_name(best), run.short_name(row)), difference
    ties = [
        ((effect.component, effect.against), effect.difference)
        for effect in (run.effects.main if run.effects and run.crossed else ())
        if effect.difference and not effect.difference.real and not run.compute_the_same(effect)
    ]
    return max(ties, key=lambda tie: abs(tie[1].mean), default=((), None))


def _faster(run: EvaluatedRun) -> str:
    """Which choices train faster, of those that tie."""
    if not run.effects:
        return ""
    faster = []
    for effect in run.effects.main:
        ratio, names = effect.speed.get("train"), (effect.component, effect.against)
        if (effect.difference and effect.difference.real) or not ratio or not ratio.verdict:
            continue
        fast, slow = names if ratio.value > 1 else names[::-1]
        ratio = ratio if ratio.value > 1 else ratio.inverse
        size = f"{ratio.value:.2f} times as fast as {slow} ({ends(ratio.low, ratio.high)})"
        faster.append((-ratio.value, f"{fast} trains {size}"))
    parts = [text for _, text in sorted(faster)]
    rest = f"; {counted(len(parts) - NAMED, 'more choice')} too" if parts[NAMED:] else ""
    of = "Of the parts that tie" if run.verdicts.pairs else "Of the parts"
    return f"{of}, {'; '.join(parts[:NAMED])}{rest}." if parts else ""


def notes_of(run: EvaluatedRun) -> list[str]:
    """All notes of a report, in the order in which they are printed."""
    if not run.records:
        return ["No records."]
    scored = [_seeds(run), _rank(run), _sampling_error(run), _speed(run)]
    notes = [
        *([*learned_notes(run), _speed(run)] if run.learning else scored),
        _visible(run),
        _equal_rows(run),
        f"Chance level of {run.metric.label}: {run.chance_text}." if run.chance_text else "",
        _tuning(run),
        *run.remarks,
        elsewhere([run], {row.name: run.short_name(row) for row in run.rows}),
        made_on(run.typical, run.metric),
        *mixed(run.records, [record for row in run.recorded_rows for record in row.used]),
    ]
    return [plain(note) for note in notes if note]


def _seeds(run: EvaluatedRun) -> str:
    trained = [row for row in run.rows if row.trained]
    cells = [row for row in trained if not row.baseline] or trained
    counts = [len({record.seed for record in row.trained.values()}) for row in cells]
    if not counts:
        return ""
    lower = "" if run.metric.higher_is_better else f" Lower {run.metric.label} is better."
    return (
        f"Seeds: {from_to(min(counts), max(counts))} per row, paired across rows. ± is the 95% "
        f"interval of the mean over at least {ENOUGH} seeds; a deterministic fit has none. The "
        f"variances of all rows are shrunk towards each other.{lower}"
    )


def _rank(run: EvaluatedRun) -> str:
    verdicts = run.verdicts
    if verdicts.limited:
        return f"Of more than {MOST_RANKED} rows none are ranked: effects alone are tested."
    if not verdicts.ranks():
        return ""
    votes = f" and McNemar's test over the {run.metric.scored} on which two rows disagree"
    return (
        "Rank: 1 + the number of rows that are significantly better (paired t-test over seeds"
        f"{votes if any(row.examples for row in run.rows) else ''}; 5% level, Holm's correction "
        f"for {counted(verdicts.tests, 'comparison')}: every pair of rows and every effect). "
        "Trained again with new seeds and scored on this test set, they would be better again."
    )


def _sampling_error(run: EvaluatedRun) -> str:
    metric = run.metric
    known = [row for row in run.rows if row.values]
    errors = [sampling_error(row.mean, row.effective_examples) for row in known]
    most = max((error for error in errors if error is not None), default=None)
    if most is None:
        return ""
    examples = max(row.examples for row in run.rows)
    size = f"Test set: {examples} {metric.scored}. " if examples else ""
    parts = "" if examples else f"; the {metric.scored} of one text are not independent"
    return (
        f"{size}On another test set of this size from the same source, a model's {metric.label} "
        f"may differ by up to {metric.format_size(most)} (95%, Wilson{parts}); ± does not "
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
    if busy := [row for row in run.rows if speeds.contended(row.name)]:
        note += (
            f" Other work had the cores while {names_of(run, busy)} had turns, which took more "
            f"than {MOST_CONTENTION} times their CPU time: there ~ reaches to {CONTENDED:.0%}."
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
    """Rows with the same results, and attentions that compute the same."""
    groups = [names_of(run, rows) for rows in run.verdicts.equal_rows()]
    more = f"; and {counted(len(groups) - NAMED, 'more group')}" if groups[NAMED:] else ""
    same = "The same results with every seed, and so one row in every comparison: "
    note = f"{same}{'; '.join(groups[:NAMED])}{more}." if groups else ""
    cells = [row for row in run.recorded_rows if row.exact and row.cell]
    exact = dict.fromkeys(row.cell["attention"] for row in cells if "attention" in run.axes)
    if len(exact) > 1:
        note += f" {listed(list(exact), NAMED)} compute the same, up to rounding."
    return note


def _tuning(run: EvaluatedRun) -> str:
    """Which settings were tried."""
    first = next((row for row in run.recorded_rows if row.chosen and row.trials), None)
    if first is None:
        return ""
    tuning = first.trials[0].config["tuning"]
    tried = [f"{n} of {', '.join(map(str, v))}" for n, v in tuning["values"].items()]
    return (
        f"Chosen for each row by its score on texts held out from training, "
        f"{counted(tuning['seeds'], 'seed')}: {' and '.join(tried)}. Each was then trained on the "
        "whole training split."
    )


def elsewhere(runs: Sequence[EvaluatedRun], shown: Mapping[str, str]) -> str:
    """Which rows of the table are not of the run itself, and which of them are stale.

    shown: row name to the one that tables print.
    """
    own = {record.name for run in runs for record in run.own}
    others = [record for run in runs for record in run.others if record.name not in own]
    rows = {shown[r.name]: f" ({r.reason.partition(':')[0]})" if r.reason else "" for r in others}
    names = listed(f"{name}{mark}" for name, mark in rows.items()) if rows else ""
    return f"Not trained in this run: {names}." if rows else ""


def made_on(record: Record, metric: MetricDescription) -> str:
    """Data, model and machine of a record, in three sentences."""
    config, data, scored = record.config, record.config["data"], metric.scored
    training, size = config.get("training", {}), str(data.get("summary") or "").rstrip(".")
    settings = {**config.get("sizes", {}), "epochs": training.get("epochs")}
    settings |= shared_part(config, "pretraining")
    model = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in settings.items()
        if name in SHOWN and value
    ]
    if not size and "train" in data and "test" in data:
        held_out = f", {data['validation']} validation" if data.get("validation") else ""
        size = f"{data['train']} training{held_out} and {data['test']} test {scored}"
        if duplicates := data.get("duplicates"):
            kept = config.get("task_options", {}).get("keep_duplicates", True)
            size += f", {duplicates} in both{'' if kept else ' (dropped from training)'}"
    about = f"{shared_part(config, 'data')}{f', {size}' if size else ''}"
    # The score of a trial is in no table.
    if record.kind != "tune" and (share := training.get("validation", 0.0)):
        part = "the validation split" if data.get("validation") else f"{share:.0%} of the training"
        about += f"; scored on {part} {scored}"
    described = f"Model: {', '.join(model)}. " if model else ""
    return f"Data: {about}. {described}Machine: {machine_summary(record.environment)}."


def machine_summary(environment: Mapping[str, Any]) -> str:
    """``AMD EPYC, 2 threads, torch 2.13.0+cpu, fp32``; what is not known is left out."""
    known = {name: value for name, value in environment.items() if value}
    parts = [
        str(known.get("device_name") or known.get("device") or "unknown"),
        counted(known["threads"], "thread") if "threads" in known else "",
        f"torch {known['torch']}" if "torch" in known else "",
        str(known.get("precision", "")),
        f"niceness {known['nice']}" if "nice" in known else "",
    ]
    return ", ".join(filter(None, parts))


def mixed(records: Sequence[Record], used: Sequence[Record]) -> list[str]:
    """That records are of several settings, states of the code or machines.

    used: those that numbers come from. Another version of torch or another precision counts as
    another machine. Another number of threads does not: trainings and costs may have different
    ones.
    """
    done = [record for record in used if record.status == "ok"]
    states = Counter(module for module, _ in {pair for r in done for pair in r.code.items()})
    code = sorted(module for module, count in states.items() if count > 1)
    settings: dict[str, dict[str, None]] = {}
    for record in records:
        data = str(record.config.get("data", {}).get("fingerprint", ""))[:12]
        for name, value in ({"data": data} | settings_of(record.config)).items():
            settings.setdefault(name, {})[str(value)] = None
    differing = [f"{n}: {', '.join(known)}" for n, known in settings.items() if len(known) > 1]
    machines = dict.fromkeys(
        machine_summary({**record.environment, "threads": None, "nice": None}) for record in done
    )
    what = "Made with several settings, so that rows may not compare"
    notes = [f"{what}: {'; '.join(differing)}."] if differing else []
    notes += [f"Made by several states of the code: {', '.join(code)}."] if code else []
    if len(machines) > 1:
        notes.append(f"Made on several machines: {'; '.join(machines)}.")
    return notes
