"""What a component gives in processes with another hash seed, folder, date and random state.

``python -m zoo.conformance.elsewhere MODULE...`` imports these modules once; each question, a line
of JSON, is answered by a copy of the process (``os.fork``), which need not import them again.
"""

from __future__ import annotations

import datetime
import gc
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from zoo.conformance.check import CHECK_MODULES
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.files import scratch_directory
from zoo.registry import BUILT_IN, Choice

# What another process is given, but for the folder: a hash seed and a number of days from today.
DIFFERENCES = ((1, 0), (2, 400))
# What takes longest to import; the other processes have what this one has, and import it once.
_SLOW = ("torch", "sklearn.linear_model", "sklearn.feature_extraction.text")


def elsewhere(choice: Choice, plugin_files: Sequence[str], function: str) -> set[str]:
    """All that the function says of the component in the other processes.

    function: ``package.module:function``, which takes a Choice and gives text. Other plug-ins than
    the component's own are not loaded. Raises CheckFailed where the function raises something, and
    CheckSkipped for a component that only this process has registered.
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
    return {_ask(seed, {**question, "days": days}) for seed, days in DIFFERENCES}


def own_plugin(choice: Choice, plugin_files: Sequence[str]) -> tuple[list[str], str]:
    """What must be loaded for the component alone: its single file, the value of ZOO_PLUGINS."""
    owner = choice.component.owner.distribution
    files = [str(Path(file).resolve()) for file in plugin_files if Path(file).name == owner]
    return files, "" if files or owner == BUILT_IN else owner


def _ask(hash_seed: int, question: dict[str, object]) -> str:
    process = _process(hash_seed, tuple(name for name in _SLOW if name in sys.modules))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    if error := reply.get("error"):
        if error.startswith((f"ZooError: no {question['kind']} ", "ZooError: ZOO_PLUGINS names")):
            raise CheckSkipped("another process cannot load it: this one registered it")
        raise CheckFailed(f"in a new process: {error}")
    return str(reply["answer"])


@cache
def _process(hash_seed: int, modules: tuple[str, ...]) -> subprocess.Popen[str]:
    """A process with this hash seed; it ends with this one, when its input does."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "zoo.conformance.elsewhere", *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tempfile.gettempdir(),
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)},
    )


def fingerprint(made: Choice) -> str:
    """Of the documents that a data set gives."""
    loaded: str = made.build().fingerprint
    return loaded


def _answer(question: dict[str, Any]) -> str:
    """What the function of the question says of its component, ``days`` from today."""
    from zoo.registry.loading import load

    os.environ["ZOO_PLUGINS"] = question["plugins"]
    sys.path[:] = question["path"]
    random.seed(question["days"])
    np.random.seed(question["days"])
    made = load(question["files"]).registry.choose(question["kind"], question["name"])
    _set_date(sys.modules[made.component.resolve().__module__], 86400 * question["days"])
    module, function = question["function"].split(":")
    said: str = getattr(importlib.import_module(module), function)(made)
    return said


def _set_date(module: types.ModuleType, seconds: int) -> None:
    """Shift the clock, and the date in this module alone: libraries need the real classes."""
    clock = time.time
    time.time = lambda: clock() + seconds

    class LaterMoment(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return datetime.datetime.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Any:
            return datetime.datetime.fromtimestamp(time.time())

    class LaterDay(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return datetime.date.fromtimestamp(time.time())

    later = types.SimpleNamespace(**{**vars(datetime), "datetime": LaterMoment, "date": LaterDay})
    instead = {id(datetime): later, id(datetime.datetime): LaterMoment, id(datetime.date): LaterDay}
    for name, value in list(vars(module).items()):
        if id(value) in instead:
            setattr(module, name, instead[id(value)])


def _answer_in_a_copy(question: dict[str, Any], folder: Path) -> str:
    """The answer as JSON: {"answer": ...}, or {"error": the last line of what went wrong}."""
    read, write = os.pipe()
    if not (child := os.fork()):
        os.chdir(folder)
        try:
            reply = {"answer": _answer(question)}
        except BaseException as error:  # noqa: BLE001 - a component may raise anything
            reply = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(write, "w") as out:
            json.dump(reply, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as back:
        reply_text = back.read()
    _, status = os.waitpid(child, 0)
    ended = json.dumps({"error": f"it ended with status {os.waitstatus_to_exitcode(status)}"})
    return reply_text or ended


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a component prints is no reply
    for module in (*sys.argv[1:], *CHECK_MODULES):
        importlib.import_module(module)
    gc.freeze()  # no copy of the process looks through what all of them share
    for line in sys.stdin:
        with scratch_directory() as folder:
            print(_answer_in_a_copy(json.loads(line), folder), file=replies)


if __name__ == "__main__":
    main()
