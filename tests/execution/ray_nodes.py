"""Real raylets on loopback addresses of this machine, each with a cache and folders of its own,
and runs on them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from small_runs import flags, result_of

from zoo.execution.executor_choice import choose_executor
from zoo.execution.ray_executor import RayExecutor
from zoo.registry.loading import load

TOKEN = "0123456789abcdef0123456789abcdef"
PATIENCE = 300  # seconds for what takes a few on a machine that is not busy


class RayCluster:
    """A head that runs no jobs, and nodes that are added.

    environment: of the head, and of processes that use the cluster. authentication: token, or
    disabled.
    """

    def __init__(self, root: Path, authentication: str = "token") -> None:
        self.root = root
        # The paths of Ray's sockets may have no more than 107 characters.
        self.sockets = Path(tempfile.mkdtemp(prefix="zray", dir="/tmp"))
        with socket.socket() as free:
            free.bind(("127.0.0.2", 0))
            self.address = f"127.0.0.2:{free.getsockname()[1]}"
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": authentication,
            "RAY_AUTH_TOKEN": TOKEN,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self.hosts = iter(range(3, 250))
        try:
            self._start("head", 0, "--head", "--port", self.address.rpartition(":")[2], host=2)
        except BaseException:
            self.close()
            raise

    def add(self, name: str, cores: int, gpus: int = 0, **environment: str) -> None:
        words = "--address", self.address
        self._start(name, cores, *words, gpus=gpus, host=next(self.hosts), **environment)

    def _start(
        self, name: str, cores: int, *words: str, gpus: int = 0, host: int, **environment: str
    ) -> None:
        folder = self.root / name
        (folder / "tmp").mkdir(parents=True)
        command = ["start", *words, "--node-name", name, "--node-ip-address", f"127.0.0.{host}"]
        command += ["--num-cpus", str(cores), "--num-gpus", str(gpus)]
        command += ["--object-store-memory", str(10**8), "--include-log-monitor", "false"]
        command += ["--temp-dir", str(self.sockets / name)]
        if "--head" in words:
            command += ["--include-dashboard", "false"]
        own = {"ZOO_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
        done = subprocess.run(
            [sys.executable, "-m", "ray.scripts.scripts", *command],
            env={**self.environment, **own, **environment},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def processes(self, name: str) -> list[psutil.Process]:
        """Every process of a node, and of what runs there."""
        found: dict[int, psutil.Process] = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("TMPDIR") == str(self.root / name / "tmp"):
                    # A worker of Ray's writes its title over its environment.
                    found |= {p.pid: p for p in (process, *process.children(recursive=True))}
        return list(found.values())

    def slots(self) -> list[psutil.Process]:
        """Every actor of every node, and what it has started."""
        found = []
        for name in os.listdir(self.root):
            for process in self.processes(name):
                with contextlib.suppress(psutil.Error):
                    line = " ".join(process.cmdline())
                    if "ray::Slot" in line or "forkserver" in line:
                        found.append(process)
        return found

    def directories(self) -> set[Path]:
        """What slots have made for temporary files on all nodes."""
        return {
            path for path in self.root.glob("*/tmp/*") if path.name.startswith(("zoo-", "pymp-"))
        }

    def kill(self, name: str) -> None:
        """The node's power is cut."""
        for process in self.processes(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def close(self) -> None:
        for name in os.listdir(self.root):
            self.kill(name)
        shutil.rmtree(self.sockets, ignore_errors=True)


def on(cluster: RayCluster) -> Any:
    return choose_executor(load().registry, "ray", {"address": cluster.address})


def names_of(cluster: RayCluster) -> set[str]:
    """The names of the nodes that Ray takes to be there."""
    with contextlib.closing(RayExecutor(cluster.address)) as executor:
        return {node.name for node in executor.nodes()}


def start(cluster: RayCluster, options: dict[str, Any], out: Path) -> subprocess.Popen[str]:
    """``zoo bench --on ray`` as in a terminal, in a process group of its own."""
    where = ["--on", "ray", "--address", cluster.address, "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", *flags(options), *where],
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def by_key(outcome: Any) -> dict[str, object]:
    assert [record.status for record in outcome.records] == ["ok"] * len(outcome.records)
    return {record.key: result_of(record) for record in outcome.records}


def wait_for(condition: Any, what: str, process: subprocess.Popen[str] | None = None) -> float:
    """Wait, and return the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() - begun < PATIENCE, f"not within {PATIENCE} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - begun


def trained(out: Path, before: int = 0) -> bool:
    """Whether there are more records than before, and another training is at work."""
    records = out / "records.jsonl"
    there = records.read_bytes().count(b"\n") if records.exists() else 0
    return there > before and any(out.glob("unfinished/*/c*"))


def said(name: str, seconds: float, record_property: Any) -> None:
    """For the table of kills: how long something took."""
    record_property(name, round(seconds, 1))
    print(f"{name}: {seconds:.1f} s")
