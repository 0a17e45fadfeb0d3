"""A tracker in a process of its own: whatever it does, the run goes on.

The process reads the tracker's name and the plug-in files from a pipe, and then what happens to
each run. It answers each message with "" or the reason why the tracker failed.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zoo.registry import BUILT_IN, Choice, loading
from zoo.registry.hooks import described
from zoo.tracking.base import Tracker

# What the process runs: this module, found where this process finds it.
_START = "import sys; sys.path[:] = {}; from {} import main; main({})"


class TrackerProcess:
    """The side of the process that runs the sweep; ``send`` never waits for the tracker.

    name: of the tracker, with parameters. files: the single-file plug-ins. failure: why it is left
    out; empty while it works.
    """

    def __init__(self, name: str, files: Sequence[str]) -> None:
        self.name, self.files = name, tuple(files)
        self.failure = ""
        self._messages: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._process: subprocess.Popen[bytes] | None = None
        # A thread, because writing to a process that is busy would block.
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, *message: Any) -> None:
        """Have it start, log or end a run, after what was sent before."""
        if not self.failure:
            self._messages.put(message)

    def wait(self, seconds: float) -> None:
        """Wait until it has done all that was sent; one that takes longer is left out."""
        done = self._messages.all_tasks_done
        with done:
            in_time = done.wait_for(lambda: not self._messages.unfinished_tasks, seconds)
        if not in_time:
            self._fail("it did not do its work in time")

    def finish(self) -> None:
        """Have the process end after what was sent before."""
        self._messages.put(())

    def close(self, seconds: float) -> None:
        """Let it finish, for so many seconds at most, and end the process."""
        self.finish()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._fail("it did not finish in time")
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        if self._process is not None:
            self._process.kill()

    def _work(self) -> None:
        """Start the process with the first message, and pass on one message after the other."""
        pipe: Connection | None = None
        with tempfile.TemporaryDirectory(prefix="zoo-", ignore_cleanup_errors=True) as scratch:
            log = Path(scratch) / "tracker.log"
            while message := self._messages.get():
                try:
                    if not self.failure:
                        if pipe is None:
                            pipe = self._start(log)
                            self._ask(pipe, self.name, self.files)
                        self._ask(pipe, *message)
                except (OSError, EOFError):
                    self._fail(_last_line(log) or "its process died")
                finally:
                    self._messages.task_done()
            if pipe is not None:
                pipe.close()
            if self._process is not None:
                self._process.wait()

    def _ask(self, pipe: Connection, *message: Any) -> None:
        pipe.send(message)
        if reason := pipe.recv():
            self._fail(reason)

    def _start(self, log: Path) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs, log.open("wb") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(sys.path, __name__, theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                process_group=0,  # Ctrl-C in the terminal is for the process that submits
            )
        return Connection(ours.detach())


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""
    return ""


def main(descriptor: int) -> None:
    """Run in the process: carry out what comes through the pipe until it closes."""
    pipe = Connection(descriptor)
    choice: Choice | None = None
    runs: dict[str, Tracker] = {}
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            break
        reason = ""
        try:
            if choice is None:
                name, files = message
                choice = loading.load(files).registry.choose("tracker", name)
            else:
                _carry_out(choice, runs, *message)
        except ModuleNotFoundError as error:
            built_in = choice is not None and choice.component.owner.distribution == BUILT_IN
            hint = ": pip install 'encoder-zoo[track]'" if built_in else ""
            reason = f"{error.name} is not installed{hint}"
        except BaseException as error:  # noqa: BLE001 - it may even call sys.exit
            reason = described(error)
        pipe.send(reason)
    for tracker in runs.values():
        with contextlib.suppress(Exception):
            tracker.end("interrupted", {})


def _carry_out(
    choice: Choice, runs: dict[str, Tracker], kind: str, key: str, *arguments: Any
) -> None:
    """One message: of the run of this key, which is started, logged or ended."""
    if kind == "start":
        with contextlib.suppress(OSError):  # a tracker that writes no files does without it
            arguments[0].directory.mkdir(parents=True, exist_ok=True)
        runs[key] = choice.build()
        runs[key].start(*arguments)
    elif kind == "log":
        runs[key].log(*arguments)
    else:
        runs.pop(key).end(*arguments)
