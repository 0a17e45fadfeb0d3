"""What fills the notes under a table: what its marks and intervals mean, and what it was made on.

The sentences are in ``words/notes.txt``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.rows import Row
from zoo.report.stats.ratios import PHASES
from zoo.report.stats.verdicts import MOST_RANKED
from zoo.report.tables.answer import few_texts
from zoo.report.tables.table import at_chance
from zoo.report.tables.words import said
from zoo.sweep.records import Record, shared_part

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

UNBALANCED = 2.0  # times the mean of the other classes, from which on the largest one is a finding
MUCH_CUT = 0.1  # of the test texts
CAUTIONS = 2
EQUAL = 20  # groups of equal rows that are named, and rows of one


def notes_of(run: RunReport) -> list[str]:
    """All notes of a report, in the order in which they are printed."""
    if not run.records:
        return ["No records."]
    last, metric = run.typical, run.metric
    trained = [row for row in run.rows if row.trained]
    cells = [row for row in trained if not row.baseline] or trained
    errors = [line[f"{metric.name}_sampling_error"] for line in run.lines]
    costs = [row.cost for row in run.rows if row.cost.get("peak_memory_mib")]
    ways = Counter(str(cost["memory_how"]) for cost in costs if cost.get("memory_how"))
    chosen = {r.name: dict.fromkeys(r.recorded("note")) for r in run.rows if r.recorded("note")}
    chance: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for row, line in zip(run.rows, run.lines, strict=True):
        if line[f"{metric.name}_mean"] is not None:
            chance[at_chance(line, metric, run.chance)].append(run.short_name(row))
    found = said(
        "notes",
        run=run,
        seeds=[len({record.seed for record in row.trained.values()}) for row in cells],
        examples=max((row.examples for row in run.rows), default=0),
        errors=[error for error in errors if error is not None],
        **_speeds(run),
        held=any(cost.get("held_memory_mib") for cost in costs),
        ways=ways,
        MOST_RANKED=MOST_RANKED,
        EQUAL=EQUAL,
        disordered=_disordered(run),
        chosen=chosen,
        at_chance=(chance[True], chance[None]),
        pretrained=shared_part(last.config, "pretraining"),
        tuned=_tuned(run.rows),
    )
    used = [record for row in run.recorded_rows for record in row.used]
    return [*found, *remarks_of(last.config["data"]), made_on(last, metric), *mixed(used)]


def remarks_of(data: Mapping[str, Any]) -> list[str]:
    """What a data set says of itself. That classes are nearly balanced is no finding."""
    *others, most = sorted(filter(None, data.get("class_counts", []))) or [0]
    balanced = most * len(others) <= UNBALANCED * sum(others)
    return [
        remark
        for remark in data.get("remarks", [])
        if remark and not (balanced and remark.startswith("Unbalanced classes: "))
    ]


def cautions_of(run: RunReport) -> list[str]:
    """Remarks that a conclusion depends on: that much is cut off, that classes are unbalanced.

    There are few, and fewer where the answer begins with how many texts there are.
    """
    data = run.typical.config["data"]
    cut, reading = data.get("cut", {}), f"Reading the data: {data.get('notes', {}).get('reading')}."
    remarks = [remark for remark in remarks_of(data) if remark != reading]
    if any(split["texts"] for split in cut.values()):  # of which the first remark is
        little = cut["test"]["texts"] < MUCH_CUT * data.get("test", 0)
        remarks = remarks[1:] if little else remarks
    return remarks[: CAUTIONS - bool(few_texts(run))]


def _speeds(run: RunReport) -> dict[str, Any]:
    """How the speeds were measured; itself: whether each interval of a check contains 1."""
    speeds, names = run.speeds, run.speeds.measured
    checks = [ratio for phase in PHASES for ratio in speeds.against_itself(phase)]
    return {
        "blocks": [speeds.blocks(name) for name in names],
        "contended": speeds.contended(*names),
        "unreached": sum(not speeds.reached(name) for name in names),
        "itself": [r.low <= 1 <= r.high for r in checks if r.low and r.high],
    }


def _disordered(run: RunReport) -> tuple[str, str] | None:
    """Two rows whose ranks do not follow their means, the one with the better mean first."""
    ranks, better = run.verdicts.ranks(), run.metric.better
    ranked = [row for row in run.verdicts.rows if row.name in ranks]
    ranked.sort(key=lambda row: better(row.mean), reverse=True)
    # The best rank from each row on: where it is no better, none of them is looked at.
    after = [*itertools.accumulate((ranks[row.name] for row in reversed(ranked)), min)][::-1]
    for place, above in enumerate(ranked):
        for below in ranked[place + 1 :] if after[place] < ranks[above.name] else ():
            if ranks[above.name] > ranks[below.name] and better(above.mean) > better(below.mean):
                return run.short_name(above), run.short_name(below)
    return None


def _tuned(rows: Sequence[Row]) -> dict[str, Any]:
    """Which settings were tried, and how; empty: none were."""
    first = next((row for row in rows if row.chosen and row.trials), None)
    if first is None:
        return {}
    config = first.trials[0].config
    tuning = config["tuning"]
    named = [
        f"{name.replace('_', ' ')} of {', '.join(f'{value:g}' for value in values)}"
        for name, values in tuning["values"].items()
    ]
    part = "the validation split"
    if not config["data"].get("validation"):
        part = f"{tuning['share']:.0%} of the training split"
    return {"settings": " and ".join(named), "part": part, "seeds": tuning["seeds"]}


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
    """That the records of a table are of several states of the code, or of several machines.

    Another version of torch or another precision counts as another machine. Another number of
    threads does not: trainings and costs may have different ones.
    """
    done = [record for record in records if record.status == "ok"]
    states = Counter(module for module, _ in {pair for r in done for pair in r.code.items()})
    code = sorted(module for module, count in states.items() if count > 1)
    code += ["an earlier zoo"] * (len({bool(record.code) for record in done}) > 1)
    machines = dict.fromkeys(
        machine_summary({**record.environment, "threads": None, "nice": None}) for record in done
    )
    lines = [f"Made by several states of the code: {', '.join(code)}."] if code else []
    return lines + ([f"Made on several machines: {'; '.join(machines)}."] * (len(machines) > 1))
