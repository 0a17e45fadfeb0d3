"""The profile of a run on several data sets: what every row learns, or scores, on each of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.row_names import find_cell
from zoo.errors import ZooError, counted, listed
from zoo.report.rows import varying_axes
from zoo.report.run_report import RunReport
from zoo.report.tables.learned import CELL, FAMILY, standings_of
from zoo.report.tables.notes import elsewhere, mixed
from zoo.report.tables.text import plain, tabulated
from zoo.sweep.records import directories_of, directory_names, read_run

NAMED = 4  # rows or data sets that a sentence names
CONTROLS = ("positive", "negative")
MARKS = (
    "+: a control that solves it with every seed, if all is well; -: one that cannot, whatever it "
    "learns."
)
# The columns of a streamed diagnostic's own table that profile.csv has too.
LEARNED = ("solved", "runs", "low", "high", "median_examples", "window", "best_lr", "solved_at")
Line = dict[str, Any]  # what is known of a row on a data set, by the columns of profile.csv


@dataclass(frozen=True)
class DataSetReport:
    """One data set of the run, with its report. directory: relative to the run's."""

    name: str
    directory: str
    run: RunReport

    @cached_property
    def scores(self) -> dict[str, Line]:
        """Row name to its line; what is unknown is None.

        best: whether the row cannot be distinguished from the best of all ranked rows, baselines
        included. level: from 0 to 1, for colours.
        """
        run, scores = self.run, {}
        for row, line in zip(run.rows, run.lines, strict=True):
            rank = line["rank"]
            about: Line = {"name": row.name, "baseline": row.baseline, "data": self.name}
            about |= {"task": run.records[0].task, "metric": self.run.metric.name}
            about |= {"status": line["status"], "best": None if rank is None else rank == 1}
            own = self._learned(row.name, line) if run.learning else self._scored(line)
            scores[row.name] = {**about, "chance": run.chance, **own, **row.chosen}
        return scores

    def _scored(self, line: Line) -> Line:
        """The mean over seeds with its interval.

        level: where the mean lies between chance and the best possible score, or between the worst
        and the best row where these are unknown.
        """
        metric, key, better = self.run.metric, self.run.metric.name, self.run.metric.better
        ends = [self.run.chance, metric.highest if metric.higher_is_better else metric.lowest]
        if None in ends:
            ends = [of_row[f"{key}_mean"] for of_row in self.run.lines]
        levels, level = [better(end) for end in ends if end is not None], None
        if (mean := line[f"{key}_mean"]) is not None:
            level = round(float(np.interp(better(mean), (min(levels), max(levels)), (0, 1))), 4)
        parts = {part: line[f"{key}_{part}"] for part in ("mean", "low", "high")}
        return {**parts, "seeds": line["seeds"], "level": level}

    def _learned(self, name: str, line: Line) -> Line:
        """What a row learns of a streamed diagnostic.

        versus_reference: 1 where it learns significantly faster than the row of reference, -1
        slower, 0 where the two are not told apart. level: 0 where it never solves; in every seed,
        from 0.5 at the budget to 1 as fast as the fastest row.
        """
        run = self.run
        own = {name: line[name] for name in LEARNED} | {"score": line[f"{run.metric.name}_median"]}
        control = next((kind for kind in CONTROLS if self.control(kind) == name), "")
        own |= {"control": control, "versus_reference": run.verdicts.verdict(name, run.reference)}
        if not (learning := run.learning.get(name)):
            return {**own, "level": None}
        limit, fastest = math.log(learning.budget), min(of.order[0] for of in run.learning.values())
        speed = (limit - learning.order[0]) / (limit - fastest) if fastest < limit else 0.0
        share = learning.times_solved / learning.runs
        return {**own, "level": round(share * (1 + speed) / 2, 4)}

    def control(self, kind: str) -> str:
        """The name of the row that is a control of the data set; empty where it is not here."""
        wanted = self.run.typical.config["data"].get(kind)
        cells = {row.name: row.cell for row in self.run.rows if row.cell}
        try:
            return find_cell(cells, wanted, kind) if wanted and cells else ""
        except ZooError:
            return ""

    @property
    def failed_controls(self) -> list[str]:
        """The controls that are not what they should be, in words."""
        must, cannot = (self.run.learning.get(self.control(kind)) for kind in CONTROLS)
        names = {row.name: self.run.short_name(row) for row in self.run.rows}
        failed = []
        if must and must.times_solved < must.runs:
            failed.append(f"{names[must.name]} does not always solve {self.name}")
        if cannot and cannot.solved.any():
            failed.append(f"{names[cannot.name]} solves {self.name}")
        return failed

    def text(self, row: str) -> str:
        """``6/6 · 12k · 3 rates``, or a score with its mark; without one, why there is none.

        + and -: the row is the positive or the negative control of the data set.
        """
        if not (line := self.scores.get(row)):
            return ""
        if learning := self.run.learning.get(row):
            return learning.text() + {"positive": " +", "negative": " -"}.get(line["control"], "")
        score = line.get("mean", line.get("score"))
        if score is None:
            return str(line["status"])
        return f"{self.run.metric.format(score)}{' =' if line['best'] and 'mean' in line else ''}"


class Profile:
    """Rows × data sets. Cells come first, those that do best over all data sets at the top.

    Of streamed diagnostics the row of reference, plain attention, is the first, and the run's own
    rows are before those from elsewhere. axes: those on which cells differ. own: the names of its
    rows where there are others. names: row name to the name that tables print, its choices on
    these axes.
    """

    def __init__(self, data_sets: Sequence[DataSetReport]) -> None:
        self.data_sets = data_sets
        rows = {row.name: row for data in data_sets for row in data.run.rows}
        self.axes = list(varying_axes([row for data in data_sets for row in data.run.rows]))
        self.streamed = [data for data in data_sets if data.run.learning]
        self.reference = self.streamed[0].run.reference if self.streamed else ""
        self.own = {r.name for data in data_sets if data.run.others for r in data.run.own}

        def order(name: str) -> tuple[bool, bool, bool, float]:
            lines = [data.scores[name] for data in data_sets if name in data.scores]
            levels = statistics.fmean(line["level"] or 0 for line in lines)
            known = name != self.reference, name not in self.own
            return bool(rows[name].baseline), *known, -levels

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

    def label(self, name: str) -> str:
        """The printed name of a row, which says whether it is the run's own beside others."""
        return f"{self.names[name]}{' (yours)' if name in self.own else ''}"

    @property
    def heads(self) -> list[str]:
        """The columns of ``texts``."""
        return ["row", *(data.name for data in self.data_sets)]

    @cached_property
    def texts(self) -> list[list[str]]:
        """Rows × data sets; in the last lines the score of no skill, and that of a solved task."""
        texts = [
            [plain(self.label(name), 40), *(data.text(name) for data in self.data_sets)]
            for name in self.names
        ]
        chances = [data.run.chance_text for data in self.data_sets]
        if any(chances):
            texts.append(["(no skill)" if self.streamed else "(chance)", *chances])
        if self.streamed:
            goals = [(data.run.metric, data.run.solved_at) for data in self.data_sets]
            texts.append(["(solved at)", *("" if g is None else m.format(g) for m, g in goals)])
        return texts

    def text(self, style: str = "simple", width: int | None = None) -> str:
        """The same in a style of tabulate's, with every column whatever the width."""
        return tabulated(self.texts, self.heads, style)

    @cached_property
    def answer(self) -> list[str]:
        """Sentences for a reader who wants to choose.

        Of streamed diagnostics what the row of reference learns, and what is faster or slower; of
        each other data set what its own report says first.
        """
        answer = standings_of([data.run for data in self.data_sets], self.names)
        answer += self._learned() if self.streamed else []
        scored = [data for data in self.data_sets if not data.run.learning and data.run.answer]
        answer += [f"{data.name}: {data.run.answer[0]}" for data in scored[:NAMED]]
        if scored[NAMED:]:
            answer.append(
                f"The reports of {counted(len(scored) - NAMED, 'more data set')} say more."
            )
        return answer

    def _learned(self) -> list[str]:
        """What the row of reference learns, and which rows are faster and slower than it."""
        total = counted(len(self.streamed), "skill")
        own = {data.name: data.run.learning.get(self.reference) for data in self.streamed}
        every = [name for name, of in own.items() if of and of.times_solved == of.runs]
        never = [name for name, of in own.items() if of and not of.solved.any()]
        rest = f", and never {listed(never, NAMED)}" if never else ""
        name = self.names[self.reference]
        answer = [f"{name} learns {len(every)} of {total} with every seed{rest}."]
        parts = []
        for verdict, word in ((1, "faster"), (-1, "slower, or not at all")):
            where: dict[str, list[str]] = {}
            for line in self.lines:
                if line.get("versus_reference") == verdict:
                    where.setdefault(line["row"], []).append(line["data"])
            rows = [
                f"{row} ({listed(skills, 2) if verdict > 0 else len(skills)})"
                for row, skills in sorted(where.items(), key=lambda item: -len(item[1]))
            ]
            parts += [f"{word}: {listed(rows, NAMED)}"] if rows else []
        answer.append(f"Told apart from it on single skills: {'; '.join(parts) or 'no row'}.")
        if failed := [words for data in self.streamed for words in data.failed_controls]:
            answer.append(f"Controls that are not what they should be: {listed(failed, NAMED)}.")
        return answer

    @cached_property
    def notes(self) -> list[str]:
        """What the columns hold, what the marks mean, and what was made where."""
        names: dict[str, list[str]] = {}
        scored = [data for data in self.data_sets if not data.run.learning]
        for data in scored:
            lower = "" if data.run.metric.higher_is_better else " (lower is better)"
            names.setdefault(f"{data.run.metric.label}{lower}", []).append(data.name)
        parts = [f"{label}: {', '.join(of)}" for label, of in names.items()]
        notes = [f"Mean over seeds of {'; '.join(parts)}."] if parts else []
        if self.streamed:
            notes.append(CELL)
            if any(line["control"] for data in self.streamed for line in data.scores.values()):
                notes.append(MARKS)
            notes.append(f"Faster and slower: the exchange test on each data set. {FAMILY}")
        if any(line["best"] for data in scored for line in data.scores.values()):
            notes.append("=: no row (cell or baseline) is significantly better on this data.")
        for data in self.data_sets:
            notes += [f"{data.name}: {line}" for line in data.run.standings]
        runs = [data.run for data in self.data_sets]
        notes += filter(None, [elsewhere(runs, self.names)])
        rows = (row for data in self.data_sets for row in data.run.recorded_rows)
        return notes + mixed((), [record for row in rows for record in row.used])


def read_profile(
    directory: Path, metric: str = "", evaluated: Mapping[Path, RunReport] = {}
) -> Profile | None:
    """The profile of a run on several data sets; None where the directory is not one of these.

    metric: the one that ranks rows, which all must have; empty for each task's first. evaluated:
    reports that there are already, by the data set's directory; the others are made. Raises
    ZooError where records are damaged, for a metric that a data set lacks, and for a folder of
    several runs.
    """
    if directories_of(directory, "") or not directory.is_dir():
        return None
    places = directories_of(directory, "*/")
    runs = {p: evaluated[p].own if p in evaluated else read_run(p) for p in places}
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
    data_sets = []
    for name, place in zip(names, places, strict=True):
        report = evaluated.get(place) or RunReport(runs[place], metric=metric)
        unique = name if names.count(name) == 1 else place.name
        data_sets.append(DataSetReport(unique, place.name, report))
    return Profile(data_sets)
