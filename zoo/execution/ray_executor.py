"""``--on ray``: jobs on a Ray cluster, or a Ray of this machine's own. Imports no Ray."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import secrets
import socket
import stat
from pathlib import Path

from pydantic import Field

from zoo.errors import ZooError
from zoo.execution.cluster.cluster_executor import ClusterExecutor
from zoo.execution.cluster.engine_process import EngineProcess
from zoo.execution.executor_choice import ExecutorOptions

ENGINE = "zoo.execution.ray_engine:RayEngine"
# Read when Ray is imported. No usage statistics; the usual priority for workers; an end soon where
# the head is gone, and not after minutes of attempts.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "20",
    "RAY_ADDRESS": "",
}
CONNECT_SECONDS = 3.0  # for the head's port to answer
START_SECONDS = 120.0  # for Ray to begin here; it takes 6 on a machine that is not busy


class RayOptions(ExecutorOptions):
    """Options of ``--on ray``."""

    address: str = Field(
        default="",
        description="HOST:PORT of a Ray cluster that runs already; by default RAY_ADDRESS and, "
        "where that is not set, a Ray of this machine's own, which ends with the run.",
    )


class RayExecutor(ClusterExecutor):
    """Runs jobs on the nodes of a Ray cluster.

    Raises ZooError where Ray is not installed, and for an address that is no HOST:PORT.
    """

    options = RayOptions

    def __init__(self, address: str = "") -> None:
        if importlib.util.find_spec("ray") is None:
            raise ZooError("--on ray needs Ray: pip install 'encoder-zoo[ray]'")
        host = _checked(address or os.environ.get("RAY_ADDRESS", ""))
        super().__init__(functools.partial(_connect, host))


def _checked(address: str) -> str:
    """The address; ZooError where it is not HOST:PORT."""
    if address.startswith("ray://"):
        raise ZooError(
            f"--address {address}: this is Ray's client protocol, whose driver runs on the cluster "
            "and not here, where the records are written; give HOST:PORT of the head, as "
            "'ray start --head' prints it (the port is usually 6379)"
        )
    match = re.fullmatch(r"(\[[^\]]+\]|[^:/\s]+):(\d{1,5})", address)
    if address and (match is None or not 0 < int(match[2]) < 65536):
        raise ZooError(f"--address {address}: give HOST:PORT, such as 10.0.0.1:6379")
    return address


def _connect(address: str) -> EngineProcess:
    """An engine that is connected; ZooError within 5 seconds where nothing answers there."""
    if address:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except OSError as error:
            why = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
            raise ZooError(
                f"--address {address}: nothing to connect to there ({why}); 'ray start --head' "
                "prints the address of a head"
            ) from None
        _check_token()
        own = {}
    else:
        own = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            # The only setting of Ray's with which it binds to 127.0.0.1.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }
    environment = {**ENVIRONMENT, **own}
    return EngineProcess("Ray", ENGINE, {"address": address}, START_SECONDS, environment)


def _check_token() -> None:
    """ZooError where there is no token though Ray is told to use one, or other users can read it.

    Ray itself aborts the process where there is none.
    """
    if os.environ.get("RAY_AUTH_TOKEN"):  # comes before any file
        return
    place = os.environ.get("RAY_AUTH_TOKEN_PATH")
    file = Path(place) if place else Path.home() / ".ray" / "auth_token"
    if os.environ.get("RAY_AUTH_MODE", "").lower() == "token" and not file.is_file():
        raise ZooError(
            f"RAY_AUTH_MODE is token, and there is no token at {file}: copy the head's "
            "~/.ray/auth_token there (readable by you alone), or set RAY_AUTH_TOKEN to its content"
        )
    if file.is_file() and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        raise ZooError(f"{file}: others can read this token of Ray's; chmod 600 {file}")
