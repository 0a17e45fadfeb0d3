"""Worker processes on every system, started beside whatever else the submitting process does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from zoo.errors import StoppedError
from zoo.execution import process
from zoo.execution.base import Limits
from zoo.execution.process import Worker
from zoo.execution.run_job import JobError

# What Windows lacks, for the process that submits and for all that it starts; `resource` is what
# psutil for Linux needs.
NO_POSIX = """
import os, signal, socket, sys
sys.modules["fcntl"] = None
for module, name in ((os, "fork"), (socket, "send_fds"), (signal, "pthread_sigmask")):
    delattr(module, name)
"""
# The server is killed whenever it starts.
KILLED = """
import os, signal, sys
if "fork_workers" in " ".join(sys.orig_argv):
    os.kill(os.getpid(), signal.SIGKILL)
"""
SCRIPT = """
import zoo
report = zoo.bench("fused", "sin", data="newswire(train=24,test=8)", epochs=1, dim=16, heads=2,
    layers=1, max_length=24, device="cpu", threads=1, baseline="none", phases="train", seeds=1,
    out="out")
print(len(report.rows), report.lines[0]["status"])
"""


def test_a_script_without_a_main_guard_trains_where_nothing_can_be_forked(tmp_path, monkeypatch):
    """No fcntl, no pthread_sigmask, no fork: as on Windows."""
    (tmp_path / "sitecustomize.py").write_text(NO_POSIX)
    script = tmp_path / "script.py"
    script.write_text(f"print('begun')\n{SCRIPT}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines() == ["begun", "1 ok"], done.stderr


def test_a_thread_of_a_component_that_fails_ends_nothing(tmp_path, monkeypatch):
    """Also where it is called like the one that receives calls."""
    (tmp_path / "threaded.py").write_text(
        "import threading\n\ndef _listen():\n    raise RuntimeError\n\ndef call():\n"
        "    one = threading.Thread(target=_listen)\n    one.start()\n    one.join()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with Worker(Limits(), tmp_path / "log") as worker:
        assert worker.call("threaded:call", seconds=60) is None
    assert "RuntimeError" in (tmp_path / "log").read_text()


def test_the_main_module_stays_as_it_is_while_a_worker_starts(tmp_path):
    """Another thread may look for a class there, as pickle does."""
    main, stop = sys.modules["__main__"], threading.Event()
    others: list[object] = []

    def watch() -> None:
        while not stop.is_set():
            if sys.modules["__main__"] is not main:
                others.append(sys.modules["__main__"])

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        for _ in range(3):
            with Worker(Limits(), tmp_path / "log") as worker:
                assert worker.call("os:getpid") > 0
    finally:
        stop.set()
        watching.join()
    assert others == []


ENDS = [
    ("os:_exit", (3,), "exited with status 3"),
    ("os:abort", (), "killed by SIGABRT"),
    ("sys:exit", (4,), "exited with status 4"),
]


@pytest.mark.parametrize(("forks", "ends"), [(True, ENDS), (False, ENDS[:1])])
def test_a_process_that_ends_says_how(forks, ends, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "FORKS", forks)
    for call, arguments, how in ends:
        with Worker(Limits(), tmp_path / "log") as worker:
            with pytest.raises(JobError, match=how) as failed:
                worker.call(call, *arguments)
            assert failed.value.status == "crashed"


def test_work_that_takes_too_long_is_ended_and_a_worker_keeps_what_it_is_given(tmp_path):
    with Worker(Limits(), tmp_path / "log", {"ZOO_TEST": "given"}) as worker:
        assert worker.call("os:getenv", "ZOO_TEST") == "given"
        assert worker.call("os:getcwd", seconds=60) == os.getcwd()
        with pytest.raises(JobError, match=r"took longer than 0\.1 s") as failed:
            worker.call("subprocess:check_call", ["sleep", "5"], seconds=0.1)
        assert failed.value.status == "timeout"
        with pytest.raises(JobError):  # it was ended
            worker.call("os:getpid")


def test_a_server_that_is_killed_again_ends_the_work_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(KILLED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(process, "_servers", {})
    with pytest.raises(StoppedError, match=r"workers died twice \(.*\); if the memory is short"):
        Worker(Limits(), tmp_path / "log")
