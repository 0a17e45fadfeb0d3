"""What was run and on what, and what came of it, in a sentence each."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

from zoo.report.tables.report_data import Facts


def run_sentence(facts: Facts) -> str:
    """Cells, data, training and machine in one sentence."""
    config, data = facts.records[-1].config, facts.records[-1].config["data"]
    cells = sum(not row.baseline for row in facts.rows)
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in facts.axes.items())
    what = f"{_count(cells, 'cell')}{f' (of {shape})' if shape else ''}"
    if baselines := len(facts.rows) - cells:
        what += f" and {_count(baselines, 'baseline')}"
    counted = f"{data['train']:,} training and {data['test']:,} test documents"
    seeds = sorted({len(row.trials) for row in facts.rows if row.trials})
    parts = [f"{what} on {data['name']} ({data.get('told') or counted})"]
    if seeds:
        many = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else _count(seeds[0], "seed")
        epochs = config.get("training", {}).get("epochs")
        long = f" for {_count(epochs, 'epoch')}" if epochs else ""
        parts.append(f"trained with {many} each{long}")
    if share := config.get("training", {}).get("validation"):
        parts.append(f"scored on {share:.0%} of the training {facts.score.of}, held out from it")
    if any(row.probe for row in facts.rows):
        parts.append(f"speed and memory measured on {_machine(facts)}")
    return f"{', '.join(parts)}{_when(facts)}."


def _machine(facts: Facts) -> str:
    probes = [record for record in facts.records if record.kind == "probe"]
    machine = probes[-1].environment
    name = machine.get("device_name") or machine.get("device", "a machine")
    threads = f"{_count(machine['threads'], 'thread')}" if machine.get("threads") else ""
    torch = f"torch {machine['torch']}" if machine.get("torch") else ""
    rest = ", ".join(filter(None, [threads, machine.get("precision", ""), torch]))
    return f"{name} ({rest})" if rest else str(name)


def _when(facts: Facts) -> str:
    days = sorted({record.started[:10] for record in facts.records if record.started})
    return "" if not days else f"; {_day(days[0])}{f' to {_day(days[-1])}' if days[1:] else ''}"


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"  # strftime would follow the locale


_MONTHS = (
    "January February March April May June July August September October November December"
).split()


def outcome_sentence(facts: Facts) -> str:
    """The best cell, how many cannot be told apart from it, and the best baseline."""
    mean, label = f"{facts.score.name}_mean", facts.score.label
    scored = [
        (facts.score.better(line[mean]), number)
        for number, line in enumerate(facts.lines)
        if line[mean] is not None
    ]
    cells = [(value, n) for value, n in scored if not facts.rows[n].baseline]
    if not cells:
        return f"No cell has {label} to show."
    best = max(cells, key=lambda pair: (pair[0], -pair[1]))[1]
    said = f"Best {label}: {facts.short(facts.rows[best])} with {facts.shown.iloc[best][label]}"
    ties = Counter(line["rank"] for line in facts.lines)[1] - 1
    if ties > 0:
        said += f"; {_count(ties, 'other')} cannot be told apart from it"
    baselines = [(value, n) for value, n in scored if facts.rows[n].baseline]
    if baselines:
        other = max(baselines, key=lambda pair: (pair[0], -pair[1]))[1]
        name, value = facts.short(facts.rows[other]), facts.shown.iloc[other][label]
        said += f". Without any attention, {name}: {value}"
    return f"{said}."


def _count(number: Any, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
