"""The profile of a run on several data sets: every row's score on every data set."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted, listed, nearest
from zoo.report.rows import varying_axes
from zoo.report.run_report import RunReport
from zoo.report.tables.notes import mixed
from zoo.report.tables.text import plain, tabulated
from zoo.sweep.records import FILE, directory_names, read_run

NAMED = 4  # rows or data sets that a sentence names
Line = dict[str, Any]  # what is known of a row on a data set, by the columns of profile.csv


@dataclass(frozen=True)
class DataSetReport:
    """One data set of the run, with its report. directory: relative to the run's."""

    name: str
    directory: str
    run: RunReport

    @property
    def metric(self) -> MetricDescription:
        """The metric that ranks rows."""
        return self.run.metric

    @cached_property
    def scores(self) -> dict[str, Line]:
        """Row name to its line; what is unknown is None.

        mean, low, high: over seeds. best: whether the row cannot be distinguished from the best of
        all ranked rows, baselines included. solved: in how many of its trainings the task was
        solved. level: where the mean lies between chance (0) and the best possible score (1), or
        between the worst and the best row where these are unknown.
        """
        run, metric, better = self.run, self.metric, self.metric.better
        ends = [run.chance, run.best_possible]
        if None in ends:
            ends = [line[f"{metric.name}_mean"] for line in run.lines]
        levels = [better(end) for end in ends if end is not None]
        scores = {}
        for row, line in zip(run.rows, run.lines, strict=True):
            mean, rank = line[f"{metric.name}_mean"], line["rank"]
            # One value for each training; a deterministic fit is one, whatever the seeds.
            values = {row.trained[seed].seed: value for seed, value in row.values.items()}
            level = None
            if mean is not None:
                level = float(np.interp(better(mean), (min(levels), max(levels)), (0, 1)))
            scores[row.name] = {
                "name": row.name,
                "baseline": row.baseline,
                "data": self.name,
                "task": run.records[0].task,
                "metric": metric.name,
                **{part: line[f"{metric.name}_{part}"] for part in ("mean", "low", "high")},
                "seeds": line["seeds"],
                "status": line["status"],
                "best": None if rank is None else rank == 1,
                "chance": run.chance,
                "goal": run.goal,
                "solved": None if run.goal is None else run.solved(list(values.values())),
                "level": None if level is None else round(level, 4),
                **row.chosen,
            }
        return scores

    @property
    def cells(self) -> list[Line]:
        """The lines of the cells, without baselines."""
        return [line for line in self.scores.values() if not line["baseline"]]

    def text(self, row: str) -> str:
        """``2/3 solved · .79``, or a score with its mark; without one, why there is none."""
        if not (line := self.scores.get(row)):
            return ""
        if line["mean"] is None:
            return str(line["status"])
        if line["solved"] is not None:
            mean = f"{line['mean']:.2f}".replace("1.00", "1.0").removeprefix("0")
            return f"{line['solved']}/{line['seeds']} solved · {mean}"
        return f"{self.metric.format(line['mean'])}{' =' if line['best'] else ''}"

    @property
    def baseline_leads(self) -> bool:
        """Whether the mean of a baseline is as high as that of every cell."""
        cells, baselines = (self.run.by_score(baseline=baseline) for baseline in (False, True))
        if not cells or not baselines:
            return False
        return self.metric.better(baselines[0].mean) >= self.metric.better(cells[0].mean)


class Profile:
    """Rows × data sets. Cells come first, those that do best over all data sets at the top.

    axes: those on which cells differ. names: row name to the name that tables print, its choices on
    these axes.
    """

    def __init__(self, data_sets: Sequence[DataSetReport]) -> None:
        self.data_sets = data_sets
        rows = {row.name: row for data in data_sets for row in data.run.rows}
        self.axes = list(varying_axes([row for data in data_sets for row in data.run.rows]))

        def order(name: str) -> tuple[bool, float]:
            lines = [data.scores[name] for data in data_sets if name in data.scores]
            return bool(rows[name].baseline), -statistics.fmean(
                line["level"] or 0 for line in lines
            )

        self.names = {
            name: rows[name].baseline
            or "+".join(rows[name].cell[axis] for axis in self.axes)
            or name
            for name in sorted(rows, key=order)
        }

    @cached_property
    def lines(self) -> list[Line]:
        """One line for each row on each data set."""
        return [
            {"row": short, **data.scores[name]}
            for name, short in self.names.items()
            for data in self.data_sets
            if name in data.scores
        ]

    @property
    def heads(self) -> list[str]:
        """The columns of ``texts``."""
        return ["row", *(data.name for data in self.data_sets)]

    @cached_property
    def texts(self) -> list[list[str]]:
        """Rows × data sets, with the chance level in the last line."""
        texts = [
            [plain(short, 40), *(data.text(name) for data in self.data_sets)]
            for name, short in self.names.items()
        ]
        chances = [data.run.chance for data in self.data_sets]
        if any(chance is not None for chance in chances):
            levels = zip(self.data_sets, chances, strict=True)
            texts.append(
                ["(chance)", *("" if c is None else d.metric.format(c) for d, c in levels)]
            )
        return texts

    def text(self, style: str = "simple", width: int | None = None) -> str:
        """The same in a style of tabulate's, with every column whatever the width."""
        return tabulated(self.texts, self.heads, style)

    @cached_property
    def answer(self) -> list[str]:
        """Sentences for a reader who wants to choose.

        Which cells solve most data sets, where rows differ, which is best most often, and where
        baselines lead.
        """
        data_sets, answer = self.data_sets, []
        if solvable := [data for data in data_sets if data.run.goal is not None]:
            total = counted(len(solvable), "data set")
            names, count = self._most_often(
                solvable, lambda line: line["seeds"] > 0 and line["solved"] == line["seeds"]
            )
            answer.append(
                f"Most data sets solved with every seed: {listed(names, NAMED)} "
                f"({count} of {total})."
                if names
                else f"No cell solves any of the {total} with every seed."
            )
            never = [d.name for d in solvable if not any(line["solved"] for line in d.cells)]
            if never:
                answer.append(f"No cell solves {listed(never, NAMED)} with any seed.")
        ranked = [d for d in data_sets if any(line["best"] for line in d.scores.values())]
        apart = [d for d in ranked if any(line["best"] is False for line in d.cells)]
        if not ranked:
            enough = max(data.run.verdicts.enough for data in data_sets)
            answer.append(
                f"Too few seeds to say which rows differ: at least {enough} are needed "
                f"(--seeds {enough})."
            )
        elif not apart:
            answer.append(f"On none of the {len(ranked)} data sets can the cells be distinguished.")
        else:
            names, count = self._most_often(apart, lambda line: bool(line["best"]))
            answer += [
                f"Cells differ on {len(apart)} of {counted(len(ranked), 'data set')}: "
                f"{listed([data.name for data in apart], NAMED)}.",
                f"Most often the best there, or tied with it: {listed(names, NAMED)} (on {count}).",
            ]
        if ahead := [data.name for data in data_sets if data.baseline_leads]:
            answer.append(f"A baseline scores as high as every cell on {listed(ahead, NAMED)}.")
        return answer

    def _most_often(
        self, data_sets: Sequence[DataSetReport], holds: Callable[[Line], bool]
    ) -> tuple[list[str], int]:
        """The cells for which it holds on most data sets, and on how many; none for none."""
        counts = {
            short: sum(holds(line) for d in data_sets for line in d.cells if line["name"] == name)
            for name, short in self.names.items()
        }
        most = max(counts.values(), default=0)
        return [short for short, count in counts.items() if most and count == most], most

    @cached_property
    def notes(self) -> list[str]:
        """What the columns hold, what the marks mean, and which differences could have shown."""
        names: dict[str, list[str]] = {}
        for data in self.data_sets:
            lower = "" if data.metric.higher_is_better else " (lower is better)"
            names.setdefault(f"{data.metric.label}{lower}", []).append(data.name)
        parts = [f"{label}: {', '.join(of)}" for label, of in names.items()]
        notes = [f"Mean over seeds of {'; '.join(parts)}."]
        if any(data.run.goal is not None for data in self.data_sets):
            notes.append(
                "solved: in how many seeds the score is nine tenths of the way from chance to the "
                "best possible one, or further; then the mean score of all."
            )
        unsolved = (data for data in self.data_sets if data.run.goal is None)
        if any(line["best"] for data in unsolved for line in data.scores.values()):
            notes.append("=: no row (cell or baseline) is significantly better on this data.")
        gaps = [(data, data.run.verdicts.visible()) for data in self.data_sets]
        known = [f"{d.metric.format_size(gap)} on {d.name}" for d, gap in gaps if gap is not None]
        if known:
            notes.append(
                "Smallest differences between two rows that would have shown in 4 of 5 such runs: "
                f"{listed(known, NAMED)}."
            )
        rows = (row for data in self.data_sets for row in data.run.recorded_rows)
        return notes + mixed((), [record for row in rows for record in row.used])


def read_profile(
    directory: Path, metric: str = "", evaluated: Mapping[Path, RunReport] = {}
) -> Profile | None:
    """The profile of a run on several data sets; None where the directory is not one of these.

    metric: the one that ranks rows, on the data sets that have it; empty for each task's first.
    evaluated: reports that there are already, by the data set's directory; the others are made.
    Raises ZooError where records are damaged, for a metric that no data set has, and for a folder
    of several runs.
    """
    if (directory / FILE).exists() or not directory.is_dir():
        return None
    places = [file.parent for file in sorted(directory.glob(f"*/{FILE}"))]
    runs = {p: evaluated[p].records if p in evaluated else read_run(p) for p in places}
    if not runs:
        return None
    # In the order in which they were asked for.
    places.sort(key=lambda place: min(record.started for record in runs[place]))
    names = [runs[place][0].config["data"]["name"] for place in places]
    if {place.name for place in places} != set(directory_names(names)):
        raise ZooError(
            f"{directory} is no run on several data sets, which has a directory named after each: "
            f"it holds {counted(len(places), 'run')}; name one or more, such as {places[0]}"
        )
    known = {
        p: {m.name for r in records for m in r.metric_descriptions} for p, records in runs.items()
    }
    if metric and not any(metric in there for there in known.values()):
        every = set().union(*known.values())
        raise ZooError(f"--metric {metric}: no such metric{nearest(metric, every)}")
    data_sets = []
    for name, place in zip(names, places, strict=True):
        report = evaluated.get(place)
        if report is None:
            report = RunReport(runs[place], metric=metric if metric in known[place] else "")
        unique = name if names.count(name) == 1 else place.name
        data_sets.append(DataSetReport(unique, place.name, report))
    return Profile(data_sets)
