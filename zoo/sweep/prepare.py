"""From a request to a run that can begin: its plan, its data, and the machine that it is for."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.config.settings import Execution
from zoo.data.sources.splits import ScoringNotice
from zoo.errors import StoppedError, ZooError
from zoo.execution.base import (
    DataReference,
    Ended,
    Executor,
    InspectJob,
    JobSetup,
    Limits,
    ModelSpec,
    Notice,
    PluginFile,
    Result,
)
from zoo.files import scratch_directory
from zoo.registry import Choice
from zoo.registry.code_hash import plugin_code, zoo_code
from zoo.registry.loading import Zoo
from zoo.sweep.keys import JOB_CODE
from zoo.sweep.plan import Plan, PlanRow, all_fits, make_plan, probe_models, with_refusals
from zoo.sweep.pretraining_data import with_pretraining
from zoo.sweep.progress import Progress
from zoo.sweep.run import Run, job_limits
from zoo.tasks.base import Loaded
from zoo.tasks.data_of_task import refuse_missing, small_files


def open_executor(zoo: Zoo, on: str | Choice) -> contextlib.closing[Executor]:
    """The executor chosen, or of that name, connected now and closed at the end.

    Raises ZooError where there is none, or it cannot connect.
    """
    choice = zoo.registry.choose("executor", on) if isinstance(on, str) else on
    executor = choice.build()
    executor.connect()
    return contextlib.closing(executor)


def prepare_run(
    request: Request, zoo: Zoo, executor: Executor, progress: Progress, *, all_data: bool = False
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
    machine has no such device or a component refuses its parameters, and StoppedError where the
    process that looks at the machine is killed, runs out of memory or crashes.
    """
    given = tuple(row.model for row in rows if any(choice.given for choice in row.choices))
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
        raise StoppedError(f"the work cannot start: {result.reason}")
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


def training_limits(request: Request, plan: Plan, executor: Executor, device: str) -> Limits:
    """The limits of a plan's trainings on this device.

    On a CPU they share its cores; baselines that are fitted in seconds do not count.
    """
    fits = itertools.chain(*all_fits(request, plan))
    trainings = sum(fit.row.tunable for fit in fits) if device == "cpu" else 1
    return job_limits(request, executor, trainings)
