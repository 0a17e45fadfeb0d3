"""Worker processes: a crash, hang or lack of memory costs one piece of work and nothing else."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import types
from collections.abc import Iterator, Mapping
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Any

from zoo.execution.base import Limits
from zoo.execution.failures import from_exit, oom_kills, timeout


class Worker:
    """A process with torch imported, which does one thing at a time.

    log: the file that receives what the process prints. environment: further variables.
    """

    def __init__(
        self, limits: Limits, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        context = _context()
        self._pipe, theirs = context.Pipe()
        life, self._life = context.Pipe(duplex=False)
        self._log, self._oom_kills = log, oom_kills()
        variables = {**os.environ, **(environment or {})}
        self._process = context.Process(
            target=_serve, args=(theirs, life, limits, str(log), variables), daemon=True
        )
        with _without_main(), _interrupts_held_back():
            self._process.start()
        theirs.close()
        life.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def waitable(self) -> connection.Connection:
        """Ready for ``multiprocessing.connection.wait`` when there is something to receive."""
        pipe: connection.Connection = self._pipe
        return pipe

    def send(self, function: str, *arguments: Any) -> None:
        """Have the worker call ``function`` (``"module:name"``), a function or a generator.

        A first parameter named ``state`` receives a dict that lives as long as the process.
        """
        with contextlib.suppress(OSError):  # receive reports a dead worker
            self._pipe.send((function, arguments))

    def receive(self) -> tuple[str, Any]:
        """The next message: ("yielded", …) or ("returned", …). Blocks.

        Raises JobError where the call failed or the process died.
        """
        try:
            kind, body = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(timeout=10)
            raise from_exit(self._process.exitcode, self._oom_kills, self._log) from None
        if kind == "failed":
            raise body
        return kind, body

    def call(self, function: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Call a function in the worker and wait for what it returns.

        seconds: time limit, after which the process is killed. Raises JobError.
        """
        self.send(function, *arguments)
        return self.returned(seconds)

    def returned(self, seconds: float | None = None) -> Any:
        """Wait for what the function that was sent returns; as ``call``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and seconds is not None and not self._pipe.poll(max(0.0, left)):
                self.stop()
                raise timeout(seconds)
            kind, body = self.receive()
            if kind == "returned":
                return body

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._life.close()


def _serve(
    pipe: connection.Connection,
    life: connection.Connection,
    limits: Limits,
    log: str,
    environment: dict[str, str],
) -> None:
    """Run in the worker; in a module without torch, so that starting a worker needs none.

    life: never written to; it closes when the process that submits ends. environment: of that
    process now. The fork server has that of its own start, and a variable such as ``ZOO_CACHE`` may
    have been set since.
    """
    os.environ.clear()
    os.environ.update(environment)
    from zoo.execution.worker import end_with, serve

    end_with(life)
    serve(pipe, limits, log)


def _context() -> Any:
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["zoo.execution.worker"])
    return context


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep multiprocessing from importing the caller's script again in the worker.

    Without this, ``zoo.bench(...)`` in a script would need an ``if __name__`` guard.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start processes with SIGINT blocked: Ctrl-C is for the process that submits.

    It reaches all processes of the terminal, and one that is still importing would print a
    traceback. This process gets it as soon as the mask is restored.
    """
    resource_tracker.ensure_running()  # started later, it would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
