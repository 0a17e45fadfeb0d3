"""An engine in a process of its own: what it prints, or dies of, stays there.

The process reads the engine's class, directory and options from a pipe, and answers with "" or the
reason why it cannot connect. Then orders come in, and reports go out.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, one_line
from zoo.execution.cluster.engine import Engine, Lost, Report
from zoo.execution.cluster.scratch import remove_dead, scratch_directory, short_place

# What the process runs: this module, found where this process finds it.
_START = "import sys; sys.path[:] = {}; from {} import main; main({})"
# Levels of printed lines that do not say why a process ended, as Python's loggers and Ray's write.
LEVELS = {"INFO", "WARNING", "I", "W"}
SCRATCH = "zooray-"  # how the names of the engines' directories begin
CLOSE_SECONDS = 3.0  # for an engine to end what it started, before it is killed
REMOVE_SECONDS = 1.0  # for what a killed engine has started to write its last files


class EngineProcess:
    """The submitting process's side. factory: ``"module:Class"`` of an engine.

    name: of the engine, for messages. seconds: most that connecting may take. environment: further
    variables of the process. Raises ZooError where the engine cannot connect.
    """

    def __init__(
        self,
        name: str,
        factory: str,
        options: Mapping[str, Any],
        seconds: float,
        environment: Mapping[str, str] = {},
    ) -> None:
        self.name = name
        place = short_place()
        remove_dead(SCRATCH, place)
        self._scratch = scratch_directory(SCRATCH, place)
        self._log = self._scratch / "engine.log"
        ours, theirs = socket.socketpair()
        with theirs, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(sys.path, __name__, theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                process_group=0,  # Ctrl-C in the terminal is for the process that submits
            )
        self._pipe = Connection(ours.detach())
        try:
            self._pipe.send((factory, str(self._scratch), options))
            if not self._pipe.poll(seconds):
                raise ZooError(f"{name} did not answer within {seconds:g} s{self._last_line()}")
            if refused := self._receive():
                raise ZooError(refused)
        except BaseException:
            self.close()
            raise

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        self._send("start", slot, node, cores, gpus)

    def call(self, slot: str, call: bytes) -> None:
        self._send("call", slot, call)

    def stop(self, slot: str) -> None:
        self._send("stop", slot)

    def receive(self, seconds: float) -> list[Report]:
        """The reports that are there, as soon as there is one; none after so many seconds.

        Raises ZooError where the engine's process has ended.
        """
        reports: list[Report] = []
        while self._pipe.poll(0.0 if reports else seconds) and len(reports) < 1000:
            reports.append(self._receive())
        return reports

    def log_to(self, directory: Path) -> None:
        """Have what the engine printed, and prints from now on, in a file of this directory."""
        file = directory.absolute() / f"{self.name.lower()}.log"
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            if self._log.parent == self._scratch:
                with file.open("ab") as there, self._log.open("rb") as here:
                    shutil.copyfileobj(here, there)
            self._send("log_to", str(file))
            self._log = file

    def close(self) -> None:
        """End the engine, and what it started."""
        self._send("close")
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._pipe.close()
        end = time.monotonic() + REMOVE_SECONDS
        while self._scratch.exists() and time.monotonic() < end:
            shutil.rmtree(self._scratch, ignore_errors=True)
            time.sleep(0.05)

    def _send(self, *order: Any) -> None:
        with contextlib.suppress(OSError):  # receive reports an engine that is gone
            self._pipe.send(order)

    def _receive(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise ZooError(
                f"{self.name} is gone: its process here {self._end()}{self._last_line()}. What was "
                "finished is recorded; the same command goes on"
            ) from None

    def _end(self) -> str:
        """How the process ended, in words."""
        try:
            status = self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            return "does not answer"
        if status < 0:
            return f"was killed by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def _last_line(self) -> str:
        """What the engine printed last, but for information and warnings, to end a message."""
        with contextlib.suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            if said := [line for line in said if LEVELS.isdisjoint(line.split()[:4])]:
                return f" ({said[-1][:300]})"
        return ""


def _carry_out(engine: Engine, order: Sequence[Any], report: Callable[[Report], None]) -> None:
    """Do what is ordered of a slot; an engine that cannot has lost it."""
    try:
        getattr(engine, order[0])(*order[1:])
    except Exception as error:  # noqa: BLE001 - a library may raise anything
        traceback.print_exc()
        # Not in this thread, which reads orders: were it to wait until the process that submits
        # reads, that could be waiting in turn until an order is read.
        lost = Lost(order[1], one_line(error))
        threading.Thread(target=report, args=(lost,), daemon=True).start()


def main(descriptor: int) -> None:
    """Run an engine until the process that submits is done with it, or gone."""
    pipe = Connection(descriptor)
    lock = threading.Lock()

    def report(something: Report | str) -> None:
        with lock, contextlib.suppress(OSError):
            pipe.send(something)

    factory, scratch, options = pipe.recv()
    try:
        engine = pkgutil.resolve_name(factory)(report, scratch, **options)
    except Exception as error:  # noqa: BLE001 - a library may raise anything
        report(str(error) if isinstance(error, ZooError) else one_line(error))
        os._exit(1)
    report("")
    engine.watch()
    with contextlib.suppress(EOFError, OSError):
        while (order := pipe.recv())[0] != "close":
            if order[0] == "log_to":
                with open(order[1], "ab") as log:
                    os.dup2(log.fileno(), 1)
                    os.dup2(log.fileno(), 2)
            else:
                _carry_out(engine, order, report)
    engine.close()
    shutil.rmtree(scratch, ignore_errors=True)  # the process that submits may be gone
    os._exit(0)  # not held up by a thread that waits for a node
