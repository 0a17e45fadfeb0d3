"""What runs inside a worker process: calls come in, what they yield and return goes out."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import queue
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Generator
from multiprocessing import connection
from typing import Any

# Imported by the server before it forks, so that no worker imports these again.
import sklearn.linear_model
import sklearn.metrics  # noqa: F401
import torch._dynamo  # noqa: F401 - the first optimizer of a process imports it: a second

from zoo.execution.machine import git_state, use_threads
from zoo.execution.process import Returned
from zoo.execution.run_job import from_exception
from zoo.measure.memory import keep_blocks

EXIT_SECONDS = 10.0  # for a worker to end that has closed its pipe


def fork_workers(channel: int) -> None:
    """Fork a worker for each pipe that comes; say how one ended; end all with the submitter.

    A request is a number: 0 with a pipe has a worker forked, and the answer is its process; that
    number has the answer how it ended. Native code in a worker that hangs may hold the
    interpreter's lock, so that no thread of its own could end it.
    """
    git_state()  # runs git once, here, and not in every worker
    control, workers = socket.socket(fileno=channel), set[int]()
    with contextlib.suppress(ConnectionError):  # the submitter was interrupted
        while True:
            message, handles, _, _ = socket.recv_fds(control, 8, 1)
            if not message:
                break
            (process,) = struct.unpack("q", message)
            if not handles:
                workers.discard(process)
                control.sendall(struct.pack("q", _exit_code(process)))
                continue
            process = os.fork()
            if process == 0:
                control.close()
                serve_alone(handles[0])
            os.close(handles[0])
            workers.add(process)
            control.sendall(struct.pack("q", process))
    for process in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _exit_code(process: int) -> int:
    end = time.monotonic() + EXIT_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def serve_alone(channel: int) -> None:
    """Carry out the calls that come through a pipe, one at a time, until it closes."""
    kind = getattr(connection, "PipeConnection", connection.Connection)  # the first on Windows
    try:
        serve(kind(channel))
    finally:
        os._exit(1)


def serve(pipe: connection.Connection) -> None:
    """The same. The first message says how: paths, variables, limits, and the file for output."""
    path, directory, variables, limits, log = pipe.recv()
    sys.path[:] = path
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that submits
    try:
        _print_to(log)
    except OSError as error:
        pipe.send(from_exception(error))
        return
    keep_blocks()
    use_threads(limits.threads)
    calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, calls), daemon=True).start()
    while True:
        name, arguments = calls.get()
        try:
            _carry_out(pipe, name, arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a component may raise anything
            with contextlib.suppress(OSError):  # the disk is full
                traceback.print_exc()
            pipe.send(from_exception(error))


def _carry_out(pipe: connection.Connection, name: str, arguments: tuple[Any, ...]) -> None:
    """Call ``module:function``. Send what a generator yields as it comes, and what is returned."""
    module, _, attribute = name.partition(":")
    result = getattr(importlib.import_module(module), attribute)(*arguments)
    if isinstance(result, Generator):
        for item in result:
            pipe.send(item)
        result = None
    pipe.send(Returned(result))


def _listen(
    pipe: connection.Connection, calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]]
) -> None:
    """Pass calls on. End this process when the one that submits is gone.

    And where a call cannot be read, which would be waited for for ever: it may hold an object of a
    plug-in file that is not loaded here.
    """
    try:
        while True:
            calls.put(pipe.recv())
    except (EOFError, OSError):
        pass
    except Exception:  # noqa: BLE001 - what is read may raise anything
        traceback.print_exc()
    finally:
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
