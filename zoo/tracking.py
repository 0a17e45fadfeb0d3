"""The contract of a tracker, and the process that one works in. No torch here."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.registry import Choice, loading
from zoo.registry.kinds import to_install
from zoo.registry.plugins import described


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker shows as one run: the training of a model with a seed, or a model's cost.

    name: such as ``fused+rope seed 0`` or ``fused+rope cost``. group: of all runs of one command
    on one data set. directory: for the files of a tracker that writes any; ``zoo bench`` writes
    its results there too. config: task, data, components, sizes and settings by the names of their
    options, and ``phase``: train, tune or cost; plain values.
    """

    name: str
    group: str
    directory: Path
    config: Mapping[str, Any]


class Tracker(ABC):
    """Shows one run; a new one is built for each, and several may be open at once.

    Registered as ``register("tracker", name, factory, ...)``; it is built with its registered
    parameters alone. It runs in a process of its own, so that it may raise, print, or take long.
    """

    @abstractmethod
    def start(self, run: TrackedRun) -> None:
        """The run begins."""

    @abstractmethod
    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers by name after so many epochs; steps increase."""

    @abstractmethod
    def end(self, status: str, values: Mapping[str, float]) -> None:
        """The run is over, with these results.

        status: ``ok``, or how the job failed (oom, timeout, crashed, diverged, lost), or
        ``interrupted``. values: empty where there are none.
        """


class TrackerProcess:
    """A tracker in a process of its own; ``send`` never waits for it.

    name: of the tracker, with parameters. files: the single-file plug-ins. failure: why it is left
    out; empty while it works. The process reads pickled messages, and answers each with "" or with
    the reason why the tracker failed.
    """

    def __init__(self, name: str, files: Sequence[str]) -> None:
        self.name, self.failure = name, ""
        self._messages: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._messages.put((name, tuple(files)))
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

    def close(self, seconds: float) -> None:
        """Let it finish what was sent, for so many seconds at most, and end the process."""
        self._messages.put(())
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
        """Pass on one message after the other, in a thread, until an empty one."""
        with tempfile.TemporaryFile() as log:
            while message := self._messages.get():
                try:
                    if not self.failure:
                        self._ask(message, log)
                except (OSError, EOFError, pickle.UnpicklingError):
                    log.seek(0)
                    printed = log.read().decode(errors="replace").strip().splitlines()
                    self._fail(printed[-1].strip() if printed else "its process died")
                finally:
                    self._messages.task_done()
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
                self._process.wait()

    def _ask(self, message: tuple[Any, ...], log: Any) -> None:
        """Send one message, and note the reason if the tracker fails; starts the process."""
        if self._process is None:
            self._process = subprocess.Popen(
                # This module, found where this process finds it.
                [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path}; {_MAIN}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal is for the process that submits
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()
        if reason := pickle.load(self._process.stdout):
            self._fail(reason)


_MAIN = "import zoo.tracking; zoo.tracking.main()"


def main() -> None:
    """Run in the process: carry out the messages on stdin until it closes."""
    messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a tracker prints is no answer
    choice: Choice | None = None
    runs: dict[str, Tracker] = {}
    while True:
        try:
            message = pickle.load(messages)
        except EOFError:
            break
        reason = ""
        try:
            if choice is None:
                name, files = message
                choice = loading.load(files).registry.choose("tracker", name)
            else:
                _carry_out(choice, runs, *message)
        except ModuleNotFoundError as error:
            there = to_install("tracker", choice.component.name) if choice else ""
            reason = f"{error.name} is not installed{': ' if there else ''}{there}"
        except BaseException as error:  # noqa: BLE001 - it may even call sys.exit
            reason = described(error)
        pickle.dump(reason, answers)
        answers.flush()
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
