"""``--on ray``: the submitting process's side. Imports no Ray."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.errors import ZooError
from zoo.execution import base
from zoo.execution.base import Event, Executor, Job, Limits
from zoo.execution.failures import JobError
from zoo.execution.process import Returned, Worker
from zoo.files import scratch_directory

DRIVER, LOG = "zoo_ray.driver", "ray.log"
# Read when Ray is imported. No usage statistics; the usual priority; an end soon where the head is
# gone; a job that Ray kills because its node is out of memory is not tried again.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "20",
    "RAY_task_oom_retries": "0",
    "RAY_ADDRESS": "",
}
# A Ray of one's own asks for its token, and binds to 127.0.0.1: no other setting has it do so.
PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
CONNECT_SECONDS = 3.0  # for the head's port to answer
START_SECONDS = 120.0  # for Ray to begin here; it takes 6 on a machine that is not busy
CLOSE_SECONDS = 3.0  # for Ray to end what it started, before its driver is killed
# What a client of HTTP/2 sends first, with empty settings: a Ray head speaks gRPC.
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SETTINGS = 4  # the type of the frame that a server of HTTP/2 answers with


class RayExecutor(Executor):
    """Runs jobs on the nodes of a Ray cluster.

    address: HOST:PORT of a cluster that runs already; by default ``RAY_ADDRESS``, and where that is
    not set, a Ray of this machine's own, which ends with the run. Raises ZooError for an address
    that is no HOST:PORT.
    """

    def __init__(self, address: str = "") -> None:
        self._address = address or os.environ.get("RAY_ADDRESS", "")
        match = re.fullmatch(r"(\[[^\]]+\]|[^:/\s]+):(\d{1,5})", self._address)
        if self._address and (match is None or not 0 < int(match[2]) < 65536):
            raise ZooError(
                f"ray, address {self._address}: give HOST:PORT of the head, such as "
                "'10.0.0.1:6379', as 'ray start --head' prints it; ray:// is another protocol"
            )
        self._driver: Worker | None = None
        self._open = contextlib.ExitStack()
        self._directory: Path | None = None  # of the run, which is given Ray's log at the end

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """One thread for each job; so many jobs at once as there are cores."""
        return replace(asked, threads=asked.threads or 1)

    def connect(self) -> None:
        """Connect to the cluster, or start one here. Raises ZooError."""
        if self._address:
            _check(self._address)
        self._scratch = scratch = self._open.enter_context(scratch_directory())
        own = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_TMPDIR": str(scratch)} | PRIVATE
        environment = ENVIRONMENT | ({} if self._address else own)
        self._driver = Worker(Limits(), scratch / LOG, environment)
        try:
            with _explained():
                self._driver.call(f"{DRIVER}:connect", self._address, seconds=START_SECONDS)
        except BaseException:
            self.close()
            raise

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs wherever there is room. Raises ZooError where no node can."""
        assert self._driver is not None, "it is not connected"
        self._directory = directory
        self._driver.send(f"{DRIVER}:run", jobs, limits, directory.absolute())
        event, left = None, {job.key for job in jobs}
        try:
            with base.Artifacts(directory) as artifacts:
                while True:
                    with _explained():
                        event = self._driver.receive()
                    if isinstance(event, Returned):
                        break
                    if isinstance(event, base.Ended):
                        left.discard(event.job.key)
                    yield event
                    if isinstance(event, base.Ended):
                        artifacts.remove(event.job)
        finally:
            if left:
                self.close()  # and with the connection all jobs
            elif not isinstance(event, Returned):  # closed after the last result
                self._driver.receive()

    def close(self) -> None:
        """End all jobs, and the Ray that was started here."""
        if self._driver is None:
            return
        with contextlib.suppress(JobError):
            self._driver.call("ray:shutdown", seconds=CLOSE_SECONDS)
        self._driver.stop()
        self._driver = None
        if self._directory is not None and self._directory.is_dir():
            shutil.copyfile(self._scratch / LOG, self._directory / LOG)
        self._open.close()


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Raise ZooError where the driver refused a call, or has ended."""
    try:
        yield
    except JobError as failure:
        if failure.rejected:
            raise ZooError(str(failure)) from None
        last = failure.traceback.strip().rpartition("\n")[2][:200]
        raise ZooError(f"Ray is gone: {failure} ({last}); the same command goes on") from None


def _check(address: str) -> None:
    """ZooError, within 5 seconds, where no Ray head answers, or where others can read the token.

    Ray itself tries for half a minute where nobody answers.
    """
    host, _, port = address.rpartition(":")
    try:
        where = (host.strip("[]"), int(port))
        with socket.create_connection(where, CONNECT_SECONDS) as connection:
            connection.sendall(HTTP2_PREFACE)
            if connection.recv(4)[3:] != bytes([SETTINGS]):
                raise OSError("what listens there is another program")
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
        raise ZooError(
            f"ray, address {address}: no head of a Ray cluster is there ({why})"
        ) from None
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    unread = os.environ.get("RAY_AUTH_TOKEN") or not file.is_file()  # the variable comes first
    if not unread and file.stat().st_mode & 0o044:
        raise ZooError(f"{file}: others can read this token of Ray's; chmod 600 {file}")
