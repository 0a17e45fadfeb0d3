"""How work fails: the one place where an exception or a dead process becomes a status."""

from __future__ import annotations

import contextlib
import platform
import signal
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import zoo
from zoo.config.places import without_places
from zoo.errors import DivergedError, RefusedError, StoppedError, ZooError, one_line
from zoo.execution.base import CodeVersion, Result, Status
from zoo.files import full_disk
from zoo.registry import BUILT_IN
from zoo.registry.code_hash import module_hash
from zoo.registry.loading import version_of

# What torch says of a lack of memory in a RuntimeError: of the CPU's, the driver's, libraries'.
NO_MEMORY = "allocate memory", "CUDA error: out of memory", "STATUS_ALLOC_FAILED"
LOG_TAIL = 4000  # characters of a dead process' output that are kept


def require_same_code(versions: Iterable[CodeVersion]) -> None:
    """Raise ZooError for a distribution that is missing here, or is of another version or code.

    Reads files and imports none.
    """
    host = platform.node() or "this machine"
    for job in versions:
        name, needs = job.distribution, f"the job needs {job.distribution} {job.version}"
        here = zoo.__version__ if name == BUILT_IN else version_of(name)
        install = f"install it there: pip install {name}=={job.version}"
        if here is None:
            raise ZooError(f"{needs}, which is not installed on {host}; {install}")
        if here != job.version:
            raise ZooError(f"{needs}, and {host} has {name} {here}; {install}")
        if changed := [
            m for m, h in job.modules.items() if h != module_hash(name, m, as_bytes=True)
        ]:
            raise ZooError(
                f"{needs} with the code that it has where the run was started, and on {host} it "
                f"has other code in {', '.join(changed)}; install the same code there, or start "
                "the run again if the code was edited while it ran"
            )


@dataclass(eq=False)
class JobError(Exception):
    """Work that ended without a result, in words without places of this machine.

    rejected: the reason is a ZooError's.
    """

    status: Status
    reason: str
    traceback: str = ""
    rejected: bool = False

    def __post_init__(self) -> None:
        self.reason, self.traceback = without_places(self.reason), without_places(self.traceback)

    def __str__(self) -> str:
        return self.reason

    def result(self, seconds: float = 0.0) -> Result:
        """The result of a job that ended so."""
        return Result(self.status, self.reason, self.traceback, self.rejected, seconds=seconds)


def from_exception(error: BaseException) -> JobError | StoppedError:
    """The failure that an exception is, of the job or of whatever would be done after it."""
    if isinstance(error, JobError | StoppedError):
        return error
    if full := full_disk(error):
        return full
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, ZooError):
        return JobError("crashed", str(error), trace, rejected=True)
    if isinstance(error, RefusedError):
        return JobError("skipped", str(error))
    if isinstance(error, SystemExit):
        return JobError("crashed", f"exited with status {error.code}", trace)
    if isinstance(error, DivergedError):
        return JobError("diverged", str(error), trace)
    # By name, for this module must not import torch.
    out_of_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if out_of_memory or any(text in str(error) for text in NO_MEMORY):
        return JobError("oom", f"out of memory: {one_line(error)}"[:300], trace)
    where = ""
    if frames := traceback.extract_tb(error.__traceback__):
        where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
    return JobError("crashed", f"{one_line(error)[:300]}{where}", trace)


def from_exit(exit_code: int | None, oom_kills_before: int, log: Path) -> JobError:
    """The failure of a process that ended without an answer. log: what it printed.

    exit_code: None where nobody knows it.
    """
    output = ""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        # faulthandler's list of modules is longer than the traceback above it.
        output = "".join(x for x in lines if not x.startswith("Extension modules: "))[-LOG_TAIL:]
    if exit_code is None:
        return JobError("lost", "the process was lost with the one that started it", output)
    if exit_code >= 0:
        return JobError("crashed", f"the process exited with status {exit_code}", output)
    if -exit_code == signal.SIGKILL and oom_kills() > oom_kills_before:
        return JobError("oom", "the machine ran out of memory and killed the process", output)
    name = signal.Signals(-exit_code).name
    return JobError("crashed", f"the process was killed by {name}", output)


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
