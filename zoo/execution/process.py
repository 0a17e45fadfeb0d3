"""Worker processes: one crash, hang or lack of memory costs one piece of work and nothing else."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from multiprocessing import connection
from pathlib import Path
from typing import Any, Literal

from zoo.errors import ZooError

Failure = Literal["oom", "timeout", "crashed", "diverged"]


class WorkerError(Exception):
    """Work that ended without a result: its status and the reason in one line."""

    def __init__(self, status: Failure, reason: str) -> None:
        super().__init__(reason)
        self.status: Failure = status
        self.reason = reason


class Worker:
    """A process that has torch imported and does one thing at a time.

    threads: how many it may compute with. memory_limit: MiB of data it may hold, 0 for no limit.
    log: where whatever it prints goes.
    """

    def __init__(self, threads: int, log: Path, memory_limit: int = 0) -> None:
        context = _context()
        self._pipe, theirs = context.Pipe()
        self._oom_kills = _oom_kills()
        self._process = context.Process(
            target=_serve, args=(theirs, threads, str(log), memory_limit), daemon=True
        )
        with _without_main():
            self._process.start()
        theirs.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def waitable(self) -> connection.Connection:
        """Ready for ``multiprocessing.connection.wait`` when there is something to receive."""
        pipe: connection.Connection = self._pipe
        return pipe

    def send(self, command: str, payload: Any = None) -> None:
        """Have the worker start on a command of ``zoo.execution.work.COMMANDS``."""
        with contextlib.suppress(OSError):  # a dead worker is told of by receive
            self._pipe.send((command, payload))

    def receive(self) -> tuple[str, Any]:
        """The next message: ("progress", …) or ("result", …); WorkerError where work ended badly.

        Blocks. A ZooError in the worker is raised here as the same.
        """
        try:
            kind, body = self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerError(*self._post_mortem()) from None
        if kind == "usage":
            raise ZooError(body)
        if kind == "failed":
            raise WorkerError(*body)
        return kind, body

    def call(
        self,
        command: str,
        payload: Any = None,
        *,
        timeout: float | None = None,
        progress: Callable[[Any], None] = lambda _: None,
    ) -> Any:
        """Send a command and wait for its result.

        Raises WorkerError, with status ``timeout`` after ``timeout`` seconds; the worker is then
        gone.
        """
        self.send(command, payload)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and (left <= 0 or not self._pipe.poll(left)):
                self.stop()
                raise WorkerError("timeout", f"took longer than {timeout:g} s")
            kind, body = self.receive()
            if kind == "result":
                return body
            progress(body)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()

    def _post_mortem(self) -> tuple[Failure, str]:
        self._process.join(timeout=10)
        code = self._process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            if -code == signal.SIGKILL and _oom_kills() > self._oom_kills:
                return "oom", "the machine ran out of memory and killed the worker"
            return "crashed", f"the worker was killed by {name}"
        return "crashed", f"the worker exited with status {code}"


def _serve(pipe: connection.Connection, threads: int, log: str, memory_limit: int) -> None:
    """Run in the worker; a function of a module without torch, so that starting it needs none."""
    from zoo.execution.worker import serve

    serve(pipe, threads, log, memory_limit)


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


def _oom_kills() -> int:
    """How often the kernel has killed for lack of memory, as far as it tells."""
    kills = 0
    for path, word in (
        ("/proc/vmstat", "oom_kill"),
        ("/sys/fs/cgroup/memory.events", "oom_kill"),
    ):
        with contextlib.suppress(OSError):
            for line in Path(path).read_text().splitlines():
                name, _, count = line.partition(" ")
                kills += int(count) if name == word else 0
    return kills
