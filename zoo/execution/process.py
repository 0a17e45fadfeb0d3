"""Worker processes: a crash, hang or lack of memory costs one piece of work and nothing else.

Where the system can fork safely, one server process imports torch once and forks each worker;
elsewhere each worker is started anew. Nothing imports the caller's script again, as multiprocessing
would, so that ``zoo.bench(...)`` in a script needs no ``if __name__`` guard.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import Pipe, connection
from pathlib import Path
from typing import Any

import psutil

from zoo.errors import StoppedError, one_line
from zoo.execution.base import Limits
from zoo.execution.run_job import from_exit, oom_kills, timeout

# On macOS a fork of a process that has loaded Accelerate or Objective-C may crash.
FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"
DEVNULL = subprocess.DEVNULL
EXIT_SECONDS = 10.0  # for a process that said its last to end
GONE = OSError, struct.error, psutil.NoSuchProcess  # what asking a server that was killed raises
_START = "import sys; sys.path[:] = {}; from zoo.execution import worker; worker.{}({})"


@dataclass(frozen=True)
class Returned:
    """The last message of a call: what it returned."""

    value: Any = None


class Worker:
    """A process with torch imported, which does one thing at a time.

    log: the file that receives what the process prints. environment: further variables. Raises
    StoppedError where no process can be started.
    """

    def __init__(
        self, limits: Limits, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log, self._oom_kills = log, oom_kills()
        self._process: _Forked | _Spawned
        self._process = _forked() if FORKS else _Spawned()
        self._pipe = self._process.pipe
        variables = {**os.environ, **(environment or {})}
        self._send((list(sys.path), os.getcwd(), variables, limits, str(log)))

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether it can be sent another call."""
        return not self._pipe.closed

    @property
    def waitable(self) -> connection.Connection:
        """Ready for ``multiprocessing.connection.wait`` when there is something to receive."""
        return self._pipe

    def send(self, function: str, *arguments: Any) -> None:
        """Have the worker call ``function`` (``"module:name"``), a function or a generator."""
        self._send((function, arguments))

    def _send(self, message: Any) -> None:
        with contextlib.suppress(OSError):  # receive reports a dead worker
            self._pipe.send(message)

    def receive(self) -> Any:
        """The next item that the call yields, or ``Returned``, which is its last. Blocks.

        Raises JobError where the call failed or the process died, StoppedError where no other call
        could go on either.
        """
        try:
            message = self._pipe.recv()
        except (EOFError, OSError):
            self._pipe.close()
            raise from_exit(self._process.exit_code(), self._oom_kills, self._log) from None
        if isinstance(message, Exception):
            raise message
        return message

    def call(self, function: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Call a function in the worker and wait for what it returns.

        seconds: time limit, after which the process is killed. Raises JobError.
        """
        self.send(function, *arguments)
        *_, returned = self._messages(seconds)
        return returned.value

    def items(self, seconds: float | None = None) -> Iterator[Any]:
        """What the generator that was sent yields. seconds: time limit of each item."""
        return (item for item in self._messages(seconds) if not isinstance(item, Returned))

    def _messages(self, seconds: float | None) -> Iterator[Any]:
        message = None
        while not isinstance(message, Returned):
            if seconds is not None and not self._pipe.poll(seconds):
                self.stop()
                raise timeout(seconds)
            message = self.receive()
            yield message

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._process.kill()


def _start(function: str, channel: int) -> subprocess.Popen[bytes]:
    """A new process that calls a function of ``worker`` with a handle that it inherits.

    Ctrl-C in the terminal is for the process that submits: this one is in a group of its own.
    """
    code = _START.format(sys.path, function, channel)
    command = [sys.executable, "-c", code]
    if sys.platform == "win32":
        os.set_handle_inheritable(channel, True)
        group = subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(command, stdin=DEVNULL, close_fds=False, creationflags=group)
    return subprocess.Popen(command, stdin=DEVNULL, pass_fds=[channel], start_new_session=True)


class _Spawned:
    """A worker that was started anew."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        with theirs:
            self._process = _start("serve_alone", theirs.fileno())

    def exit_code(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS)
        self.kill()
        return self._process.returncode

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class _Server:
    """The process that forks workers; it ends them when this process ends, however it does."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = _start("fork_workers", theirs.fileno())
        self._lock = threading.Lock()

    def ask(self, number: int, *handles: int) -> int:
        """Fork a worker with these handles (the answer is its process), or how one has ended."""
        with self._lock:
            socket.send_fds(self._socket, [struct.pack("q", number)], handles)
            answer: int = struct.unpack("q", self._socket.recv(8))[0]
            return answer


class _Forked:
    """A worker of a server."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._code: int | None = None
        # A new pipe of each try: a worker that a killed server left may read from the last one.
        self.pipe, theirs = Pipe()
        with theirs:
            # It knows its process from another that is given the number later.
            self._process = psutil.Process(server.ask(0, theirs.fileno()))

    def exit_code(self) -> int | None:
        """None where the server is gone, and with it how this one ended."""
        if self._code is None:
            with contextlib.suppress(*GONE):
                self._code = self._server.ask(self._process.pid)
        return self._code

    def kill(self) -> None:
        if self._code is None:
            with contextlib.suppress(psutil.Error):
                self._process.kill()
                if self.exit_code() is None:
                    self._process.wait(EXIT_SECONDS)


_servers: dict[int, _Server] = {}  # by the process that started it: a fork of it has its own
_starting = threading.Lock()


def _forked() -> _Forked:
    with _starting:
        own = os.getpid()
        for _ in range(2):  # where the server was killed, once more with a new one
            try:
                _servers[own] = _servers.get(own) or _Server()
                return _Forked(_servers[own])
            except GONE as error:
                why = one_line(error)
            _servers.pop(own, None)
    raise StoppedError(
        f"the process that starts workers died twice ({why}); "
        "if the memory is short, --jobs 1 takes less"
    )
