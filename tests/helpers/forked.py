"""Python processes that are forked from one that has imported what takes seconds.

With it a test of processes pays for what it tests, and not for torch each time. A forked process
has the folder, variables, cores and handles of the one that asks, as one that is started has; but
PYTHONHASHSEED is too late for it, and what starting costs, or imports, only a started one shows.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ADDRESS = "ZOO_TESTS_FORKED"  # the variable with the socket of the process that forks
ZOO = "import sys, forked; forked.use(); from zoo.cli import main; sys.exit(main())"
FIRST_FREE = 200  # above every handle that a process of the tests has


def start_forking(folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that forks, which ends with this one."""
    os.environ[ADDRESS] = str(folder / "fork")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.environ[ADDRESS])
        listener.listen(64)
        number = listener.fileno()
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import forked"
        return subprocess.Popen(
            [sys.executable, "-c", f"{code}; forked.serve({number})"],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )


class Forked:
    """A process that runs code, like ``subprocess.Popen``."""

    def __init__(
        self,
        code: str,
        *arguments: str,
        path: Sequence[str] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | None = None,
        stdout: int = 1,
        stderr: int = 2,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.returncode: int | None = None
        with open(os.devnull, "r+b") as nothing:
            own = (nothing.fileno() if stdin is None else stdin, stdout, stderr)
            numbers = (0, 1, 2, *pass_fds)
            request = {
                "code": code,
                "arguments": arguments,
                "path": list(sys.path if path is None else path),
                "cwd": str(cwd or Path.cwd()),
                "env": dict(os.environ if env is None else env),
                "cores": os.sched_getaffinity(0),
                "numbers": numbers,
            }
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._socket.connect(os.environ[ADDRESS])
            socket.send_fds(self._socket, [pickle.dumps(request)], [*own, *pass_fds])
        self.pid = int(self._socket.recv(64))

    def poll(self) -> int | None:
        return self._code(0)

    def wait(self, timeout: float | None = None) -> int:
        if self._code(timeout) is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _code(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._socket], [], [], seconds)[0]:
            self.returncode = int(self._socket.recv(64))
            self._socket.close()
        return self.returncode


def start(
    code: str, *arguments: str, cwd: Path | None = None, stdout: int = 1
) -> Forked | subprocess.Popen[bytes]:
    """A process that runs code: forked, where there is one that forks."""
    if ADDRESS in os.environ:
        return Forked(code, *arguments, cwd=cwd, stdout=stdout)
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path}\n{code}", *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=stdout)


def output(code: str, cwd: Path) -> str:
    """What code prints in another process, which must end well."""
    with tempfile.TemporaryFile("w+") as printed:
        assert start(code, cwd=cwd, stdout=printed.fileno()).wait() == 0
        printed.seek(0)
        return printed.read()


def use() -> None:
    """Have the server of this process's workers forked too, where there is one that forks."""
    from zoo.execution import process

    start = process._start

    def start_or_fork(function: str, channel: int) -> Any:
        if ADDRESS not in os.environ:
            return start(function, channel)
        return Forked(process._START.format(sys.path, function, channel), pass_fds=[channel])

    process._start = start_or_fork


def serve(number: int) -> None:
    """Fork a process for each that asks and say how it ended, until the standard input closes."""
    import sklearn.linear_model
    import sklearn.metrics  # noqa: F401
    import torch._dynamo  # noqa: F401

    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    listener = socket.socket(fileno=number)
    running: dict[int, socket.socket] = {}
    while 0 not in (ready := select.select([0, listener, ended], [], [])[0]):
        if ended in ready:
            os.read(ended, 512)
            for process in list(running):
                pid, status = os.waitpid(process, os.WNOHANG)
                if pid:
                    with running.pop(process) as channel, contextlib.suppress(OSError):
                        channel.send(b"%d" % os.waitstatus_to_exitcode(status))
        if listener in ready:
            channel, _ = listener.accept()
            message, handles, _, _ = socket.recv_fds(channel, 2**20, 64)
            process = os.fork()
            if process == 0:
                for own in (listener, channel, *running.values()):
                    own.close()
                os.close(ended)
                os.close(wake)
                break
            running[process] = channel
            channel.send(b"%d" % process)
            for handle in handles:
                os.close(handle)
    else:
        return
    _become(pickle.loads(message), handles)


def _become(request: dict[str, Any], handles: Sequence[int]) -> None:
    """Be what was asked for, and run its code."""
    import fcntl

    import torch

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    moved = [fcntl.fcntl(handle, fcntl.F_DUPFD, FIRST_FREE) for handle in handles]
    for handle in handles:
        os.close(handle)
    for handle, number in zip(moved, request["numbers"], strict=True):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.sched_setaffinity(0, request["cores"])
    torch.set_num_threads(len(request["cores"]))
    sys.path[:] = request["path"]
    sys.argv = ["-c", *request["arguments"]]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(request["code"], vars(main))


if __name__ == "__main__":  # as the Python of an xdist worker: forked.py -u -c CODE
    sys.exit(Forked(sys.argv[-1], path=["", *sys.path[1:]], stdin=0).wait())
