"""What a part gives in a process with another hash seed, folder, date and random state.

``python -m zoo.conformance.elsewhere`` answers questions, a line of JSON each, one after another.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import pkgutil
import random
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.files import scratch_directory
from zoo.registry import BUILT_IN, Choice

DAYS = 400  # from today
TWO_PROCESSES = "two processes with other hash seeds, folders, dates and random states"


def environment(**changes: str) -> dict[str, str]:
    """The environment of a process that finds the same modules."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, **changes}


class Elsewhere:
    """The other process; it is started once, and again where a part has ended it."""

    process: subprocess.Popen[str] | None = None

    def start(self) -> Any:
        """Start the process unless it runs; it imports torch and its compiler meanwhile."""
        if self.process is None or self.process.poll() is not None:
            seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
            command = [sys.executable, "-m", "zoo.conformance.elsewhere"]
            own, pipe = environment(PYTHONHASHSEED=seed), subprocess.PIPE
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=own)
        return self.process

    def ask(self, part: Any, function: Callable[[Choice], str]) -> str:
        """What the function of a module says of the part's choice there.

        Other plug-ins than its own are not loaded. Raises CheckFailed where the function raises
        something, and CheckSkipped for a component that only this process has registered.
        """
        process, kind = self.start(), part.kind
        path = [str(Path(entry).resolve()) for entry in sys.path]
        name = f"{function.__module__}:{function.__name__}"
        question = [path, *own_plugin(part), kind, str(part.choice), name]
        print(json.dumps(question), file=process.stdin, flush=True)
        line = process.stdout.readline()
        answer, error = json.loads(line) if line else ("", f"ended with status {process.wait()}")
        if error.startswith((f"ZooError: no {kind} ", "ZooError: ZOO_PLUGINS names")):
            raise CheckSkipped("another process cannot load it: this one registered it")
        if error:
            raise CheckFailed(f"in a new process: {error.removeprefix('CheckFailed: ')}")
        return str(answer)


OTHER = Elsewhere()


def same_elsewhere(part: Any, function: Callable[[Choice], str], own: str, what: str) -> None:
    """Fail unless the function says of the part's choice there what it says here, its own."""
    if OTHER.ask(part, function) != own:
        hint = "sort sets, use no hash(), and draw from a generator with a seed"
        raise CheckFailed(f"{TWO_PROCESSES} {what}: {hint}")


def own_plugin(part: Any) -> tuple[list[str], str]:
    """What must be loaded for the part alone: its single file, the value of ZOO_PLUGINS."""
    owner = part.choice.component.owner.distribution
    files = [str(Path(file).resolve()) for file in part.files if Path(file).name == owner]
    return files, "" if files or owner == BUILT_IN else owner


def answer(
    path: list[str], files: list[str], plugins: str, kind: str, name: str, function: str
) -> str:
    """What the function says of the component, DAYS from today."""
    from zoo.registry.loading import load

    sys.path[:] = path
    os.environ["ZOO_PLUGINS"] = plugins
    random.seed(DAYS)
    np.random.seed(DAYS)
    choice = load(files, plugins).registry.choose(kind, name)
    _wait(sys.modules[choice.component.resolve().__module__])
    text: str = pkgutil.resolve_name(function)(choice)
    return text


def _wait(module: types.ModuleType, clock: Any = time.time) -> None:
    """Let DAYS pass. ``today()`` asks the clock; ``now()`` does so in this module alone."""
    time.time = lambda: clock() + 86400 * DAYS

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return datetime.datetime.fromtimestamp(time.time(), tz)

    names = types.SimpleNamespace(**{**vars(datetime), "datetime": Later})
    for name, value in list(vars(module).items()):
        if value is datetime or value is datetime.datetime:
            setattr(module, name, names if value is datetime else Later)


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a component prints is no reply
    for name in ("torch", "torch._dynamo"):  # which take seconds
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    for line in sys.stdin:
        with scratch_directory() as folder:
            os.chdir(folder)
            try:
                reply = answer(*json.loads(line)), ""
            except Exception as error:  # noqa: BLE001 - a component may raise anything
                reply = "", f"{type(error).__name__}: {error}"
            os.chdir(Path(folder).parent)
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    main()
