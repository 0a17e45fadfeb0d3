"""Real raylets on loopback addresses of this machine, each with a cache and folders of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

TOKEN = "0123456789abcdef0123456789abcdef"


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
