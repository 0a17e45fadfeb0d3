"""What a run needs before it begins: an executor, data, the machine, and a directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import zoo as zoo_package
from zoo.config.request import Request
from zoo.config.settings import HELD_OUT, flag
from zoo.errors import StoppedError, ZooError
from zoo.execution.base import (
    CodeVersion,
    Ended,
    Executor,
    InspectJob,
    JobSetup,
    Limits,
    Notice,
    Result,
)
from zoo.files import scratch_directory
from zoo.registry import BUILT_IN, Choice
from zoo.registry.code_hash import module_hash, plugin_modules
from zoo.registry.loading import Zoo
from zoo.sweep.keys import JOB_CODE, digest
from zoo.sweep.plan import Plan
from zoo.sweep.progress import Progress
from zoo.sweep.records import FILE, directories_of, directory_names, slug
from zoo.tasks.base import Loaded


def open_executor(zoo: Zoo, on: str) -> contextlib.closing[Executor]:
    """The executor of that name, connected now and closed at the end.

    Raises ZooError where there is none, or it cannot connect.
    """
    executor = zoo.registry.choose("executor", on).build()
    executor.connect()
    return contextlib.closing(executor)


def recorded_config(request: Request, loaded: Loaded | None) -> dict[str, Any]:
    """The part of the config of a request's records that depends on no machine.

    loaded: None where costs are measured at several lengths.
    """
    config = {"task": request.task, "task_options": request.recorded_options}
    sizes, training = request.sizes.model_dump(), request.training.model_dump()
    if loaded is None:
        del sizes["max_length"]
        base = {**sizes, "batch": training["batch_size"]}
        return config | {"base": base, "training": training}
    config |= {"data": loaded.description, "sizes": sizes, "training": training}
    if request.tuned:
        values = {name: list(values) for name, values in request.tuned.items()}
        how = {"seeds": 1, "share": HELD_OUT} if request.chooses else {"chosen": False}
        config["tuning"] = {"values": values, **how}
    return config


def job_setup(request: Request, plan: Plan, zoo: Zoo, loaded: Loaded | None) -> JobSetup:
    """What jobs are given of a request; single-file plug-ins travel as bytes.

    Raises ZooError where trainings are to end when the data are solved, and these do not say when.
    """
    solved_at = None if loaded is None else loaded.description.get("solved_at")
    if request.training.evaluate_every and loaded is not None and solved_at is None:
        name = loaded.description["name"]
        raise ZooError(
            f"{flag('evaluate_every')}: {name} does not say from which score on it is solved, as "
            "streamed data do ('zoo list data')"
        )
    used = [*(choice for row in plan.runnable for choice in row.choices), *plan.scoring]
    files = [Path(file) for file in zoo.files]
    names = {file.name for file in files}
    return JobSetup(
        task=request.task,
        task_options=request.recorded_options,
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        data=loaded.encoded.key if loaded is not None else "",
        plugin_files=tuple((file.name, file.read_bytes()) for file in files),
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        code=tuple(v for v in code_versions(JOB_CODE, used) if v.distribution not in names),
        pretraining=request.pretraining,
        solved_at=solved_at,
    )


def code_versions(parts: Sequence[str], choices: Iterable[Choice]) -> list[CodeVersion]:
    """The version of these folders and files of the zoo, and of what else the choices are from."""
    modules = {(BUILT_IN, zoo_package.__version__): parts, **plugin_modules(choices)}
    return [
        CodeVersion(*owner, {name: module_hash(owner[0], name, as_bytes=True) for name in names})
        for owner, names in modules.items()
    ]


def inspect(
    executor: Executor, setup: JobSetup, threads: int, progress: Progress
) -> tuple[Mapping[str, Any], JobSetup]:
    """The environment that jobs will run in, and the setup with device and precision resolved.

    Raises ZooError where the machine has no such device, and StoppedError where the process that
    looks at the machine is killed, runs out of memory or crashes.
    """
    job = InspectJob(setup, "this machine", "inspect")
    result = Result("lost", "the executor lost the inspection of the machine")
    with scratch_directory() as scratch:
        for event in executor.run([job], limits=Limits(threads=threads), directory=scratch):
            if isinstance(event, Ended):
                result = event.result
            elif isinstance(event, Notice):
                progress.event(event)
    if result.rejected:
        raise ZooError(result.reason)
    if result.status != "ok":
        raise StoppedError(f"the work cannot start: {result.reason}")
    resolved = {"precision": result.environment["precision"]}
    if setup.execution.device == "auto":
        resolved["device"] = result.environment["device"]
    execution = setup.execution.model_copy(update=resolved)
    return result.environment, replace(setup, execution=execution)


def places_of(
    configs: Sequence[Mapping[str, Any]], name: str, out: Path | None
) -> tuple[Path, list[Path]]:
    """The directory of a run, and that of the records of each data set: beneath it for several.

    name: of a run on several, used for its directory under ``runs``; the name of one is
    ``TASK-DATA-HASH``. Raises ZooError where ``out`` holds records of other data sets.
    """
    first, several = configs[0], len(configs) > 1
    if not several:
        name = f"{first['task']}-{slug(first['data']['name'])}"
    root = out or Path("runs") / f"{name}-{digest(configs if several else first)[:8]}"
    names = directory_names([config["data"]["name"] for config in configs])
    places = [root / each for each in names] if several else [root]
    held = [*directories_of(root, ""), *directories_of(root, "*/")]
    if others := [place for place in held if place not in places]:
        there = ", ".join((place / FILE).relative_to(root).as_posix() for place in others)
        raise ZooError(f"--out {root} holds another run ({there}); choose another directory")
    return root, places
