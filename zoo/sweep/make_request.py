"""From flat options to a request, and from a request to the command that repeats a part of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from zoo.config.places import portable
from zoo.config.request import MOST_SEEDS, PARTS, Request, flat_fields, validated
from zoo.config.settings import SETTINGS, STREAMED, Pretraining, Training, flag, spelt
from zoo.data.sources.load_data import find_registered
from zoo.errors import ZooError, listed, nearest
from zoo.registry import Registry
from zoo.registry.catalog import split_list
from zoo.registry.cell import ModelParts, names_of
from zoo.sweep.options import as_text
from zoo.tasks.base import Task, find_task, task_for


def make_requests(
    options: Mapping[str, Any],
    registry: Registry,
    suite: Mapping[str, Any] = {},
    *,
    several: bool = True,
) -> list[Request]:
    """One request for each data set asked for.

    options: flat. Their ``data`` may be a comma list, a list, or tables as in a suite.
    suite: options that these replace. Its ``data`` may be a list of tables, each with the
    ``name`` of a data set and options for it alone. A data set that is given by its name alone has
    the options of the suite's table. Without a task, each data set is for the task that reads it.
    several, and what is raised: as of ``make_request``.
    """
    options = {name: value for name, value in options.items() if value is not None}
    known = _tables(suite.get("data"))
    wanted = [_matched(table, known) for table in _tables(options.pop("data", None))]
    requests = []
    for own in itertools.chain(*wanted) if wanted else known or [{}]:
        combined = {**suite, **own, **options}
        combined["data"] = combined.pop("name", None)
        combined["task"] = combined.get("task") or task_for(registry, combined["data"])
        requests.append(make_request(combined, registry, several=several))
        _refuse_idle(options, requests[-1])
    for number, request in enumerate(requests):
        if request in requests[:number]:
            raise ZooError(f"--data names {request.data} twice")
    return requests


def _refuse_idle(options: Mapping[str, Any], request: Request) -> None:
    """ZooError for an option, not of a suite, that nothing which runs makes use of."""
    if "cost" not in request.phases and "blocks" in options:
        raise ZooError(f"{flag('blocks')} has no effect without costs, --phases train,cost")
    chosen = {"validation"} & options.keys() | request.tuned.keys() & options.keys()
    if "train" not in request.phases and chosen:
        names = listed(map(flag, sorted(chosen)))
        raise ZooError(f"{names}: nothing is scored without training, --phases train,cost")


def _tables(data: Any) -> list[dict[str, Any]]:
    """Data sets as tables with a ``name``, from whatever ``data`` was given as."""
    if data is None:
        return []
    if isinstance(data, str):
        data = [data] if Path(data).expanduser().exists() else split_list(data, "--data ")
    tables = []
    for each in data if isinstance(data, list | tuple) else [data]:
        table = dict(each) if isinstance(each, Mapping) else {"name": str(each)}
        if not isinstance(table.get("name"), str):
            raise ZooError(f"data {each!r}: expected a name, or a table with a name")
        tables.append(table)
    return tables


def _matched(wanted: Mapping[str, Any], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table wanted, with what the suite says about data sets of this name, if it does."""
    name = wanted["name"].strip()
    same = [table for table in known if table["name"] == name]
    same = same or [table for table in known if table["name"].partition("(")[0] == name]
    return [{**table, **wanted, "name": table["name"]} for table in same] or [dict(wanted)]


def make_request(
    options: Mapping[str, Any], registry: Registry, *, several: bool = True
) -> Request:
    """A request from flat options; what is None or missing is as the data or the task have it.

    several: whether settings may have several values where nobody asked for them. Lists become
    comma lists, ``seeds=3`` the seeds 0, 1, 2. Raises ZooError for an option that does not exist,
    that belongs to another task or has no effect in this one, or a value out of bounds.
    """
    asked = {name: value for name, value in options.items() if value is not None}
    task_name = str(asked.pop("task", Request.model_fields["task"].default))
    task = find_task(registry, task_name)
    fields = flat_fields()
    values: dict[type[BaseModel], dict[str, Any]] = defaultdict(dict)  # of each model's options
    crossed: dict[str, tuple[Any, ...]] = {}  # of an option that has several, all its values
    data = find_registered(registry, asked["data"]) if isinstance(asked.get("data"), str) else None
    recipe = dict[str, Any](STREAMED) if data is not None and data.can("streamed") else {}
    recipe |= {} if data is None else data.component.recipe
    if not several:
        recipe = {name: value for name, value in recipe.items() if not isinstance(value, tuple)}
    wrong: list[str] = []
    for name, value in {**task.defaults, **recipe, **asked}.items():
        brought = name in recipe and name not in asked
        try:
            if name in asked and name in task.unused:
                why = task.unused[name]
                raise ZooError(f"{flag(name)} has no effect with --task {task_name}: {why}")
            model = task.options if name in task.options.model_fields else fields.get(name)
            if model is None:
                raise ZooError(_unknown(name, task_name, task, registry))
            value = _plain(name, value) if model is Request else value
            if name in ("lr", "max_length") and model is not task.options:
                choices = _several(model, name, value)
                value = choices[0] if name == "lr" else choices[-1]
                if len(choices) > 1:
                    crossed[name] = choices
            elif brought:
                validated(model, {name: value})
            values[model][name] = value
        except ZooError as error:
            wrong.append(f"recipe of data/{asked['data']}: {error}" if brought else str(error))
    made_options = _checked(task.options, values[task.options], wrong)
    lengths = crossed.pop("max_length", ())
    parts = {part: values[model] for part, model in PARTS.items()}
    own = {"task": task_name, "recipe": recipe, "tuned": crossed, "lengths": lengths}
    made: Request | None = _checked(Request, {**own, **parts, **values[Request]}, wrong)
    if wrong or made is None or made_options is None:
        raise ZooError("; ".join(wrong))
    made = made.model_copy(update={"task_options": made_options.model_dump(mode="json")})
    held_out = [*made.tuned, *(("evaluate_every",) if made.training.evaluate_every else ())]
    if held_out and made.training.validation:
        raise ZooError(
            f"--validation scores a held-out part, which {flag(held_out[0])} reads too: "
            "use one of the two"
        )
    init = made.pretraining.init
    if init and (reason := task.no_pretraining(made_options)):
        raise ZooError(f"--init {init} has no effect with --task {task_name}: {reason}")
    for name in values[Pretraining]:
        if name != "init" and not init:
            raise ZooError(f"{flag(name)} has no effect without --init pretrain")
    if made.lengths and made.phases != ("cost",):
        raise ZooError(
            f"--max-length {as_text(made.lengths)}: several lengths are for costs alone, "
            "'zoo bench --phases cost'"
        )
    if made.lengths:
        for name in ("data", "baseline"):
            if asked.get(name, "none") != "none":
                raise ZooError(
                    f"{flag(name)} has no effect with several --max-length: the texts are made up"
                )
        refuse_several_values(made, "--max-length with several lengths")
        made = made.model_copy(update={"baseline": "none", "jobs": None})
    return made


def _checked(model: type[BaseModel], values: Mapping[str, Any], wrong: list[str]) -> Any:
    """The model of these values, or None, where what is wrong with them is added."""
    try:
        return validated(model, values)
    except ZooError as error:
        wrong.append(str(error))
        return None


def refuse_several_values(request: Request, command: str) -> None:
    """ZooError where settings have several values to choose from, which this command does not."""
    for name, values in request.tuned.items():
        several = ",".join(f"{value:g}" for value in values)
        raise ZooError(
            f"{spelt(name, several)}: {command} takes one value; zoo bench chooses among several"
        )


def _several(model: type[BaseModel], name: str, value: Any) -> tuple[Any, ...]:
    """The values of a field that may have several, in ascending order; ZooError for a wrong one."""
    values = split_list(value, f"{flag(name)} ") if isinstance(value, str) else value
    values = list(values) if isinstance(values, list | tuple) else [values]
    if not values:
        raise ZooError(f"{flag(name)}: no value")
    return tuple(sorted({getattr(validated(model, {name: each}), name) for each in values}))


def _unknown(name: str, task_name: str, task: Task, registry: Registry) -> str:
    """Why there is no such option: it is another task's, or misspelt."""
    owners = []
    for label in registry.labels("task"):
        with contextlib.suppress(Exception):  # a task that cannot be built has none
            owners += [label] if name in find_task(registry, label).options.model_fields else []
    if owners:
        return f"{flag(name)} is an option of --task {' or '.join(owners)}, and this is {task_name}"
    known = [*flat_fields(), *task.options.model_fields]
    return f"no option '{name}'{nearest(name, known)}"


def _plain(name: str, value: Any) -> Any:
    """A list as the comma list that it means; a number of seeds as the seeds."""
    if name == "seeds" and isinstance(value, int) and not isinstance(value, bool):
        if not 0 < value <= MOST_SEEDS:
            raise ZooError(f"--seeds {value}: at least 1, and at most {MOST_SEEDS}")
        return tuple(range(value))
    if name == "phases" and isinstance(value, str):
        return tuple(split_list(value, "--phases ")) or ("",)
    if name in ("phases", "plugins"):
        return (value,) if isinstance(value, str) else tuple(value)
    if name != "seeds" and isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value) if isinstance(value, Path) else value


def repeat_command(
    request: Request, task: Task, model: ModelParts, training: Training, seed: int | None = None
) -> str:
    """``zoo bench`` with the options that give this one row again.

    training: the row's own settings. seed: of a training, which is then all that runs; None: of a
    cost, or of costs at every length.
    """
    names = names_of(model)
    options: dict[str, Any] = {
        **{axis: name for axis, name in names.items() if axis not in ("baseline", *task.unused)},
        "baseline": names.get("baseline", "none"),
        "phases": "cost" if seed is None else "train",
        "blocks": request.blocks if seed is None else None,
        "seed": seed,
        **_settings(request.model_copy(update={"training": training}), task),
    }
    if seed is None:
        options.pop("validation", None)  # nothing is scored
    if request.lengths:
        options["max_length"] = as_text(request.lengths)
    words, settings = ["zoo", "bench"], []
    if request.task != Request.model_fields["task"].default:
        words += ["--task", request.task]
    for option, value in options.items():
        if option in SETTINGS:
            settings += [] if value is None else [f"{option}={as_text(value)}"]
        elif isinstance(value, bool):
            words.append(flag(option if value else f"no_{option}"))
        elif value is not None:
            for each in map(str, value if isinstance(value, tuple) else (value,)):
                words += [flag(option), portable(each) if os.path.exists(each) else each]
    return shlex.join([*words, *(["--set", ",".join(settings)] if settings else [])])


def values_in(command: str, option: str) -> Iterator[str]:
    """What a command of a record gives for an option: paths are there and nowhere else."""
    return (value for word, value in itertools.pairwise(shlex.split(command)) if word == option)


def _settings(request: Request, task: Task) -> dict[str, Any]:
    """Every option that decides the result and differs from its default."""
    settings: dict[str, Any] = {"data": request.data}
    defaults, values = {**task.defaults, **request.recipe}, request.model_dump()
    for part, model in {"task_options": task.options, **PARTS}.items():
        for name, field in model.model_fields.items():
            if values[part][name] != defaults.get(name, field.default):
                settings[name] = values[part][name]
    return {**settings, "threads": request.threads or None, "plugin": request.plugins}
