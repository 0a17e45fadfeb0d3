"""One request that is being carried out: its plan and data, what runs its jobs, its records."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import Execution, Training
from zoo.data.sources.splits import ScoringNotice
from zoo.errors import ZooError
from zoo.execution.base import (
    Artifacts,
    DataReference,
    Ended,
    Executor,
    InspectJob,
    Job,
    JobSetup,
    Limits,
    ModelSpec,
    Notice,
    PluginFile,
    Result,
)
from zoo.files import scratch_directory
from zoo.registry import Choice
from zoo.registry.code_hash import plugin_code, plugin_hashes, zoo_code
from zoo.registry.loading import Zoo
from zoo.sweep.complete import refuse_incomplete
from zoo.sweep.keys import JOB_CODE, code_of
from zoo.sweep.make_request import repeat_command
from zoo.sweep.plan import Plan, PlanRow, all_fits, make_plan, probe_models, with_refusals
from zoo.sweep.pretraining_data import with_pretraining
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Kind, Record, RecordFile, refuse_other_settings
from zoo.tasks.base import Loaded
from zoo.tasks.data_of_task import refuse_missing, small_files

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "execution", "pretraining")


@dataclass
class Run:
    """A request that can be carried out, and what it has come to.

    config: task, data, sizes, training and execution as resolved, for records. limits, environment:
    of trainings, on the machine that was inspected; cost_limits, cost_environment: of measurements
    there, which are alone and on a CPU have one thread. threaded: threads of a second measurement
    of speed; 0: there is none. loaded: None for made-up data.

    Once its directory is open (``at``): known: records that can be reused, by key. records: of this
    request alone, reused ones included. trained, measured: how many models.
    """

    request: Request
    zoo: Zoo
    plan: Plan
    executor: Executor
    progress: Progress
    setup: JobSetup
    limits: Limits
    cost_limits: Limits
    config: dict[str, Any]
    environment: Mapping[str, Any]
    cost_environment: Mapping[str, Any]
    threaded: int = 0
    loaded: Loaded | None = None
    file: RecordFile = field(default_factory=lambda: RecordFile(Path()))
    fresh: bool = False
    known: dict[str, Record] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    trained: int = 0
    measured: int = 0

    @property
    def directory(self) -> Path:
        return self.file.directory

    @property
    def data(self) -> Loaded:
        """Its data."""
        assert self.loaded is not None
        return self.loaded

    @property
    def failed(self) -> list[Record]:
        """Records of what should have run and did not end well."""
        return [r for r in self.records if r.status not in REUSABLE]

    @cached_property
    def metrics(self) -> tuple[MetricDescription, ...]:
        """Of the task, the one that ranks rows first; none for made-up data."""
        if self.loaded is None:
            return ()
        found = self.plan.task.metrics_from(self.zoo.registry, self.data.encoded.label_names)
        return ranked_by([metric.description for metric in found], self.request.metric)

    @contextlib.contextmanager
    def at(self, directory: Path, *, fresh: bool = False) -> Iterator[None]:
        """Open a directory of records, to which no other process may write meanwhile.

        fresh: run again what is already there. Raises ZooError where it holds records of other data
        or settings.
        """
        self.fresh = fresh
        self.progress.begins(directory, self.config)
        now = {"task_options": self.plan.task.options().model_dump()}
        with self.opened(RecordFile(directory), SHARED, now) as existing:
            refuse_incomplete(existing, directory)
            existing = self._ranked_again(existing)
            self.known = {r.key: r for r in existing if r.status in REUSABLE}
            if fresh:
                Artifacts(directory).clear()
            yield

    @contextlib.contextmanager
    def opened(
        self, file: RecordFile, shared: Sequence[str], defaults: Mapping[str, Any] | None = None
    ) -> Iterator[list[Record]]:
        """Open a file of records and yield them. shared, defaults: ``refuse_other_settings``."""
        self.file = file
        with file.lock():
            if file.repaired:
                self.progress.notice(file.repaired)
            existing = file.read()
            refuse_other_settings(existing, self.config, shared, file.directory, defaults)
            yield existing

    def _ranked_again(self, records: Sequence[Record]) -> list[Record]:
        """The records as if this run's metric had ranked their rows from the beginning.

        Reports take it from the last record in the file, which is therefore written again where it
        has another one. Not one of tuning, which would count twice.
        """
        name = self.metrics[0].name
        changed = [record.ranked_by(name) for record in records]
        last = next((r.metric_descriptions for r in records[::-1] if r.metric_descriptions), None)
        scored = [record for record in changed if record.kind != "tune"]
        if last and last[0].name != name and scored:
            self.file.append(scored[-1])
        return changed

    def config_of(self, training: Training) -> dict[str, Any]:
        """The config of a record whose model has these training settings."""
        return {**self.config, "training": training.model_dump()}

    def keyed(self, training: Training) -> dict[str, Any]:
        """That config without options at their defaults: a new option changes no key.

        Where a default changes, the hash of the task's code changes, or the data's fingerprint.
        """
        defaults = self.plan.task.options().model_dump(mode="json")
        options = self.config["task_options"].items()
        given = {name: value for name, value in options if value != defaults.get(name)}
        return {**self.config_of(training), "task_options": given}

    def code(self, kind: Kind, row: PlanRow) -> dict[str, str]:
        """The code that a record of this kind depends on; of a cost also that of the reference."""
        rows = [each for each in self.plan.rows if each.name == self.plan.reference]
        rows = [row, *rows] if kind == "cost" else [row]
        choices = [*itertools.chain(*(each.choices for each in rows)), *self.plan.scoring]
        choices = [each for each in choices if each.component.kind not in self.plan.task.unused]
        # A task that has none builds in its own module.
        builder = getattr(self.plan.task, "builder", "").partition(":")[0]
        trains = kind in ("train", "tune")
        pretrained = trains and bool(self.setup.pretraining.init)
        return code_of(kind, choices, *filter(None, [builder]), pretrained=pretrained)

    def command(self, model: ModelSpec, training: Training, seed: int | None = None) -> str:
        """The command that repeats a training of a model, or with no seed its cost.

        It trains one model, which would by default have more threads, and with them other bits.
        """
        request = self.request
        alone = job_limits(request, self.executor).threads
        if seed is not None and self.limits.threads != alone:
            request = request.model_copy(update={"threads": self.limits.threads})
        return repeat_command(request, self.plan.task, model, training, seed)

    def record(
        self,
        kind: Kind,
        row: PlanRow,
        key: str,
        training: Training,
        result: Result,
        seed: int | None = None,
        **rest: Any,
    ) -> None:
        """Write one record, at once. rest: other fields of it."""
        usual = self.cost_environment if kind == "cost" else self.environment
        seconds = {"seconds": result.seconds} if result.seconds else {}
        fields = {
            "config": self.config_of(training),
            "metrics": {**result.metrics, **seconds},
            "samples": dict(result.samples),
            "curve": [dict(entry) for entry in result.curve],
            **rest,
        }
        if "command" not in fields:
            fields["command"] = self.command(row.model, training, seed)
        record = Record(
            kind=kind,
            status=result.status,
            reason=result.reason,
            traceback=result.traceback,
            # Of the machine that ran the job, where it came far enough to say.
            environment=dict(result.environment or usual),
            cell=dict(row.model.cell),
            baseline=row.model.baseline,
            exact=row.exact,
            seed=seed,
            key=key,
            plugins=plugin_hashes([*row.choices, *self.plan.scoring]),
            code=self.code(kind, row),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            metric_descriptions=self.metrics,
            **fields,
        )
        self.file.append(record)
        self.records.append(record)

    def reuse(self, key: str, wanted: bool) -> bool:
        """Take a known record over, if there is one and it is wanted; whether it was."""
        if found := wanted and key in self.known:
            self.records.append(self.known[key])
        return found

    def replace(self, record: Record, **changes: Any) -> None:
        """Write a record of this run again with these changes; the later one counts."""
        changed = record.model_copy(update=changes)
        self.file.append(changed)
        self.records[self.records.index(record)] = changed

    def run_jobs(
        self, phase: str, jobs: Sequence[Job], ended: Callable[[Job, Result], None]
    ) -> None:
        """Run the jobs of a phase; ``ended`` has each result before anything else happens."""
        known = [r for r in self.records if r.kind == phase and r.status == "ok"]
        if known:
            self.progress.notice(f"{phase}: {len(known)} there already")
        if not jobs:
            self.progress.phase(phase, 0)
            return
        limits = self.cost_limits if phase == "cost" else self.limits
        self.execute(jobs, limits, ended, phase)

    def execute(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        ended: Callable[[Job, Result], None],
        phase: str = "",
    ) -> None:
        """Run jobs. phase: a name to show, once the executor has accepted them."""
        events = self.executor.run(jobs, limits=limits, directory=self.directory)
        with contextlib.closing(events):  # at once when the run is interrupted: it stops the jobs
            if phase:
                self.progress.phase(phase, len(jobs))
            for event in events:
                if isinstance(event, Ended):
                    ended(event.job, event.result)
                self.progress.event(event, self.metrics)


def open_executor(zoo: Zoo, on: str | Choice) -> contextlib.closing[Executor]:
    """The executor chosen, or of that name, connected now and closed at the end.

    Raises ZooError where there is none, or it cannot connect.
    """
    choice = zoo.registry.choose("executor", on) if isinstance(on, str) else on
    executor = choice.build()
    executor.connect()
    return contextlib.closing(executor)


def prepare_run(
    request: Request,
    zoo: Zoo,
    executor: Executor,
    progress: Progress,
    *,
    all_data: bool = False,
) -> Run:
    """Plan a request, load its data, and inspect the machine.

    Rows whose components were given parameters are built once, to see that they can be. all_data:
    nothing is scored, and notices of what is held out are not said. Raises ZooError for anything
    asked for that cannot be had.
    """
    plan = make_plan(request, zoo.registry)
    loaded, pretraining = with_pretraining(request, load_data(request, plan, zoo))
    remarks = loaded.description.get("remarks", [])  # the report has them
    notices = [
        notice
        for notice in dict.fromkeys(loaded.notices)
        if notice not in remarks and not (all_data and isinstance(notice, ScoringNotice))
    ]
    if notices:
        progress.notice("; ".join(notices))
    data = DataReference(loaded.encoded.key, loaded.spec)
    setup = replace(job_setup(request, plan, zoo, data), pretraining=pretraining)
    alone = job_limits(request, executor)
    environment, setup, refused = inspect(
        executor, setup, alone, progress, plan.runnable, probe_models(plan)
    )
    limits = training_limits(request, plan, executor, setup.execution.device)
    on_cpu = setup.execution.device == "cpu"
    cost_limits = replace(alone, threads=1) if on_cpu else alone
    config = recorded_config(request, loaded)
    config["execution"] = setup.execution.model_dump(exclude={"device"})
    if pretraining.init:
        config["pretraining"] = pretraining.model_dump()
    return Run(
        request,
        zoo,
        with_refusals(plan.with_data(loaded.conditions), refused),
        executor,
        progress,
        setup,
        limits,
        cost_limits,
        config,
        environment={**environment, "threads": limits.threads},
        cost_environment={**environment, "threads": cost_limits.threads},
        threaded=request.threads if on_cpu and request.threads > 1 else 0,
        loaded=loaded,
    )


def dry_plan(request: Request, zoo: Zoo, executor: Executor) -> Plan:
    """The plan with what components refuse, as the executor's machine says.

    Of data, only small files are read. On a cluster the nodes have described themselves afterwards
    (``Node.problem``). Raises ZooError for data that do not exist, and for small files that cannot
    be used.
    """
    plan = make_plan(request, zoo.registry)
    refuse_missing(zoo.registry, plan.task, request.data)
    if (test := request.task_options.get("test")) and not Path(test).expanduser().exists():
        raise ZooError(f"--test {test}: no such file or directory")
    if small_files(zoo.registry, request.data):
        plan = plan.with_data(load_data(request, plan, zoo).conditions)
    probes = probe_models(plan)
    if not probes and executor.nodes() is None:
        return plan
    setup, limits = job_setup(request, plan, zoo, None), job_limits(request, executor)
    return with_refusals(plan, inspect(executor, setup, limits, Progress(), (), probes)[2])


def recorded_config(request: Request, loaded: Loaded) -> dict[str, Any]:
    """The part of the config of a request's records that depends on no machine."""
    config = {
        "task": request.task,
        "task_options": request.recorded_options,
        "data": loaded.description,
        "sizes": request.sizes.model_dump(),
        "training": request.training.model_dump(),
    }
    if request.tuned:
        config["tuning"] = {
            "values": {name: list(values) for name, values in request.tuned.items()},
            "seeds": request.tuning_seeds,
            "share": request.tuning_share,
        }
    return config


def load_data(request: Request, plan: Plan, zoo: Zoo) -> Loaded:
    """The data of a request, encoded; ZooError where they cannot be had."""
    options = plan.task.options.model_validate(request.task_options)
    given = {"tokenizer": request.initial.tokenizer} if request.initial else {}
    return plan.task.load(request.data, options, request.sizes, zoo.registry, **given)


def inspect(
    executor: Executor,
    setup: JobSetup,
    limits: Limits,
    progress: Progress,
    rows: Sequence[PlanRow] = (),
    probes: Sequence[ModelSpec] = (),
) -> tuple[Mapping[str, Any], JobSetup, Mapping[str, str]]:
    """The environment that jobs will run in, and the setup with device and precision resolved.

    Third, the probes that a component refuses, by name, with the reason. Raises ZooError where the
    machine has no such device or a component refuses its parameters.
    """
    given = tuple(
        row.model
        for row in rows
        if any(one.given for choice in row.choices for one in choice.nested)
    )
    job = InspectJob(setup, "this machine", "inspect", models=given, probes=tuple(probes))
    result = Result("lost", "the executor lost the inspection of the machine")
    with scratch_directory() as scratch:
        own = Limits(threads=limits.threads)
        for event in executor.run([job], limits=own, directory=scratch):
            if isinstance(event, Ended):
                result = event.result
            elif isinstance(event, Notice):
                progress.event(event)
    if result.rejected:
        raise ZooError(result.reason)
    if result.status != "ok":
        raise ZooError(f"the work cannot start: {result.reason}")
    environment = result.environment
    resolved = Execution(
        device=environment["device"],
        precision=environment["precision"],
        compile=setup.execution.compile,
    )
    return environment, replace(setup, execution=resolved), result.metrics.get("refused", {})


def job_setup(request: Request, plan: Plan, zoo: Zoo, data: DataReference | None) -> JobSetup:
    """What jobs are given of a request; single-file plug-ins travel as bytes."""
    used = [*(choice for row in plan.runnable for choice in row.choices), *plan.scoring]
    files = [Path(file) for file in zoo.files]
    names = {file.name for file in files}
    plugins = [code for code in plugin_code(used) if code.distribution not in names]
    return JobSetup(
        task=request.task,
        task_options=request.recorded_options,
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        data=data,
        plugin_files=tuple(PluginFile(file.name, file.read_bytes()) for file in files),
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        code=(zoo_code(JOB_CODE), *plugins),
    )


def job_limits(request: Request, executor: Executor, trainings: int = 1) -> Limits:
    """What jobs may use; what is not asked for is as the executor has it.

    trainings: as of ``Executor.default_limits``.
    """
    asked = Limits(request.jobs or 0, request.threads, request.memory_limit, request.timeout)
    return executor.default_limits(asked, trainings)


def training_limits(request: Request, plan: Plan, executor: Executor, device: str) -> Limits:
    """The limits of a plan's trainings on this device.

    On a CPU they share its cores; baselines that are fitted in seconds do not count.
    """
    fits = itertools.chain(*all_fits(request, plan))
    trainings = sum(fit.row.tunable for fit in fits) if device == "cpu" else 1
    return job_limits(request, executor, trainings)


def model_id(model: ModelSpec) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": dict(model.cell), "baseline": model.baseline}
