"""Carries out a call in a slot, and yields its messages; says that it is alive meanwhile.

A call is a pickled pair: ``"module:function"`` and its arguments. A message is a pickled pair:
("alive", None), ("yielded", what a generator yielded), ("returned", what a function returned) or
("failed", one line). The last message of a call is one of the last two.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import queue
import threading
from collections.abc import Iterator
from typing import Any

from zoo.errors import ZooError, one_line

ALIVE_SECONDS = 5.0  # between two messages


def packed(function: str, *arguments: Any) -> bytes:
    """A call as an engine carries it."""
    return pickle.dumps((function, arguments))


def unpacked(message: bytes) -> tuple[str, Any]:
    """The kind and the body of a message."""
    kind, body = pickle.loads(message)
    return kind, body


def carry_out(call: bytes) -> Iterator[bytes]:
    """The messages of a call, as they come."""
    messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_work, args=(call, messages), daemon=True).start()
    kind = ""
    while kind not in ("returned", "failed"):
        try:
            kind, body = messages.get(timeout=ALIVE_SECONDS)
        except queue.Empty:
            kind, body = "alive", None
        yield pickle.dumps((kind, body))


def _work(call: bytes, messages: queue.SimpleQueue[tuple[str, Any]]) -> None:
    try:
        function, arguments = pickle.loads(call)
        module, _, name = function.partition(":")
        target = getattr(importlib.import_module(module), name)
        if not inspect.isgeneratorfunction(target):
            messages.put(("returned", target(*arguments)))
            return
        for body in target(*arguments):
            messages.put(("yielded", body))
        messages.put(("returned", None))
    except Exception as error:  # noqa: BLE001 - the node may be broken in any way
        reason = str(error) if isinstance(error, ZooError) else one_line(error)
        messages.put(("failed", reason))
