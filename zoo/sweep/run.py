"""A request becomes records: plan, data, trainings, cost measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.execution.artifacts import Artifacts
from zoo.registry import Choice
from zoo.registry.loading import Zoo
from zoo.sweep.keep_models import Keep, KeptModels
from zoo.sweep.keys import digest
from zoo.sweep.measure_rows import measure_rows
from zoo.sweep.plan import Plan
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Record, RecordFile, refuse_other_settings
from zoo.sweep.run_state import RunState, Work, identity, prepare_work
from zoo.sweep.slug import slug
from zoo.sweep.train_rows import Settled, train_rows

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "execution", "pretraining")
# Called with the plan, the records and their directory.
Finished = Callable[[Plan, Sequence[Record], Path], None]


@dataclass(frozen=True)
class Outcome:
    """What a run ended with. records: of this request alone, reused ones included."""

    plan: Plan
    records: list[Record]
    directory: Path
    trained: int
    measured: int

    @property
    def failed(self) -> list[Record]:
        """Records of what should have run and did not end well."""
        return [r for r in self.records if r.status not in ("ok", "skipped")]


def run(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    *,
    on: str | Choice = "local",
    out: Path | None = None,
    **choices: Any,
) -> Outcome:
    """Carry out a request and return its records.

    on: the executor. out: the directory of the records; by default one of its own for these data
    and settings, under ``runs``. choices: of ``run_prepared``. Raises ZooError for anything asked
    for that cannot be had.
    """
    with open_executor(zoo, on) as executor:
        work = prepare_work(request, zoo, executor, progress, choices.get("collect", False))
        directory = out or Path("runs") / directory_name(work.prepared.config)
        return run_prepared(work, directory, **choices)


def run_prepared(
    work: Work,
    directory: Path,
    *,
    fresh: bool = False,
    collect: bool = False,
    finished: Finished = lambda *_: None,
    settled: Settled = lambda *_: False,
    keep: Keep | None = None,
) -> Outcome:
    """Carry out a request whose data are loaded.

    fresh: run again what is already there. collect: run nothing, only read what is there. finished:
    called with the records at the end, however the run ends. settled: of a request with ``until``
    and its records, whether they have enough seeds. keep: how trained models are written, for a
    request with ``save_models``.
    """
    request, plan, prepared = work.request, work.plan, work.prepared
    file = RecordFile(directory)
    metrics = plan.task.metrics_from(work.zoo.registry, prepared.loaded.encoded.label_names)
    descriptions = tuple(metric.description for metric in metrics)
    work.progress.begins(directory, prepared.config)
    with file.lock():
        if file.repaired:
            work.progress.notice(file.repaired)
        existing = file.read()
        refuse_other_settings(existing, prepared.config, SHARED, directory)
        # Failed work is done again, and --collect shows it where it did not end well later.
        existing.sort(key=lambda record: record.status in REUSABLE)
        known = {r.key: r for r in existing if collect or r.status in REUSABLE}
        this = RunState(work, file, descriptions, known)
        trained = measured = 0
        if fresh and not collect:
            Artifacts(directory).clear()
        try:
            _skipped(this)
            # A phase that was not asked for shows what is already there, as --collect does.
            only_known = collect or "train" not in request.phases
            models = KeptModels(this, keep)
            chosen, trained = train_rows(this, only_known, fresh, settled, models)
            measured = measure_rows(this, chosen, collect or "cost" not in request.phases, fresh)
        finally:
            finished(plan, this.records, directory)
    return Outcome(plan, this.records, directory, trained, measured)


def _skipped(this: RunState) -> None:
    """A record for every row that cannot run."""
    for row in this.plan.rows:
        if not row.obstacle:
            continue
        key = digest(["skipped", identity(row), row.obstacle, this.prepared.config])
        if not this.reuse(key, True):
            this.record("train", row, key, this.request.training, "skipped", row.obstacle)


def directory_name(config: Mapping[str, Any]) -> str:
    """``TASK-DATA-HASH``: one directory for each task, data set and settings."""
    data = config["data"]["name"]
    return f"{config['task']}-{slug(data)}-{digest(config)[:8]}"
