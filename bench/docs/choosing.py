"""What the published results say, task by task, from records alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.docs.catalog import catalog
from bench.docs.evidence import published_runs
from bench.publish.markdown import link
from bench.publish.questions import solved_by
from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted
from zoo.report.profile import DataSet, Profile
from zoo.report.profile_text import profile_answer
from zoo.report.tables.text import bullets, code, line

RESULTS = "../results"  # from docs/
NAMED = 6  # rows that a sentence names
EFFECTS = 4  # differences that a task shows


def by_task() -> str:
    """A section for each published run on several data sets, and in it one for each of these."""
    parts = []
    for run in published_runs():
        if run.profile is not None:
            title = link(line(run.title), f"{RESULTS}/{run.page}")
            parts += [f"## {title}", line(" ".join(profile_answer(run.profile)))]
            for data in run.profile.data_sets:
                parts += _task(
                    run.profile, data, f"{RESULTS}/{run.place}/{data.directory}/README.md"
                )
    return "\n\n".join(parts)


def on_text() -> str:
    """What each published run on one data set answers."""
    parts = []
    for run in published_runs():
        if run.report is not None:
            title = link(line(run.title), f"{RESULTS}/{run.page}")
            made_on = run.report.notes[-1]
            parts += [f"### {title}", line(" ".join(run.report.answer)), line(made_on)]
    return "\n\n".join(parts)


def _task(profile: Profile, data: DataSet, page: str) -> list[str]:
    scored = {
        name: score for name in profile.names if (score := data.scores.get(name)) and score.mean
    }
    better = data.metric.better
    ordered = sorted(scored, key=lambda name: -better(scored[name].mean or 0.0))
    best = [name for name in ordered if scored[name].best]
    worse = [name for name in ordered if scored[name].best is False]
    said = []
    if data.run.goal is not None:
        rows = {row.name: row for row in data.run.rows}
        values = {profile.names[name]: data.values(rows[name]) for name in ordered}
        leads = ("Solved with every seed", "Solved with some seeds", "Solved with no seed")
        groups = zip(leads, solved_by(data.run, values), strict=True)
        said += [
            f"{lead}: {', '.join(names[:NAMED])}{_more(names)}." for lead, names in groups if names
        ]
    if best and not worse:
        said.append("No row is distinguished from the best one.")
    elif best:
        said.append(f"Best, or not distinguished from it: {_rows(profile, data, best)}.")
        said.append(f"Worse: {_rows(profile, data, worse)}.")
    elif data.run.goal is None:
        said.append(f"Too few seeds to rank rows: {_rows(profile, data, ordered)}.")
    said += [f"{text}." for text in _effects(profile, data)]
    if (gap := data.run.verdicts.visible()) is not None:
        metric, seen = data.metric, data.metric.format_size(gap)
        if gap > _range(metric):
            said.append("Seeds differ so much that no difference shows in 4 of 5 such runs.")
        else:
            said.append(f"A difference of {seen} would have shown in 4 of 5 such runs.")
    title = link(line(data.name), page)
    return [f"### {title}: {data.metric.label}", line_of(data), bullets(said)]


def _range(metric: MetricDescription) -> float:
    """The largest difference that two scores may have."""
    if metric.lowest is None or metric.highest is None:
        return math.inf
    return metric.highest - metric.lowest


def line_of(data: DataSet) -> str:
    """What a task is, by its registration; empty for data that are not built in."""
    try:
        component = catalog().choose("data", data.name).component
    except ZooError:
        return ""
    return f"{code(component.name)}: {line(component.summary)}."


def _rows(profile: Profile, data: DataSet, names: Sequence[str]) -> str:
    shown = [
        f"{code(profile.names[name])} {data.metric.format(data.scores[name].mean or 0.0)}"
        for name in names[:NAMED]
    ]
    return ", ".join(shown) + _more(names)


def _more(names: Sequence[str]) -> str:
    left = len(names) - NAMED
    return f" and {counted(left, 'more row')}" if left > 0 else ""


def _effects(profile: Profile, data: DataSet) -> list[str]:
    """The largest differences that are real, as sentences without their full stop."""
    found = []
    for (_, component, against), effects in profile.effects.items():
        effect = effects.get(data.name)
        if effect is None or (difference := effect.difference) is None or not difference.real:
            continue
        gain = data.metric.better(difference.mean) > 0
        names = (component, against) if gain else (against, component)
        size = data.metric.format_size(difference.mean, difference.half)
        text = f"{code(names[0])} is better than {code(names[1])} by {size}"
        found.append((abs(difference.mean), text))
    return [text for _, text in sorted(found, key=lambda one: -one[0])[:EFFECTS]]
