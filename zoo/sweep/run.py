"""A request becomes records: plan, data, trainings, cost measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.execution.artifacts import Artifacts
from zoo.registry import Choice
from zoo.registry.loading import Zoo
from zoo.sweep.keep_models import Keep, KeptModels
from zoo.sweep.keys import digest
from zoo.sweep.measure_rows import measure_rows
from zoo.sweep.plan import Plan
from zoo.sweep.plan_time import (
    PastTimes,
    costs_seconds,
    left_to_do,
    past_records,
    time_lines,
)
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Record, RecordFile, made_by, refuse_other_settings
from zoo.sweep.run_state import RunState, Work, identity, prepare_work, what_was
from zoo.sweep.slug import slug
from zoo.sweep.train_rows import train_rows

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
    keep: Keep | None = None,
) -> Outcome:
    """Carry out a request whose data are loaded.

    fresh: run again what is already there. collect: run nothing, only read what is there. finished:
    called with the records at the end, however the run ends. keep: how trained models are written,
    for a request with ``save_models``.
    """
    request, plan, prepared = work.request, work.plan, work.prepared
    file = RecordFile(directory)
    metrics = plan.task.metrics_from(work.zoo.registry, prepared.loaded.encoded.label_names)
    descriptions = ranked_by([metric.description for metric in metrics], request.metric)
    work.progress.begins(directory, prepared.config)
    with file.lock():
        if file.repaired:
            work.progress.notice(file.repaired)
        existing = file.read()
        now = {"task_options": plan.task.options().model_dump()}
        refuse_other_settings(existing, prepared.config, SHARED, directory, now)
        if not collect:
            existing = _ranked_again(file, existing, descriptions[0])
        # Failed work is done again, and --collect shows it where it did not end well later.
        existing.sort(key=lambda record: record.status in REUSABLE)
        known = {r.key: r for r in existing if collect or r.status in REUSABLE}
        alike = {what_was(r): r for r in existing} if collect else {}
        this = RunState(work, file, descriptions, known, alike)
        trained = measured = 0
        if fresh and not collect:
            Artifacts(directory).clear()
        try:
            _skipped(this)
            # A phase that was not asked for shows what is already there, as --collect does.
            only_known = collect or "train" not in request.phases
            if not collect:
                _say_how_long(this, fresh)
            models = KeptModels(this, keep)
            chosen, trained = train_rows(this, only_known, fresh, models)
            work.progress.expect(0.0)
            measured = measure_rows(this, chosen, collect or "cost" not in request.phases, fresh)
            if note := other_code_note(this.read):
                work.progress.notice(note)
        finally:
            finished(plan, this.records, directory)
    return Outcome(plan, this.records, directory, trained, measured)


def _say_how_long(this: RunState, fresh: bool) -> None:
    """How much there is to do, and how long it takes, from records of earlier runs."""
    work, request = this.work, this.request
    nodes = work.executor.nodes()
    to_do = left_to_do(this, fresh)
    device = "" if nodes is not None else work.prepared.environment.get("device_name", "")
    past = PastTimes.of(past_records(this.directory), request, nodes is not None, device)
    trains = to_do.trials + to_do.trainings > 0
    if past.training or (past.cost and not trains):  # else it is said after the first steps
        for line in time_lines(to_do, request, nodes, past, work.prepared.limits.jobs):
            work.progress.notice(line)
    machines = 1 if nodes is None else sum(not node.problem for node in nodes)
    work.progress.expect(costs_seconds(to_do, past, machines) or 0.0)


def _ranked_again(
    file: RecordFile, records: Sequence[Record], metric: MetricDescription
) -> list[Record]:
    """The records as if this metric had ranked their rows from the beginning.

    Reports take it from the last record in the file, which is therefore written again where it has
    another one. Not one of a trial, which would count twice.
    """
    changed = [record.ranked_by(metric.name) for record in records]
    last = next((r.metric_descriptions for r in reversed(records) if r.metric_descriptions), None)
    scored = [record for record in changed if record.kind != "tune"]
    if last and last[0].name != metric.name and scored:
        file.append(scored[-1])
    return changed


def other_code_note(read: Sequence[Record]) -> str:
    """That a run would make these records again, for their code was other; empty where none was."""
    if not read:
        return ""
    commits = dict.fromkeys(made_by(record) for record in read)
    count = "1 result is" if len(read) == 1 else f"{len(read)} results are"
    return f"{count} of other code ({', '.join(commits)}): a run would make them again"


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
