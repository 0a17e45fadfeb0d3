"""Checks of tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from zoo.conformance.assertions import must
from zoo.conformance.check import CheckFailed, check
from zoo.conformance.setups.setup import Setup
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, CAPABILITIES

_PROGRAM = """
import sys
from zoo.registry.loading import load

load(sys.argv[2:]).registry.choose("task", sys.argv[1]).build()
print("torch" in sys.modules)
"""


@check("task")
def contract(setup: Setup) -> None:
    """The factory builds a zoo.tasks.base.Task without any argument."""
    _task(setup)


@check("task")
def options(setup: Setup) -> None:
    """Its options are a pydantic model, and every field has a default."""
    model = getattr(_task(setup), "options", None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise CheckFailed(f"options is {model!r}, no subclass of pydantic.BaseModel")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    must(not required, f"options without a default: {', '.join(required)}")


@check("task")
def needs(setup: Setup) -> None:
    """It needs, by axis, capabilities that components of that axis can declare."""
    needed = getattr(_task(setup), "needs", None)
    if not isinstance(needed, Mapping):
        raise CheckFailed(f"needs is {needed!r}, no mapping from axis to a set of capabilities")
    for axis, capabilities in needed.items():
        must(axis in AXES, f"needs names {axis!r}, which is no axis")
        must(
            isinstance(capabilities, set | frozenset),
            f"needs of {axis} are a {type(capabilities).__name__}, no set",
        )
        unknown = sorted(set(capabilities) - set(CAPABILITIES[axis]))
        must(not unknown, f"no {axis} can declare {', '.join(map(repr, unknown))}")


@check("task")
def metrics(setup: Setup) -> None:
    """It has at least one metric, and all its metrics are registered."""
    from zoo.registry.loading import load

    names = getattr(_task(setup), "metrics", None)
    must(isinstance(names, tuple) and bool(names), f"metrics is {names!r}, no tuple of names")
    registry = load(setup.files).registry
    for name in names or ():
        try:
            registry.get("metric", name)
        except ZooError as error:
            raise CheckFailed(str(error)) from None


@check("task")
def no_torch(setup: Setup) -> None:
    """Importing and building it does not import torch."""
    owner, file = setup.choice.component.owner, setup.choice.component.file()
    files = [file] if file and Path(file).name == owner.distribution else []
    others = files or owner.distribution == BUILT_IN
    environment = {
        **os.environ,
        "ZOO_PLUGINS": "" if others else owner.distribution,  # another plug-in may import torch
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", _PROGRAM, str(setup.choice), *files]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    must(done.returncode == 0, f"in a new process: {''.join(done.stderr.splitlines()[-1:])}")
    must(done.stdout.split()[-1:] == ["False"], "it imports torch, which slows down planning")


def _task(setup: Setup) -> Any:
    from zoo.tasks.base import Task

    task = setup.make()
    must(isinstance(task, Task), f"the factory gives a {type(task).__name__}, no Task")
    return task
