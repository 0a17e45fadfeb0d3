"""Real raylets on loopback addresses of this machine, each with a cache and folders of its own,
and runs on them."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from zoo.config.settings import spelt

TOKEN = "0123456789abcdef0123456789abcdef"
PATIENCE = 300  # seconds for what takes a few on a machine that is not busy
TIMES = {"seconds", "train_seconds", "evaluate_seconds"}
SMALL = {
    "attention": "fused,naive",
    "pe": "sin",
    "data": "newswire(train=120,test=40)",
    "dim": 16,
    "heads": 2,
    "layers": 1,
    "max-length": 24,
    "batch_size": 8,
    "epochs": 3,
    "seeds": 1,
    "baseline": "none",
    "phases": "train",
    "device": "cpu",
    "threads": 1,
}


class RayCluster:
    """A head that runs no jobs, and nodes of one core that are added."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # The paths of Ray's sockets may have no more than 107 characters.
        self.sockets = Path(tempfile.mkdtemp(prefix="zray", dir="/tmp"))
        with socket.socket() as free:
            free.bind(("127.0.0.2", 0))
            self.address = f"127.0.0.2:{free.getsockname()[1]}"
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "ZOO_PLUGINS": "zoo-ray",
            "ZOO_CACHE": str(root / "cache"),
        }
        self.hosts = iter(range(3, 250))
        try:
            self._start(
                "head", "--head", "--port", self.address.rpartition(":")[2], cores=0, host=2
            )
        except BaseException:
            self.close()
            raise

    def add(self, name: str) -> None:
        self._start(name, "--address", self.address, cores=1, host=next(self.hosts))

    def _start(self, name: str, *words: str, cores: int, host: int) -> None:
        folder = self.root / name
        (folder / "tmp").mkdir(parents=True)
        command = ["start", *words, "--node-name", name, "--node-ip-address", f"127.0.0.{host}"]
        command += ["--num-cpus", str(cores), "--num-gpus", "0"]
        command += ["--object-store-memory", str(10**8), "--include-log-monitor", "false"]
        command += ["--temp-dir", str(self.sockets / name)]
        if "--head" in words:
            command += ["--include-dashboard", "false"]
        own = {"ZOO_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
        done = subprocess.run(
            [sys.executable, "-m", "ray.scripts.scripts", *command],
            env={**self.environment, **own},
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

    def jobs(self, name: str) -> list[psutil.Process]:
        """The processes of a node that run a job."""
        found = []
        for process in self.processes(name):
            with contextlib.suppress(psutil.Error):
                if "ray::run_job" in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def trains(self, name: str) -> bool:
        """Whether a training on a node has come so far that the run knows of it."""
        checkpoints = f"{self.root}/{name}/tmp/**/checkpoint*"
        return bool(glob.glob(checkpoints, recursive=True))

    def kill(self, name: str) -> None:
        """The node's power is cut."""
        for process in self.processes(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def close(self) -> None:
        for name in os.listdir(self.root):
            self.kill(name)
        shutil.rmtree(self.sockets, ignore_errors=True)

    def bench(self, out: Path, **options: Any) -> subprocess.Popen[str]:
        """``zoo bench`` on this cluster as in a terminal, in a process group of its own."""
        return bench(out, self.environment, on=f"ray(address='{self.address}')", **options)


def bench(out: Path, environment: dict[str, str], **options: Any) -> subprocess.Popen[str]:
    given = {**SMALL, "out": out, **options}
    words = [word for name, value in given.items() for word in spelt(name, value).split(" ", 1)]
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finished(process: subprocess.Popen[str]) -> str:
    """What a run that ended well wrote to stderr."""
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"status {process.returncode}: {err}"
    return err


def records(out: Path) -> list[dict[str, Any]]:
    file = out / "records.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def results(out: Path) -> dict[str, Any]:
    """What every training gave, by key, except for times."""
    found = {}
    for record in records(out):
        assert record["status"] == "ok", record["reason"]
        assert record["key"] not in found, "a record is there twice"
        metrics = {k: v for k, v in record["metrics"].items() if k not in TIMES}
        curve = [{k: v for k, v in entry.items() if k not in TIMES} for entry in record["curve"]]
        found[record["key"]] = (metrics, curve)
    return found


def wait_for(
    condition: Callable[[], Any], what: str, process: subprocess.Popen[str] | None = None
) -> float:
    """Wait, and return the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() - begun < PATIENCE, f"not within {PATIENCE} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - begun
