"""How a job failed: the one place where an error or a dead process becomes a status."""

from __future__ import annotations

import contextlib
import signal
import traceback
from pathlib import Path

from zoo.errors import DivergedError, ZooError, one_line
from zoo.execution.base import Result, Status

LOG_TAIL = 4000  # characters of a dead process' output that are kept


class JobError(Exception):
    """Work that ended without a result. rejected: the reason is a ZooError's."""

    def __init__(
        self, status: Status, reason: str, traceback: str = "", rejected: bool = False
    ) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
        self.traceback, self.rejected = traceback, rejected

    def __reduce__(self) -> tuple[type[JobError], tuple[Status, str, str, bool]]:
        return JobError, (self.status, self.reason, self.traceback, self.rejected)

    def result(self, seconds: float = 0.0) -> Result:
        """The result of a job that ended so."""
        return Result(
            self.status, self.reason, self.traceback, rejected=self.rejected, seconds=seconds
        )


def from_exception(error: BaseException) -> JobError:
    """The failure that an exception is."""
    if isinstance(error, JobError):
        return error
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, ZooError):
        return JobError("crashed", str(error), trace, rejected=True)
    if isinstance(error, SystemExit):
        return JobError("crashed", f"exited with status {error.code}", trace)
    if isinstance(error, DivergedError):
        return JobError("diverged", str(error), trace)
    # By name, for this module must not import torch.
    out_of_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if out_of_memory or "allocate memory" in str(error):
        return JobError("oom", f"out of memory: {one_line(error)}"[:300], trace)
    where = ""
    if frames := traceback.extract_tb(error.__traceback__):
        where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
    return JobError("crashed", f"{one_line(error)[:300]}{where}", trace)


def from_exit(exit_code: int | None, oom_kills_before: int, log: Path) -> JobError:
    """The failure of a process that ended without an answer. log: what it printed."""
    output = ""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        # faulthandler's list of modules is longer than the traceback above it.
        output = "".join(x for x in lines if not x.startswith("Extension modules: "))[-LOG_TAIL:]
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        if -exit_code == signal.SIGKILL and oom_kills() > oom_kills_before:
            reason = "the machine ran out of memory and killed the process"
            return JobError("oom", reason, output)
        return JobError("crashed", f"the process was killed by {name}", output)
    return JobError("crashed", f"the process exited with status {exit_code}", output)


def timeout(seconds: float) -> JobError:
    """The failure of work that took too long."""
    return JobError("timeout", f"took longer than {seconds:g} s")


def oom_kills() -> int:
    """How many processes the kernel has killed for lack of memory, as far as it says."""
    kills = 0
    for path in ("/proc/vmstat", "/sys/fs/cgroup/memory.events"):
        with contextlib.suppress(OSError):
            for line in Path(path).read_text().splitlines():
                name, _, count = line.partition(" ")
                kills += int(count) if name == "oom_kill" else 0
    return kills
