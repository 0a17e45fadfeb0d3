"""What runs inside a worker process: calls come in, what they yield and return goes out."""

from __future__ import annotations

import faulthandler
import fcntl
import importlib
import inspect
import os
import queue
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

# Preloaded into the fork server, so that no worker imports these again.
import sklearn.linear_model
import sklearn.metrics  # noqa: F401
import torch._dynamo  # noqa: F401 - the first optimizer of a process imports it: a second

from zoo.execution.base import Limits
from zoo.execution.environment import git_state
from zoo.execution.failures import from_exception
from zoo.execution.threads import use_threads
from zoo.measure.allocator import keep_blocks

git_state()  # runs git once, in the fork server, and not in every worker


def serve(pipe: Connection, limits: Limits, log: str) -> None:
    """Carry out the calls that come through the pipe, one at a time, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that submits
    _print_to(log)
    keep_blocks()
    use_threads(limits.threads)
    if limits.memory_limit:
        _limit_memory(limits.memory_limit)
    calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, calls), daemon=True).start()
    state: dict[str, Any] = {}
    while True:
        name, arguments = calls.get()
        try:
            pipe.send(("returned", _call(pipe, state, name, arguments)))
        except Exception as error:  # noqa: BLE001 - a component may raise anything
            traceback.print_exc()
            pipe.send(("failed", from_exception(error)))


def end_with(life: Connection) -> None:
    """Have the kernel end this process when the other end of a pipe is closed.

    Native code that hangs may hold the interpreter's lock, and no thread of Python's has a turn.
    """
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)


def _call(pipe: Connection, state: dict[str, Any], name: str, arguments: tuple[Any, ...]) -> Any:
    """What ``module:function`` returns; what a generator yields is sent as it comes."""
    module, _, attribute = name.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    if next(iter(inspect.signature(function).parameters), "") == "state":
        arguments = (state, *arguments)
    if not inspect.isgeneratorfunction(function):
        return function(*arguments)
    for body in function(*arguments):
        pipe.send(("yielded", body))
    return None


def _listen(pipe: Connection, calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]]) -> None:
    """Pass calls on; when the process that submits is gone, end this one."""
    while True:
        try:
            calls.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(1)


def _print_to(log: str) -> None:
    """Send what components print to the log, and a traceback of a crash in native code too."""
    try:
        file = open(log, "ab", buffering=0)  # noqa: SIM115 - it stays open as stdout and stderr
    except FileNotFoundError:
        os._exit(1)  # the process that submits was interrupted and has removed the directory
    with file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    faulthandler.enable(2)


def _limit_memory(mebibytes: int) -> None:
    import resource

    size = mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
