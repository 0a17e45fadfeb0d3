"""Worker processes: a crash, hang or lack of memory costs one piece of work and nothing else.

Where the system can fork safely, one server process imports torch once and forks each worker;
elsewhere each worker is started anew. Nothing imports the caller's script again, as multiprocessing
would, so that ``zoo.bench(...)`` in a script needs no ``if __name__`` guard.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import Pipe, connection
from pathlib import Path
from typing import Any

import psutil

from zoo.errors import StoppedError, one_line
from zoo.execution.base import Limits
from zoo.execution.failures import JobError, from_exception, from_exit, oom_kills, timeout
from zoo.execution.machine import git_state, use_threads

# On macOS a fork of a process that has loaded Accelerate or Objective-C may crash.
FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"
DEVNULL = subprocess.DEVNULL
EXIT_SECONDS = 10.0  # for a process that has closed its pipe to end
GONE = OSError, struct.error, psutil.NoSuchProcess  # what asking a server that was killed raises
_START = "import sys; sys.path[:] = {}; from zoo.execution import process; process.{}({})"


@dataclass(frozen=True)
class Returned:
    """The last message of a call: what it returned."""

    value: Any = None


class Worker(contextlib.AbstractContextManager["Worker"]):
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
            if "CUDA error" in str(message):  # it would answer every later call
                self.stop()
            raise message
        return message

    def call(self, function: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Call a function in the worker and wait for what it returns.

        seconds: time limit, after which the process is killed. Raises JobError.
        """
        self.send(function, *arguments)
        return self.result(seconds)

    def result(self, seconds: float | None = None) -> Any:
        """What the function that was sent returns. seconds, errors: as of ``call``."""
        message = self._message(seconds)
        if not isinstance(message, Returned):
            raise JobError("crashed", "it was busy when it was called")
        return message.value

    def items(self, seconds: float | None = None) -> Iterator[Any]:
        """What the generator that was sent yields. seconds: time limit of each item."""
        while not isinstance(item := self._message(seconds), Returned):
            yield item

    def _message(self, seconds: float | None) -> Any:
        if seconds is not None and not self._pipe.poll(seconds):
            self.stop()
            raise timeout(seconds)
        return self.receive()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._process.kill()


def _start(function: str, channel: int) -> subprocess.Popen[bytes]:
    """A new process that calls a function below with a handle that it inherits.

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
            try:
                socket.send_fds(self._socket, [struct.pack("q", number)], handles)
                answer: int = struct.unpack("q", self._socket.recv(8))[0]
            except BaseException:  # Ctrl-C: the next request would have the answer to this one
                self._socket.close()
                raise
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


def start_server() -> None:
    """Where workers are forked, start what forks them; it imports torch while this process goes on.

    What keeps it from starting is said when the first worker is wanted.
    """
    if FORKS:
        with _starting, contextlib.suppress(OSError):
            _servers[os.getpid()] = _servers.get(os.getpid()) or _Server()


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


def fork_workers(channel: int) -> None:
    """Fork a worker for each pipe that comes; say how one ended; end all with the submitter.

    A request is a number: 0 with a pipe has a worker forked, and the answer is its process; that
    number has the answer how it ended. Native code in a worker that hangs may hold the
    interpreter's lock, so that no thread of its own could end it.
    """
    # Imported once, here, and not in every worker. The first optimizer imports _dynamo: a second.
    import sklearn.linear_model
    import sklearn.metrics  # noqa: F401
    import torch._dynamo  # noqa: F401

    git_state()  # runs git, once too
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
    worker = psutil.Process(process)
    try:
        return int(worker.wait(EXIT_SECONDS))
    except psutil.TimeoutExpired:
        worker.kill()
        return int(worker.wait())


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
    from zoo.measure.memory import keep_blocks

    keep_blocks()
    use_threads(limits.threads)
    calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, calls), daemon=True).start()
    while True:
        name, arguments = calls.get()
        try:
            module, _, attribute = name.partition(":")
            result = getattr(importlib.import_module(module), attribute)(*arguments)
            if isinstance(result, Generator):
                for item in result:
                    pipe.send(item)
                result = None
            pipe.send(Returned(result))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a component may raise anything
            with contextlib.suppress(OSError):  # the disk is full
                traceback.print_exc()
            pipe.send(from_exception(error))


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
