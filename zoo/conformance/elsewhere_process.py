"""A process that answers questions in copies of itself, with another folder, date and random state.

``python -m zoo.conformance.elsewhere_process MODULE...`` imports these modules once; each question,
a line of JSON, is answered by a copy (``os.fork``), which need not import them again. The caller
decides the hash seed, which is the whole process's.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import random
import sys
import tempfile
import time
import types
from typing import Any

import numpy as np

from zoo.registry import Choice


def fingerprint(made: Choice) -> str:
    """Of the documents that a data set gives."""
    loaded: str = made.build().fingerprint
    return loaded


def answer(question: dict[str, Any]) -> str:
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

    changed = {**vars(datetime), "datetime": LaterMoment, "date": LaterDay}
    for key, value in list(vars(module).items()):
        if value is datetime:
            setattr(module, key, types.SimpleNamespace(**changed))
        elif value is datetime.datetime:
            setattr(module, key, LaterMoment)
        elif value is datetime.date:
            setattr(module, key, LaterDay)


def _answer_in_a_copy(question: dict[str, Any], folder: str) -> str:
    """The answer as JSON: {"answer": ...}, or {"error": the last line of what went wrong}."""
    read, write = os.pipe()
    if not (child := os.fork()):
        os.chdir(folder)
        try:
            reply = {"answer": answer(question)}
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
    for module in sys.argv[1:]:
        importlib.import_module(module)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
            print(_answer_in_a_copy(json.loads(line), folder), file=replies)


if __name__ == "__main__":
    main()
