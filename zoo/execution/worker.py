"""What runs inside a worker process: commands in, progress and results out."""

from __future__ import annotations

import os
import queue
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Preloaded into the fork server: whatever is imported here, no worker imports again.
import sklearn.metrics  # noqa: F401
import torch
import torch._dynamo  # what the first optimizer of a process imports, which takes a second

from zoo.errors import ZooError, one_line
from zoo.execution.work import COMMANDS
from zoo.measure.allocator import keep_blocks
from zoo.train.trainer import DivergedError


def serve(pipe: Connection, threads: int, log: str, memory_limit: int) -> None:
    """Do what comes through the pipe, one command at a time, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _print_to(log)
    keep_blocks()
    torch.set_num_threads(threads)
    if memory_limit:
        _limit_memory(memory_limit)
    commands: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, commands), daemon=True).start()
    state: dict[str, Any] = {}
    while True:
        name, payload = commands.get()
        try:
            result = COMMANDS[name](state, payload, lambda body: pipe.send(("progress", body)))
            pipe.send(("result", result))
        except ZooError as error:
            pipe.send(("usage", str(error)))
        except Exception as error:  # noqa: BLE001 - a component may raise anything
            traceback.print_exc()
            pipe.send(("failed", _failure(error)))


def _listen(pipe: Connection, commands: queue.SimpleQueue[tuple[str, Any]]) -> None:
    """Pass commands on; when the parent is gone, so is this process."""
    while True:
        try:
            commands.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(1)


def _print_to(log: str) -> None:
    """Send whatever a component prints to the log, not into the table."""
    with open(log, "ab", buffering=0) as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


def _limit_memory(mebibytes: int) -> None:
    import resource

    size = mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _failure(error: Exception) -> tuple[str, str]:
    """Status and reason of an error that ended a piece of work."""
    if isinstance(error, DivergedError):
        return "diverged", str(error)
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in text:
        return "oom", f"out of memory: {one_line(error)}"[:300]
    where = traceback.extract_tb(error.__traceback__)[-1]
    return "crashed", f"{one_line(error)[:300]} ({Path(where.filename).name}:{where.lineno})"
