"""All rows of a request, each marked *run* or *skipped: reason*, and the trainings they come to."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Design, Request
from zoo.config.row_names import find_cell
from zoo.config.settings import HELD_OUT, Training
from zoo.errors import ZooError, counted
from zoo.registry import AXES, Choice, Registry
from zoo.registry.cell import Cell, ModelParts, model_name
from zoo.sweep.records import Record
from zoo.tasks.base import Task, find_task, refuse_data

GROUP_SIZE = 6  # models measured in turns besides the reference
MOST_CELLS = 20_000  # all parts crossed are billions, which no memory holds
Layers = tuple[Choice, ...]  # those of one axis, which take turns


@dataclass(frozen=True)
class PlanRow:
    """One row of the table to be: a cell or a baseline.

    skip_reason: why it cannot run; empty where it can. trainable: it is trained in steps: its
    settings can be chosen, and its costs measured; a baseline that fits itself has none of these.
    condition: of the data, without which there is no such row (``Task.baseline_rows``); empty:
    always. bidirectional: it is an encoder that runs an attention that is causal by nature both
    ways.
    """

    cell: Cell | None = None
    baseline: Choice | None = None
    skip_reason: str = ""
    trainable: bool = True
    condition: str = ""
    bidirectional: bool = False

    @cached_property
    def model(self) -> ModelParts:
        """Its parts in plain values, for jobs."""
        if self.cell is not None:
            return self.cell.parts
        return {} if self.baseline is None else {"baseline": (self.baseline.spec,)}

    @cached_property
    def name(self) -> str:
        """The row's name."""
        return model_name(self.model)

    @property
    def cell_names(self) -> dict[str, str]:
        """Axis to its parts as text, for records; empty for a baseline."""
        return {} if self.cell is None else self.cell.names

    @property
    def baseline_name(self) -> str:
        """The baseline as text, for records; empty for a cell."""
        return "" if self.baseline is None else str(self.baseline)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The components that it is made of; a baseline is one by itself."""
        if self.cell is not None:
            return self.cell.choices
        return () if self.baseline is None else (self.baseline,)

    @property
    def exact(self) -> bool:
        """Whether it is a cell whose attention is exact in every layer, with the model's heads."""
        choices = [choice for choice in self.choices if choice.component.kind == "attention"]
        exact = bool(choices) and all(c.can("exact") and not c.can("one-head") for c in choices)
        return exact and not self.bidirectional

    def trained_with(self, seed: int, seeds: Sequence[int]) -> bool:
        """Whether it is trained with this one of the seeds: a deterministic fit only with one."""
        fitted_once = self.baseline is not None and self.baseline.can("deterministic")
        return seed == seeds[0] or not fitted_once


@dataclass(frozen=True)
class Plan:
    """The rows of a request: cells first, baselines after them.

    scoring: the choices of the task and its metrics, whose code every result depends on.
    reference: the name of a cell that can run. needs: axis to the capabilities that the task needs.
    """

    request: Request
    task: Task
    scoring: tuple[Choice, ...]
    rows: tuple[PlanRow, ...]
    reference: str
    needs: Mapping[str, frozenset[str]]

    def with_data(self, conditions: Collection[str]) -> Plan:
        """The plan for data that meet these conditions; its rows have none left."""
        there = (row for row in self.rows if not row.condition or row.condition in conditions)
        return replace(self, rows=tuple(replace(row, condition="") for row in there))

    @property
    def runnable(self) -> list[PlanRow]:
        """The rows that can run."""
        return [row for row in self.rows if not row.skip_reason]

    @property
    def trainable(self) -> list[PlanRow]:
        """Those of them that are trained in steps."""
        return [row for row in self.runnable if row.trainable]

    def tuning_trainings(self) -> list[tuple[PlanRow, int, Training]]:
        """Every trainable row with every combination of settings and the first seed.

        They are scored on a part of the training split. Empty where there is nothing to choose.
        """
        request = self.request
        if not request.chooses:
            return []
        settings = [
            each.model_copy(update={"validation": HELD_OUT}) for each in request.trainings()
        ]
        return [(row, request.seeds[0], each) for row in self.trainable for each in settings]

    def seed_trainings(self, chosen: Mapping[str, Training]) -> list[tuple[PlanRow, int, Training]]:
        """Every row for which settings were chosen, by its name, with every seed.

        Where nothing is chosen among several values, each is trained with all of them.
        """
        request = self.request
        crossed = [] if request.chooses else request.trainings()
        # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
        return [
            (row, seed, training)
            for seed, row in itertools.product(request.seeds, self.runnable)
            if row.name in chosen and row.trained_with(seed, request.seeds)
            for training in (crossed if crossed and row.trainable else [chosen[row.name]])
        ]

    def all_trainings(self) -> list[tuple[PlanRow, int, Training]]:
        """What is trained at most; as long as no settings are chosen, with those of the request."""
        if "train" not in self.request.phases:
            return []
        chosen = dict.fromkeys((row.name for row in self.runnable), self.request.training)
        return [*self.tuning_trainings(), *self.seed_trainings(chosen)]

    def chosen_settings(
        self, records: Sequence[Record], metric: MetricDescription
    ) -> dict[str, Training]:
        """Choose the settings of each row that is tuned, such as its learning rate: by row name.

        records: of the tuning, which has one seed. Of the combinations that did not fail the one
        with the best score is chosen; of equal ones the first. A row is missing where all have
        failed.
        """
        request = self.request
        tried: dict[str, dict[Training, float]] = defaultdict(dict)
        for record in records:
            if record.kind == "tune" and record.status == "ok":
                training = Training(**record.config["training"] | {"validation": 0.0})
                tried[record.name][training] = record.metrics[metric.name]
        chosen = {}
        for row in self.runnable:
            if not request.chooses or not row.trainable:
                chosen[row.name] = request.training
            elif scores := tried.get(row.name):
                able = [training for training in request.trainings() if training in scores]
                chosen[row.name] = max(able, key=lambda training: metric.better(scores[training]))
        return chosen

    @property
    def counts(self) -> str:
        """How much it runs at most, in words."""
        parts = []
        if trainings := len(self.all_trainings()):
            tuning = len(self.tuning_trainings())
            of_tuning = f" ({tuning} to choose settings)" if tuning else ""
            parts.append(counted(trainings, "training") + of_tuning)
        if "cost" in self.request.phases:
            lengths = self.request.lengths
            at_lengths = f" at each of {len(lengths)} lengths" if lengths else ""
            parts.append(counted(len(self.trainable), "cost measurement") + at_lengths)
        return ", ".join(parts)


def make_plan(request: Request, registry: Registry) -> Plan:
    """The rows of a request's design; ZooError where a name is unknown or no cell can run."""
    task = find_task(registry, request.task)
    refuse_data(registry, task, request.task, request.data)
    if (test := request.task_options.get("test")) and not Path(test).expanduser().exists():
        raise ZooError(f"--test {test}: no such file or directory")
    needs = task.needs_of(task.options.model_validate(request.task_options))
    axes = [registry.patterns(axis, getattr(request, axis)) for axis in AXES]
    cells = math.prod(map(len, axes)) if request.design == "factorial" else 0
    if cells > MOST_CELLS:
        raise ZooError(
            f"{cells:,} cells: at most {MOST_CELLS:,}; choose fewer parts, or --design one-factor"
        )
    encodings = axes[AXES.index("pe")]
    by_name: dict[str, PlanRow] = {}
    for patterns in _designed(request.design, axes):
        cell = Cell(dict(zip(AXES, patterns, strict=True)))
        if too_long := cell.too_long(request.sizes.layers):
            raise ZooError(f"--{too_long} (--set layers)")
        reason = cell.refusal(request.sizes, needs) or ""
        if reason and request.design == "one-factor" and cell.axes["pe"] == encodings[0]:
            others = (replace(cell, axes={**cell.axes, "pe": other}) for other in encodings[1:])
            fitting = (other for other in others if not other.refusal(request.sizes, needs))
            cell = next(fitting, cell)
            reason = cell.refusal(request.sizes, needs) or ""
        row = PlanRow(cell, skip_reason=reason, bidirectional=cell.bidirectional(needs))
        by_name.setdefault(row.name, row)  # the fitting encoding may also be a change of its own
    rows = [*by_name.values()]
    able = [row for row in rows if not row.skip_reason]
    if not able:
        raise ZooError(f"nothing can run: {'; '.join(sorted({row.skip_reason for row in rows}))}")
    reference = able[0].name
    if request.reference:
        named = {row.name: row.cell_names for row in able}
        reference = find_cell(named, request.reference, "--reference")
    if request.baseline.strip() not in ("", "none"):
        baselines = _baselines(request, registry, task)
        names = {str(choice) for choice in baselines}
        for choice, condition in task.baseline_rows(baselines):
            if not condition or str(choice) not in names:
                trainable = not task.is_estimator(choice)
                rows.append(PlanRow(baseline=choice, trainable=trainable, condition=condition))
    scoring = registry.choose("task", request.task), *task.metric_choices(registry)
    described = [choice.build().description for choice in task.metric_choices(registry)]
    ranked_by(described, request.metric)  # a wrong name is an error of the plan
    return Plan(request, task, scoring, tuple(rows), reference, needs)


def _designed(design: Design, axes: Sequence[Sequence[Layers]]) -> Iterator[tuple[Layers, ...]]:
    """All combinations; or the first pattern of every axis, and all that differ in one axis."""
    if design == "factorial":
        yield from itertools.product(*axes)
        return
    base = tuple(patterns[0] for patterns in axes)
    yield base
    for place, patterns in enumerate(axes):
        for other in patterns[1:]:
            yield (*base[:place], other, *base[place + 1 :])


def _baselines(request: Request, registry: Registry, task: Task) -> list[Choice]:
    """The baselines asked for; ``all``: all that fit the task."""
    choices = registry.choices("baseline", request.baseline)
    accepted = [choice for choice in choices if task.accepts(choice)]
    if request.baseline.strip() == "all" or len(accepted) == len(choices):
        return accepted
    other = next(choice for choice in choices if choice not in accepted)
    known = [registry.label(c) for c in registry.components("baseline") if task.accepts(c)]
    raise ZooError(
        f"--baseline {other} cannot be compared with {task.model_name} (--task {request.task}); "
        f"there is: {', '.join([*known, 'none'])}"
    )


def cost_groups(rows: Sequence[PlanRow], reference: str) -> list[list[PlanRow]]:
    """The rows besides the reference that are measured together with it; none without rows."""
    if not rows:
        return []
    others = [row for row in rows if row.name != reference]
    return [others[i : i + GROUP_SIZE] for i in range(0, max(1, len(others)), GROUP_SIZE)]
