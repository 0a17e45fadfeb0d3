"""Worker processes: what becomes of a call where one of three processes dies, at any moment."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import forked
import psutil
import pytest

from zoo.errors import StoppedError
from zoo.execution import process
from zoo.execution.base import Limits
from zoo.execution.failures import JobError
from zoo.execution.process import Worker

# The server is killed whenever it starts.
KILLED = """
import os, signal, sys
if "fork_workers" in " ".join(sys.orig_argv):
    os.kill(os.getpid(), signal.SIGKILL)
"""
# Calls of workers. Reading an Unreadable raises, as where a plug-in file is not loaded.
CALLS = """
import ctypes, threading


class Unreadable:
    def __reduce__(self):
        return refuse, ()


def refuse():
    raise AttributeError("not here")


def hang():
    print("hanging", flush=True)
    ctypes.PyDLL(None).sleep(1000)


def fail_in_a_thread():
    thread = threading.Thread(target=_listen)  # named like the worker's own
    thread.start()
    thread.join()


def _listen():
    raise RuntimeError
"""
SUBMITS = """
import sys, time
from pathlib import Path
import forked
from zoo.execution import process
from zoo.execution.base import Limits

forked.use()
log, pids, process._START = sys.argv[1:]
worker = process.Worker(Limits(), Path(log))
(server,) = process._servers.values()
Path(pids).write_text(f"{worker._process._process.pid} {server._process.pid}")
worker.send("calls:hang")
time.sleep(1000)
"""


# Some modules that models need, and these calls do not, stand for nothing: importing them is most
# of the time in which a server starts.
LIGHT = """
import sys
sys.modules |= dict.fromkeys(["sklearn", "sklearn.linear_model", "sklearn.metrics"], sys)
sys.modules["torch._dynamo"] = sys
"""


@pytest.fixture(scope="module", autouse=True)
def _light_servers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_START", LIGHT + process._START)
        patch.setattr(process, "_servers", {})
        yield


@pytest.fixture
def calls(tmp_path, monkeypatch) -> Path:
    """The directory of the module ``calls``, which workers can import."""
    (tmp_path / "calls.py").write_text(CALLS)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def kill_the_server() -> None:
    """As where a control group is killed that is out of memory."""
    server = psutil.Process(process._servers[os.getpid()]._process.pid)
    for each in (server, *server.children()):
        each.kill()


ENDS = {
    "exits": ("os:_exit", (3,), "crashed", "exited with status 3"),
    "aborts": ("os:abort", (), "crashed", "killed by SIGABRT"),
    "calls sys.exit": ("sys:exit", (4,), "crashed", "exited with status 4"),
    # CUDA answers everything else in the process with the same error.
    "breaks its GPU": (
        "builtins:exec",
        ("raise Exception('CUDA error: x')",),
        "crashed",
        "error: x",
    ),
    "takes too long": ("time:sleep", (5,), "timeout", r"took longer than 0\.5 s"),
    "hangs in native code": ("calls:hang", (), "timeout", r"took longer than 0\.5 s"),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_worker_that_dies_in_a_call_says_how(how, calls):
    function, arguments, status, reason = ENDS[how]
    worker = Worker(Limits(), calls / "log")
    with worker:
        with pytest.raises(JobError, match=reason) as failed:
            worker.call(function, *arguments, seconds=0.5 if status == "timeout" else None)
        assert worker.alive == (how == "calls sys.exit")
    assert failed.value.status == status


def test_a_worker_that_died_before_a_call_or_cannot_read_it_ends_the_call(calls):
    import calls as module

    with Worker(Limits(), calls / "log") as worker:
        worker.stop()
        with pytest.raises(JobError):
            worker.call("os:getpid")
    with Worker(Limits(), calls / "log") as worker:
        with pytest.raises(JobError, match="exited with status 1") as failed:
            worker.call("os:getpid", module.Unreadable(), seconds=60)
        assert "AttributeError: not here" in failed.value.traceback


def test_a_server_that_is_killed_loses_its_calls_and_the_next_worker_has_a_new_one(
    tmp_path, monkeypatch
):
    with Worker(Limits(), tmp_path / "log") as worker:
        worker.send("time:sleep", 60)
        kill_the_server()
        with pytest.raises(JobError) as failed:
            worker.receive()
    assert failed.value.status == "lost"
    with Worker(Limits(), tmp_path / "log") as worker:
        assert worker.call("os:getpid") > 0
    (tmp_path / "sitecustomize.py").write_text(KILLED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(process, "_servers", {})
    monkeypatch.delenv(forked.ADDRESS, raising=False)
    with pytest.raises(StoppedError, match=r"workers died twice \(.*\); if the memory is short"):
        Worker(Limits(), tmp_path / "log")


class Interrupted:
    """A socket on which Ctrl-C comes between a request and its answer."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self.sendmsg, self.close = inner.sendmsg, inner.close

    def recv(self, size: int) -> bytes:
        raise KeyboardInterrupt


def test_ctrl_c_between_a_request_and_its_answer_leaves_no_answer_to_the_next(tmp_path):
    with Worker(Limits(), tmp_path / "log"):
        server = process._servers[os.getpid()]
        server._socket = Interrupted(server._socket)
        with pytest.raises(KeyboardInterrupt):
            Worker(Limits(), tmp_path / "log")
        with Worker(Limits(), tmp_path / "log") as other:
            assert other.call("os:getpid", seconds=60) == other._process._process.pid


def test_a_submitting_process_that_is_killed_takes_a_worker_with_it_that_hangs_in_native_code(
    calls,
):
    """Native code may hold the interpreter's lock, so that no thread of the worker has a turn."""
    log, pids = calls / "log", calls / "pids"
    submits = forked.start(SUBMITS, str(log), str(pids), process._START)
    until(lambda: log.exists() and log.read_text() == "hanging\n")
    started = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
    submits.kill()
    submits.wait()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert alive == []


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_worker_has_what_it_is_given_and_a_thread_of_a_component_that_fails_ends_nothing(calls):
    with Worker(Limits(), calls / "log", {"ZOO_TEST": "given"}) as worker:
        assert worker.call("os:getenv", "ZOO_TEST") == "given"
        assert worker.call("os:getcwd", seconds=60) == os.getcwd()
        assert worker.call("calls:fail_in_a_thread", seconds=60) is None
    assert "RuntimeError" in (calls / "log").read_text()
