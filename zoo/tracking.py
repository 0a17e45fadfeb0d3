"""The contract of a tracker, and the process that one works in. No torch here."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent import futures
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
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            # This module, found where this process finds it.
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path}; {_MAIN}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in the terminal is for the process that submits
        )
        # A thread, because writing to a process that is busy would block.
        self._thread = futures.ThreadPoolExecutor(1)
        self._last: futures.Future[Any] = self._thread.submit(self._ask, (name, tuple(files)))

    def send(self, *message: Any) -> None:
        """Have it start, log or end a run, after what was sent before."""
        if not self.failure:
            self._last = self._thread.submit(self._ask, message)

    def wait(self, seconds: float, late: str = "it did not do its work in time") -> None:
        """Wait until it has done all that was sent; one that takes longer is left out."""
        if futures.wait([self._last], seconds).not_done:
            self._fail(late)

    def close(self, seconds: float) -> None:
        """Let it finish what was sent, for so many seconds at most, and end the process.

        One that is closed already stays so: it may have failed while it was closed.
        """
        if self._log.closed:
            return
        self._last = self._thread.submit(self._process.communicate)  # the process ends at its end
        self.wait(seconds, "it did not finish in time")
        self._process.kill()
        self._process.wait()
        self._thread.shutdown()
        self._log.close()

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self._process.kill()

    def _ask(self, message: tuple[Any, ...]) -> None:
        """Pass on one message, in the thread, and note the reason where the tracker fails."""
        if self.failure:
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
            if reason := pickle.load(self._process.stdout):
                self._fail(reason)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._log.seek(0)
            printed = self._log.read().decode(errors="replace").strip().splitlines()
            self._fail(printed[-1].strip() if printed else "its process died")


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
