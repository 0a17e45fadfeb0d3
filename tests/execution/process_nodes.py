"""An engine whose nodes are folders of this machine, each with a cache and processes of its own.

A node is a folder with a file node.json: {"cores": 2, "gpus": 0, "path": [...], "hidden": [...]}.
It joins when the file appears and leaves when the file is removed. ``path`` comes before this
machine's on the path that Python imports from, and ``hidden`` is left out of this machine's.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from zoo.errors import ZooError
from zoo.execution.base import Event, Executor, Job, Limits
from zoo.execution.cluster.cluster_executor import ClusterExecutor
from zoo.execution.cluster.engine import Engine, Joined, Left, Listed, Lost, Node, Report, Said
from zoo.execution.cluster.engine_process import EngineProcess
from zoo.execution.cluster.slot_calls import carry_out
from zoo.registry import BUILT_IN, Choice, Component, Owner

START = "from process_nodes import serve; serve({})"


def serve(descriptor: int) -> None:
    """Carry out the calls that come through the pipe; runs in a slot."""
    pipe = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        while True:
            for message in carry_out(pipe.recv_bytes()):
                pipe.send_bytes(message)
    os._exit(0)


class FolderNodes(Engine):
    """Slots are subprocesses in the environment of their node."""

    def __init__(self, report: Callable[[Report], None], scratch: str, root: str) -> None:
        self.report, self.root = report, Path(root)
        if not self.root.is_dir():
            raise ZooError(f"no nodes at {root}")
        self.nodes: set[str] = set()
        self.slots: dict[str, tuple[str, subprocess.Popen[bytes], Connection]] = {}

    def watch(self) -> None:
        self._look()
        self.report(Listed())

        def again() -> None:
            while True:
                time.sleep(0.05)
                self._look()

        threading.Thread(target=again, daemon=True).start()

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        about = json.loads((self.root / node / "node.json").read_text())
        ours, theirs = socket.socketpair()
        devices = ",".join(str(number) for number in range(gpus))
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", START.format(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={
                    **os.environ,
                    "ZOO_CACHE": str(self.root / node / "cache"),
                    "TMPDIR": about["tmp"],
                    "CUDA_VISIBLE_DEVICES": devices,
                    "PYTHONPATH": os.pathsep.join(
                        [
                            *about.get("path", []),
                            *(p for p in sys.path if p not in about.get("hidden", [])),
                        ]
                    ),
                },
                cwd=self.root / node,  # comes first on the path
                start_new_session=True,
            )
        pipe = Connection(ours.detach())
        self.slots[slot] = node, process, pipe
        threading.Thread(target=self._listen, args=(slot, pipe), daemon=True).start()

    def call(self, slot: str, call: bytes) -> None:
        with contextlib.suppress(OSError, KeyError):
            self.slots[slot][2].send_bytes(call)

    def stop(self, slot: str) -> None:
        if slot in self.slots:
            _, process, _ = self.slots.pop(slot)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        for slot in list(self.slots):
            self.stop(slot)

    def _listen(self, slot: str, pipe: Connection) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self.report(Said(slot, pipe.recv_bytes()))
        if slot in self.slots:
            _, process, _ = self.slots.pop(slot)
            self.report(Lost(slot, f"its process ended with status {process.wait()}"))

    def _look(self) -> None:
        there = {file.parent.name: file for file in self.root.glob("*/node.json")}
        for name in self.nodes - set(there):
            self.nodes.discard(name)
            for slot in [slot for slot, about in self.slots.items() if about[0] == name]:
                self.stop(slot)
            self.report(Left(name, "it was switched off"))
        for name in sorted(set(there) - self.nodes):
            about = json.loads(there[name].read_text())
            self.nodes.add(name)
            self.report(Joined(Node(name, name, about["cores"], about["gpus"])))


class Nodes:
    """The folders of some nodes, and an executor on them that outlives single runs."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        # The paths of sockets may have no more than 107 characters.
        self.short = Path(tempfile.mkdtemp(prefix="zn-", dir="/tmp"))
        self.options = options
        self.executor = self._made()

    def _made(self) -> ClusterExecutor:
        factory, where = "process_nodes:FolderNodes", {"root": str(self.root)}
        connect = lambda: EngineProcess("Folders", factory, where, 60)  # noqa: E731
        return ClusterExecutor(connect, **self.options)

    def add(self, name: str, cores: int = 1, gpus: int = 0, **more: Any) -> None:
        """A node appears, whole at once."""
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        (self.short / name).mkdir(exist_ok=True)
        about = {"cores": cores, "gpus": gpus, "tmp": str(self.short / name), **more}
        draft = folder / "draft"
        draft.write_text(json.dumps(about))
        os.replace(draft, folder / "node.json")

    def remove(self, name: str) -> None:
        """A node disappears, with everything that runs there; its disk is gone too."""
        (self.root / name / "node.json").unlink(missing_ok=True)
        for process in self.processes(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for place in (self.root, self.short):
            shutil.rmtree(place / name, ignore_errors=True)

    def processes(self, name: str) -> list[psutil.Process]:
        """Every process of a node."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("TMPDIR") == str(self.short / name):
                    found.append(process)
        return found

    def close(self) -> None:
        """End everything."""
        self.executor.close()
        shutil.rmtree(self.short, ignore_errors=True)

    @property
    def on(self) -> Choice:
        """What ``bench(on=...)`` takes; the executor stays open."""
        stays = _Stays(self.executor)
        component = Component(
            "executor", "nodes", lambda: stays, "", "", frozenset(), {}, Owner(BUILT_IN, "0")
        )
        return Choice(component, "nodes")


class _Stays(Executor):
    """An executor that is not closed with a run."""

    def __init__(self, executor: ClusterExecutor) -> None:
        self.executor = executor

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        return self.executor.run(jobs, limits=limits, directory=directory)

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        return self.executor.default_limits(asked, trainings)
