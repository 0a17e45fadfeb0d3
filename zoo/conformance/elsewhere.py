"""What a part gives in a process with another hash seed, folder, date and random state.

``python -m zoo.conformance.elsewhere`` answers questions, a line of JSON each, one after another.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import json
import os
import random
import subprocess
import sys
import time
import types
from collections.abc import Sequence
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

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Start the process unless it runs; it imports torch meanwhile."""
        if self.process is None or self.process.poll() is not None:
            seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
            self.process = subprocess.Popen(
                [sys.executable, "-m", "zoo.conformance.elsewhere"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(PYTHONHASHSEED=seed),
            )
        return self.process

    def ask(self, choice: Choice, plugin_files: Sequence[str], function: str) -> str:
        """What the function says of the component there.

        function: ``package.module:function``, which takes a Choice and gives text. Other plug-ins
        than the component's own are not loaded. Raises CheckFailed where the function raises
        something, and CheckSkipped for a component that only this process has registered.
        """
        files, plugins = own_plugin(choice, plugin_files)
        question = {
            "kind": choice.component.kind,
            "name": str(choice),
            "files": files,
            "plugins": plugins,
            "path": [str(Path(entry).resolve()) for entry in sys.path],
            "function": function,
        }
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        if not (line := process.stdout.readline()):
            raise CheckFailed(f"in a new process: it ended with status {process.wait()}")
        reply = json.loads(line)
        if error := reply.get("error"):
            unknown = f"ZooError: no {question['kind']} "
            if error.startswith((unknown, "ZooError: ZOO_PLUGINS names")):
                raise CheckSkipped("another process cannot load it: this one registered it")
            raise CheckFailed(f"in a new process: {error}")
        return str(reply["answer"])


OTHER = Elsewhere()


def same_elsewhere(
    choice: Choice, plugin_files: Sequence[str], function: str, expected: str, what: str
) -> None:
    """Fail unless the function says of the component there what it says here."""
    if OTHER.ask(choice, plugin_files, function) != expected:
        hint = "sort sets, use no hash(), and draw from a generator with a seed"
        raise CheckFailed(f"{TWO_PROCESSES} {what}: {hint}")


def own_plugin(choice: Choice, plugin_files: Sequence[str]) -> tuple[list[str], str]:
    """What must be loaded for the component alone: its single file, the value of ZOO_PLUGINS."""
    owner = choice.component.owner.distribution
    files = [str(Path(file).resolve()) for file in plugin_files if Path(file).name == owner]
    return files, "" if files or owner == BUILT_IN else owner


@functools.cache
def _registry(files: tuple[str, ...], plugins: str) -> Any:
    from zoo.registry.loading import load

    os.environ["ZOO_PLUGINS"] = plugins
    return load(files).registry


def answer(question: dict[str, Any]) -> str:
    """What the function of the question says of its component, DAYS from today."""
    sys.path[:] = question["path"]
    random.seed(DAYS)
    np.random.seed(DAYS)
    registry = _registry(tuple(question["files"]), question["plugins"])
    choice = registry.choose(question["kind"], question["name"])
    _set_date(sys.modules[choice.component.resolve().__module__], 86400 * DAYS)
    module, function = question["function"].split(":")
    text: str = getattr(importlib.import_module(module), function)(choice)
    return text


_clock = time.time


def _set_date(module: types.ModuleType, seconds: int) -> None:
    """Shift the clock, and the date in this module alone: libraries need the real classes."""
    time.time = lambda: _clock() + seconds

    def later(kind: Any) -> Any:
        class Later(kind):  # type: ignore[misc]
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> Any:
                return kind.fromtimestamp(time.time(), tz)

            @classmethod
            def today(cls) -> Any:
                return kind.fromtimestamp(time.time())

        return Later

    moment, day = later(datetime.datetime), later(datetime.date)
    names = types.SimpleNamespace(**{**vars(datetime), "datetime": moment, "date": day})
    instead = {id(datetime): names, id(datetime.datetime): moment, id(datetime.date): day}
    for name, value in list(vars(module).items()):
        if id(value) in instead:
            setattr(module, name, instead[id(value)])


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a component prints is no reply
    importlib.import_module("torch")
    for line in sys.stdin:
        with scratch_directory() as folder:
            os.chdir(folder)
            try:
                reply = {"answer": answer(json.loads(line))}
            except Exception as error:  # noqa: BLE001 - a component may raise anything
                reply = {"error": f"{type(error).__name__}: {error}"}
            os.chdir(Path(folder).parent)
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    main()
