"""A row of a finished run as options, to train it once more: ``zoo train --from RUN``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.pretraining import NO_PRETRAINING
from zoo.config.request import PARTS, Request
from zoo.errors import ZooError, nearest
from zoo.inference.card import Card
from zoo.inference.initial_model import with_initial_models
from zoo.registry import Registry
from zoo.report.profile import read_profile
from zoo.report.read import read_run
from zoo.report.rows import find_row
from zoo.report.run_report import RunReport
from zoo.sweep.make_request import make_requests
from zoo.sweep.records import Record
from zoo.sweep.repeat_command import values_in
from zoo.tasks.base import find_task


@dataclass(frozen=True)
class RunRow:
    """A trained cell of a run.

    record: of its training with the lowest seed. about: what the run's table says of it, in a line.
    """

    record: Record
    about: str

    @property
    def fingerprint(self) -> str:
        """Of the run's data."""
        return str(self.record.config["data"]["fingerprint"])

    @property
    def plugins(self) -> list[str]:
        """The single-file plug-ins that it was trained with."""
        return list(values_in(self.record.command, "--plugin"))

    def differences(self, card: Card) -> list[str]:
        """What of a model is not as in the row: ``task``, ``cell``, ``data``, names of settings.

        The seed does not count, nor does a share held out for validation.
        """
        config = {"pretraining": NO_PRETRAINING.model_dump(), **self.record.config}
        found = {
            "task": card.task != self.record.task,
            "cell": card.cell != self.record.name,
            "data": card.data["fingerprint"] != self.fingerprint,
        }
        for part in ("task_options", "sizes", "training", "execution", "pretraining"):
            own = card.model_dump()[part]
            found |= {name: own.get(name) != value for name, value in config.get(part, {}).items()}
        return [name for name, other in found.items() if other and name != "validation"]

    def options(self, registry: Registry) -> dict[str, Any]:
        """The options of its training that are not the task's defaults, the chosen ones included.

        As a suite has them. Raises ZooError where its task is not registered.
        """
        config, task = self.record.config, find_task(registry, self.record.task)
        options: dict[str, Any] = {"task": self.record.task}
        options |= {a: c for a, c in self.record.cell.items() if a not in task.unused}
        fields = [(part, model.model_fields) for part, model in PARTS.items()]
        for part, known in [*fields, ("task_options", task.options.model_fields)]:
            for name, value in config.get(part, {}).items():
                usual = task.defaults.get(name, known[name].default if name in known else None)
                if value != usual:
                    options[name] = value
        for name in ("init", "pretrain_data", "test"):  # records have names of them, without paths
            if paths := list(values_in(self.record.command, f"--{name.replace('_', '-')}")):
                options[name] = paths[-1]
        options.pop("validation", None)  # a share held out has no use where all data are trained on
        if data := list(values_in(self.record.command, "--data")):
            options["data"] = data[-1]
        if self.plugins:
            options["plugins"] = self.plugins
        return options

    def request(self, given: Mapping[str, Any], registry: Registry) -> Request:
        """The request that trains it again; options given win over its own.

        Raises ZooError as ``make_requests`` does, and where the saved encoder that it began with
        has changed since.
        """
        made = make_requests(given, registry, self.options(registry))
        if len(made) > 1:
            raise ZooError(f"this trains one model, on one data set, not {len(made)}")
        (request,) = with_initial_models(made, registry)
        known = self.record.config.get("pretraining", {}).get("init")
        if request.initial is not None and "init" not in given and request.initial.name != known:
            raise ZooError(
                f"--init {request.pretraining.init} is not what the run began with ({known}): it "
                f"has changed since, and is now {request.initial.name}; --init takes another"
            )
        return request


def find_run_row(directory: Path, name: str = "") -> RunRow:
    """The row of a run with this name, such as ``fused+sin``; empty: the one that the answer names.

    Raises ZooError where the directory holds no records of one data set, or no such trained cell.
    """
    if profile := read_profile(directory):
        places = ", ".join(str(directory / data.directory) for data in profile.data_sets)
        raise ZooError(f"{directory} holds runs on several data sets: name one of {places}")
    run = RunReport(read_run(directory))
    trained = [row for row in run.recorded_rows if row.trained and not row.baseline]
    row = find_row(trained, name) if name else run.best
    if row is None and name:
        known: Sequence[str] = [run.short_name(row) for row in trained]
        raise ZooError(f"--row {name}: {directory} has no such trained cell{nearest(name, known)}")
    if row is None:
        raise ZooError(f"{directory} has no trained cell")
    return RunRow(row.trained[min(row.trained)], run.describe(run.position[row.name]))
