"""The profile of a run on several data sets: every row's score on every data set."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, nearest
from zoo.report.rows import varying_axes
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import Effect
from zoo.sweep.complete import read_run
from zoo.sweep.records import FILE


@dataclass(frozen=True)
class Score:
    """The score of a row on a data set.

    mean: over seeds; None where there is none, and status then says why. best: it cannot be
    distinguished from the best of all ranked rows, baselines included; None where it was not
    ranked. solved: in how many of its trainings the task was solved; None where that cannot be
    said. level: where it lies between the chance level (0) and the best possible score (1), or
    between the worst and the best row where these are unknown.
    """

    mean: float | None
    status: str
    best: bool | None
    solved: int | None
    trained: int
    level: float | None

    @property
    def solved_always(self) -> bool:
        """Whether every training solved the task, and there is one."""
        return self.trained > 0 and self.solved == self.trained


@dataclass(frozen=True)
class DataSet:
    """One data set of the run, with its report. directory: relative to the run's."""

    name: str
    directory: str
    run: RunReport

    @property
    def metric(self) -> MetricDescription:
        """The metric that ranks rows."""
        return self.run.metric

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Row name to its score."""
        run, better = self.run, self.metric.better
        means = [line[f"{self.metric.name}_mean"] for line in run.lines]
        ends = [mean for mean in means if mean is not None]
        if run.chance is not None and run.best_possible is not None:
            ends = [run.chance, run.best_possible]
        low, high = min(map(better, ends), default=0.0), max(map(better, ends), default=0.0)
        scores = {}
        for row, line, mean in zip(run.rows, run.lines, means, strict=True):
            # One value for each training; a deterministic fit is one, whatever the seeds.
            values = {row.trained[seed].seed: value for seed, value in row.values.items()}
            level = None
            if mean is not None:
                level = (better(mean) - low) / (high - low) if high > low else 1.0
                level = min(1.0, max(0.0, level))
            scores[row.name] = Score(
                mean,
                line["status"],
                best=None if line["rank"] is None else line["rank"] == 1,
                solved=None if run.goal is None else run.solved(list(values.values())),
                trained=line["seeds"],
                level=level,
            )
        return scores

    @cached_property
    def cells(self) -> dict[str, Score]:
        """The scores of the cells, without baselines."""
        return {row.name: self.scores[row.name] for row in self.run.rows if not row.baseline}

    @property
    def baseline_leads(self) -> bool:
        """Whether the mean of a baseline is as high as that of every cell."""
        scored = {
            n: self.metric.better(s.mean) for n, s in self.scores.items() if s.mean is not None
        }
        cells = [mean for name, mean in scored.items() if name in self.cells]
        baselines = [mean for name, mean in scored.items() if name not in self.cells]
        return bool(cells and baselines) and max(baselines) >= max(cells)


class Profile:
    """Rows × data sets. Cells come first, those that do best over all data sets at the top."""

    def __init__(self, data_sets: Sequence[DataSet]) -> None:
        self.data_sets = data_sets

    @cached_property
    def axes(self) -> list[str]:
        """The axes on which cells differ."""
        return list(varying_axes([row for data in self.data_sets for row in data.run.rows]))

    @cached_property
    def names(self) -> dict[str, str]:
        """Row name to the name that tables print: its choices on the axes that vary."""
        rows = {row.name: row for data in self.data_sets for row in data.run.rows}

        def order(name: str) -> tuple[bool, float]:
            scores = [data.scores[name] for data in self.data_sets if name in data.scores]
            level = statistics.fmean(score.level or 0.0 for score in scores)
            return bool(rows[name].baseline), -level

        return {
            name: rows[name].baseline
            or "+".join(rows[name].cell[axis] for axis in self.axes)
            or name
            for name in sorted(rows, key=order)
        }

    @cached_property
    def effects(self) -> dict[tuple[str, str, str], dict[str, Effect]]:
        """(axis, component, against) to the effect on each data set, by the data set's name."""
        effects: dict[tuple[str, str, str], dict[str, Effect]] = {}
        for data in self.data_sets:
            for effect in data.run.effects.main if data.run.effects else []:
                # Of a task that is solved or not, a mean difference without a verdict misleads.
                if effect.difference and (data.run.verdicts.rows or data.run.goal is None):
                    key = effect.axis, effect.component, effect.against
                    effects.setdefault(key, {})[data.name] = effect
        return effects

    @cached_property
    def table(self) -> pd.DataFrame:
        """The lines as a frame: what ``profile.csv`` holds."""
        return pd.DataFrame(self.lines)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """One line for each row on each data set, as plain values; what is unknown is None."""
        lines: list[dict[str, Any]] = []
        for name, short in self.names.items():
            for data in self.data_sets:
                if (score := data.scores.get(name)) is None:
                    continue
                place, metric = data.run.position[name], data.metric.name
                line = data.run.lines[place]
                lines.append(
                    {"row": short, "name": name, "data": data.name}
                    | {"task": data.run.records[0].task, "metric": metric}
                    | {part: line[f"{metric}_{part}"] for part in ("mean", "low", "high")}
                    | {"seeds": line["seeds"], "status": score.status, "best": score.best}
                    | {"chance": data.run.chance, "goal": data.run.goal, "solved": score.solved}
                    | data.run.rows[place].chosen
                )
        return lines


def read_profile(
    directory: Path, metric: str = "", evaluated: Mapping[Path, RunReport] = {}
) -> Profile | None:
    """The profile of a run on several data sets; None where the directory is not one of these.

    metric: the one that ranks rows, on the data sets that have it; empty for each task's first.
    evaluated: reports that there are already, by the data set's directory; the others are made.
    Raises ZooError where records are damaged, and for a metric that no data set has.
    """
    if (directory / FILE).exists() or not directory.is_dir():
        return None
    places = [file.parent for file in sorted(directory.glob(f"*/{FILE}"))]
    runs = {p: evaluated[p].records if p in evaluated else read_run(p) for p in places}
    if not runs:
        return None
    known = {
        p: {m.name for r in records for m in r.metric_descriptions} for p, records in runs.items()
    }
    if metric and not any(metric in there for there in known.values()):
        every = set().union(*known.values())
        raise ZooError(f"--metric {metric}: no such metric{nearest(metric, every)}")
    places.sort(key=lambda place: runs[place][0].started)  # the order in which they were asked for
    names = [runs[place][0].config["data"]["name"] for place in places]
    data_sets = []
    for name, place in zip(names, places, strict=True):
        report = evaluated.get(place)
        if report is None:
            report = RunReport(runs[place], metric=metric if metric in known[place] else "")
        data_sets.append(
            DataSet(name if names.count(name) == 1 else place.name, place.name, report)
        )
    return Profile(data_sets)


def the_profile(directory: Path, metric: str = "") -> Profile:
    """The profile in a directory; ZooError where there is none."""
    if (profile := read_profile(directory, metric)) is None:
        raise ZooError(f"{directory}: no directories of data sets with {FILE} there")
    return profile
