"""What was run, on what, and with what result: one sentence each."""

from __future__ import annotations

from datetime import date

from zoo.report.run_report import RunReport
from zoo.report.tables.notes import held_out, machine_summary
from zoo.report.tables.text import counted, from_to


def run_sentence(run: RunReport) -> str:
    """Cells, data, training and machine in one sentence."""
    config = run.records[-1].config
    data, training = config["data"], config.get("training", {})
    cells = sum(not row.baseline for row in run.rows)
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in run.axes.items())
    what = f"{counted(cells, 'cell')}{f' (of {shape})' if shape else ''}"
    if baselines := len(run.rows) - cells:
        what += f" and {counted(baselines, 'baseline')}"
    about = str(data.get("summary", "")).rstrip(".")
    if not about and "train" in data and "test" in data:
        about = f"{data['train']:,} training and {data['test']:,} test {run.metric.scored}"
    parts = [f"{what} on {data['name']}{f' ({about})' if about else ''}"]
    if seeds := sorted({len(row.trained) for row in run.rows if row.trained}):
        number = from_to(seeds[0], seeds[-1])
        epochs = counted(training["epochs"], "epoch") if training.get("epochs") else ""
        plural = "" if number == "1" else "s"
        parts.append(f"trained with {number} seed{plural} each{f' for {epochs}' if epochs else ''}")
    if held := held_out(training, run.metric):
        parts.append(held.removeprefix("; "))
    if measured := [record for record in run.records if record.kind == "cost"]:
        parts.append(f"speed and memory measured on {machine_summary(measured[-1].environment)}")
    days = sorted({record.started[:10] for record in run.records if record.started})
    when = f"; {' to '.join(dict.fromkeys(map(_day, (days[0], days[-1]))))}" if days else ""
    return f"{', '.join(parts)}{when}."


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"  # strftime would follow the locale


_MONTHS = (
    "January February March April May June July August September October November December"
).split()


def outcome_sentence(run: RunReport) -> str:
    """The best cell, how many rows tie with it, and the best baseline."""
    mean, label = f"{run.metric.name}_mean", run.metric.label
    scored = [n for n, line in enumerate(run.lines) if line[mean] is not None]
    # Of two equal ones, the first in the table.
    scored.sort(key=lambda number: -run.metric.better(run.lines[number][mean]))
    cells = [number for number in scored if not run.rows[number].baseline]
    if not cells:
        return f"No cell has a value of {label}."
    best = cells[0]
    text = f"Best {label}: {run.short_name(run.rows[best])} with {run.shown.iloc[best][label]}"
    if (ties := sum(line["rank"] == 1 for line in run.lines) - 1) > 0:
        text += f"; {counted(ties, 'other')} cannot be distinguished from it"
    for number in [number for number in scored if run.rows[number].baseline][:1]:
        name, value = run.short_name(run.rows[number]), run.shown.iloc[number][label]
        text += f". Best baseline: {name} with {value}"
    return f"{text}."
