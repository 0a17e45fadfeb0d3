"""The profile of a run on several data sets: every row's score on every data set."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, nearest
from zoo.report.read import read_run
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import Effect
from zoo.report.tables.chance import at_chance
from zoo.sweep.records import FILE, Record


@dataclass(frozen=True)
class Score:
    """The score of a row on a data set.

    mean: over seeds; None where there is none, and status then says why. best: it cannot be
    distinguished from the best of all ranked rows, of which baselines are some; None where it was
    not ranked. at_chance: its interval reaches down to the chance level; None where that cannot be
    said (``tables.chance``). level: where it lies between the chance level (0) and the best
    possible score (1), or between the worst and the best row where these are unknown.
    """

    mean: float | None
    low: float | None
    high: float | None
    seeds: int
    status: str
    best: bool | None
    at_chance: bool | None
    level: float | None
    chosen: Mapping[str, float]


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

    @property
    def chance(self) -> float | None:
        """The score of guessing; None where the data set does not know it."""
        return self.run.chance

    @property
    def absolute_levels(self) -> bool:
        """Whether levels lie between chance and the best possible score, or else between rows."""
        return self.chance is not None and self._best_possible is not None

    @property
    def _best_possible(self) -> float | None:
        return self.metric.highest if self.metric.higher_is_better else self.metric.lowest

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Row name to its score."""
        lines, metric = self.run.lines, self.metric
        means = [line[f"{metric.name}_mean"] for line in lines]
        known = [metric.direction * mean for mean in means if mean is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        limit = self._best_possible
        if self.chance is not None and limit is not None:
            low, high = metric.direction * self.chance, metric.direction * limit
        found = {}
        for row, line, mean in zip(self.run.rows, lines, means, strict=True):
            level = None
            if mean is not None:
                share = (metric.direction * mean - low) / (high - low) if high > low else 1.0
                level = min(1.0, max(0.0, share))
            ranked = line["rank"] is not None
            found[row.name] = Score(
                mean=mean,
                low=line[f"{metric.name}_low"],
                high=line[f"{metric.name}_high"],
                seeds=line["seeds"],
                status=line["status"],
                best=line["rank"] == 1 if ranked else None,
                at_chance=at_chance(line, metric, self.chance),
                level=level,
                chosen=row.chosen,
            )
        return found


class Profile:
    """Rows × data sets. Cells come first, those that do best over all data sets at the top."""

    def __init__(self, data_sets: Sequence[DataSet]) -> None:
        self.data_sets = data_sets

    @cached_property
    def names(self) -> dict[str, str]:
        """Row name to the name that tables print: its choices on the axes that vary."""
        rows = [row for data in self.data_sets for row in data.run.rows]
        cells = [row.cell for row in rows if not row.baseline]
        axes = [axis for axis in (cells or [{}])[0] if len({cell[axis] for cell in cells}) > 1]
        short = {
            row.name: row.baseline or "+".join(row.cell[axis] for axis in axes) or row.name
            for row in rows
        }
        baselines = {row.name for row in rows if row.baseline}
        order = sorted(short, key=lambda name: (name in baselines, -self._mean_level(name)))
        return {name: short[name] for name in order}

    def score(self, row: str, data: DataSet) -> Score | None:
        """The score of a row on a data set; None where it was not asked for there."""
        return data.scores.get(row)

    def _mean_level(self, row: str) -> float:
        levels = [s.level for data in self.data_sets if (s := self.score(row, data))]
        return statistics.fmean([level or 0.0 for level in levels]) if levels else 0.0

    def equal_rows(self) -> list[list[str]]:
        """Groups of rows, by name, with the same score and errors on every data set.

        errors: the wrong examples or, where records do not list them, how often which label was
        taken for which. Rows without errors anywhere are in no group: many models are perfect.
        """
        groups: dict[str, list[str]] = {}
        for name in self.names:
            found = [
                (data.name, seed, row.values.get(seed), _errors(record))
                for data in self.data_sets
                for row in data.run.rows
                if row.name == name
                for seed, record in sorted(row.trained.items())
            ]
            if any(errors for *_, errors in found):
                groups.setdefault(repr(found), []).append(name)
        return [names for names in groups.values() if len(names) > 1]

    @cached_property
    def effects(self) -> dict[tuple[str, str, str], dict[str, Effect]]:
        """(axis, component, against) to the effect on each data set, by the data set's name."""
        found: dict[tuple[str, str, str], dict[str, Effect]] = {}
        for data in self.data_sets:
            for effect in data.run.effects.main if data.run.effects else []:
                if effect.difference is not None:
                    key = effect.axis, effect.component, effect.against
                    found.setdefault(key, {})[data.name] = effect
        return found

    @cached_property
    def table(self) -> pd.DataFrame:
        """One line for each row on each data set, as in ``profile.csv``."""
        lines = []
        for name, short in self.names.items():
            for data in self.data_sets:
                if (score := self.score(name, data)) is None:
                    continue
                lines.append(
                    {
                        "row": short,
                        "name": name,
                        "data": data.name,
                        "task": data.run.records[0].task,
                        "metric": data.metric.name,
                        "mean": score.mean,
                        "low": score.low,
                        "high": score.high,
                        "seeds": score.seeds,
                        "status": score.status,
                        "best": score.best,
                        "chance": data.chance,
                        "at_chance": score.at_chance,
                        **score.chosen,
                    }
                )
        return pd.DataFrame(lines)


def _errors(record: Record) -> list[Any]:
    """The wrong examples, or the confusions with their counts; empty where nothing is wrong."""
    listed: list[Any] | None = record.metrics.get("errors")
    if listed is not None:
        return listed
    matrix = np.asarray(record.metrics.get("confusion", []))
    places = [place for place in zip(*matrix.nonzero(), strict=True) if len(set(place)) > 1]
    return [(*map(int, place), int(matrix[place])) for place in places]


def read_profile(directory: Path, metric: str = "") -> Profile | None:
    """The profile of a run on several data sets; None where the directory is not one of these.

    metric: the one that ranks rows, on the data sets that have it; empty for each task's first.
    Raises ZooError where records are damaged, and for a metric that no data set has.
    """
    if (directory / FILE).exists() or not directory.is_dir():
        return None
    runs = [(file.parent, read_run(file.parent)) for file in sorted(directory.glob(f"*/{FILE}"))]
    if not runs:
        return None
    runs.sort(key=lambda run: run[1][0].started)  # the order in which they were asked for
    names = [records[0].config["data"]["name"] for _, records in runs]
    known = [{m.name for r in records for m in r.metric_descriptions} for _, records in runs]
    if metric and not any(metric in there for there in known):
        raise ZooError(f"--metric {metric}: no such metric{nearest(metric, set().union(*known))}")
    return Profile(
        [
            DataSet(
                name if names.count(name) == 1 else place.name,
                place.name,
                RunReport(records, metric=metric if metric in there else ""),
            )
            for name, (place, records), there in zip(names, runs, known, strict=True)
        ]
    )


def the_profile(directory: Path, metric: str = "") -> Profile:
    """The profile in a directory; ZooError where there is none."""
    if (profile := read_profile(directory, metric)) is None:
        raise ZooError(f"{directory}: no directories of data sets with {FILE} there")
    return profile
