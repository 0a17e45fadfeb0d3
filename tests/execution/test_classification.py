"""How an exception or a dead process becomes the status of a job."""

import pickle
import signal
from collections.abc import Callable

import numpy as np
import pytest
import torch

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.errors import DivergedError, ZooError
from zoo.execution import failures
from zoo.execution.base import InspectJob, JobSetup, Limits, Result
from zoo.execution.failures import JobError, from_exception, from_exit, oom_kills
from zoo.execution.local import run_job
from zoo.sweep.progress import summary

ALLOCATOR = (
    "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)"
)


class OwnError(Exception):
    pass


def raised(error: BaseException) -> BaseException:
    """The error with the traceback of this line."""
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


@pytest.mark.parametrize(
    ("error", "status", "reason", "rejected"),
    [
        (ZooError("--dim 0: at least 1"), "crashed", "--dim 0: at least 1", True),
        (DivergedError("the loss became nan"), "diverged", "the loss became nan", False),
        (MemoryError("too much"), "oom", "out of memory: MemoryError: too much", False),
        (torch.OutOfMemoryError("CUDA"), "oom", "out of memory: OutOfMemoryError: CUDA", False),
        (RuntimeError(ALLOCATOR), "oom", "out of memory: RuntimeError: [enforce fail", False),
        (
            RuntimeError("CUDA error: out of memory"),
            "oom",
            "out of memory: RuntimeError: CUDA",
            False,
        ),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when"), "oom", "out of memory: Runtime", False),
        (RuntimeError("bad"), "crashed", "RuntimeError: bad (test_classification.py:", False),
        (KeyError("x"), "crashed", "KeyError: 'x' (test_classification.py:", False),
        (OwnError(), "crashed", "OwnError", False),
        (SystemExit(3), "crashed", "exited with status 3", False),
        (ValueError("a\nb\nc"), "crashed", "ValueError: a b c", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_exception_becomes_a_status(error, status, reason, rejected):
    failure = from_exception(raised(error))
    assert (failure.status, failure.rejected) == (status, rejected)
    assert failure.reason.startswith(reason)
    assert "\n" not in failure.reason
    assert len(failure.reason) < 400
    assert "in raised\n" in failure.traceback
    assert type(error).__name__ in failure.traceback


def test_a_failure_that_is_classified_already_stays_as_it_is_also_through_a_pipe():
    failure = JobError("timeout", "took longer than 3 s", "trace", rejected=True)
    assert from_exception(failure) is failure
    copy = pickle.loads(pickle.dumps(failure))
    assert vars(copy) == vars(failure)
    assert copy.result(2.5).status == "timeout"
    assert (copy.result(2.5).traceback, copy.result(2.5).seconds) == ("trace", 2.5)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (7, "the process exited with status 7"),
        (0, "the process exited with status 0"),
        (-signal.SIGSEGV, "the process was killed by SIGSEGV"),
        (-signal.SIGKILL, "the process was killed by SIGKILL"),
    ],
)
def test_a_dead_process_is_a_crash_with_the_end_of_its_output(code, reason, tmp_path):
    log = tmp_path / "output.log"
    log.write_bytes(b"early\n" * 10_000 + b"Extension modules: a\n\xff last line\n")
    failure = from_exit(code, oom_kills(), log)
    assert (failure.status, failure.reason) == ("crashed", reason)
    assert failure.traceback.endswith(" last line\n")
    assert "Extension modules" not in failure.traceback  # faulthandler's, a hundred of them
    assert len(failure.traceback) <= failures.LOG_TAIL
    assert from_exit(code, oom_kills(), tmp_path / "none").traceback == ""


def test_a_process_that_the_kernel_killed_for_lack_of_memory_is_out_of_memory(tmp_path):
    """The kernel counts such kills; one more than when the process started means this one."""
    failure = from_exit(-signal.SIGKILL, oom_kills() - 1, tmp_path / "none")
    assert failure.status == "oom"
    assert "out of memory" in failure.reason
    assert from_exit(-signal.SIGSEGV, oom_kills() - 1, tmp_path / "none").status == "crashed"


def job() -> InspectJob:
    setup = JobSetup("classify", {}, Sizes(), Training(), Execution(device="cpu"))
    return InspectJob(setup, "this machine", "inspect")


def failing_runner(error: BaseException) -> Callable[..., object]:
    def runner(*_: object) -> object:
        raise error

    return runner


def test_a_job_that_fails_ends_with_a_result_and_an_interruption_does_not(tmp_path, monkeypatch):
    from zoo.execution import train_job

    monkeypatch.setattr(train_job, "inspect", failing_runner(ZooError("no such data")))
    (result,) = run_job(job(), tmp_path, Limits())
    assert (result.status, result.reason, result.rejected) == ("crashed", "no such data", True)
    assert result.seconds > 0
    monkeypatch.setattr(train_job, "inspect", failing_runner(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        list(run_job(job(), tmp_path, Limits()))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        ({np.int64(3): np.arange(2), ("a", 1): {2}}, {"3": [0, 1], "('a', 1)": [2]}),
        ([np.nan, -np.inf, np.array([np.nan, 1.0])], [None, None, [None, 1.0]]),
        ([None, True, "\udc80"], [None, True, "\udc80"]),
    ],
    ids=["numpy", "keys", "no numbers", "plain"],
)
def test_whatever_a_plug_in_returns_is_recorded_in_plain_values(
    value, plain, tmp_path, monkeypatch
):
    from zoo.execution import train_job

    outcome = Result(metrics={"share": value})
    monkeypatch.setattr(train_job, "inspect", lambda *_: iter([outcome]))
    (result,) = run_job(job(), tmp_path, Limits())
    assert (result.status, result.reason, result.metrics) == ("ok", "", {"share": plain})


def test_what_has_no_plain_value_is_named_and_loses_nothing_else(tmp_path, monkeypatch):
    from zoo.execution import train_job

    outcome = Result(metrics={"accuracy": 0.5, "about": {"model": object()}})
    monkeypatch.setattr(train_job, "inspect", lambda *_: iter([outcome]))
    (result,) = run_job(job(), tmp_path, Limits())
    assert result.metrics == {"accuracy": 0.5, "about": {"model": "<object>"}}
    assert result.status == "ok"
    assert result.reason == "model: no plain value, only its type is kept"
    assert summary(result, ()) == f"ok; {result.reason}"
