"""The first command without what Windows and macOS lack: no fork, affinity or poll.

Real Windows and macOS are not among our machines. A ``sitecustomize`` takes these functions from
every process of the run, before the zoo is imported, and the platform's encoding is not UTF-8.
"""

import os
import subprocess
import sys

import pytest
from small_runs import bench, by_key, flags

from zoo.sweep.records import RecordFile

LACKING = """
import os, select, signal, socket
for module, names in {
    os: ("fork", "sched_getaffinity", "sched_setaffinity", "getloadavg"),
    select: ("poll", "epoll"),
    socket: ("send_fds", "recv_fds"),
    signal: ("pthread_sigmask",),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
REQUEST = {
    "attention": "fused,naive",
    "pe": "rope",
    "data": "order",
    "baseline": "none",
    "threads": 1,
    "epochs": 1,
    "dim": 16,
    "heads": 2,
    "layers": 1,
    "blocks": 1,
    "seeds": 1,
    "phases": "train,cost",
}


@pytest.mark.slow  # .ci/run has it too
def test_the_first_command_gives_the_same_scores_without_fork(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LACKING)
    encoding = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    options = flags(REQUEST)
    out = tmp_path / "Läufe mit Leerzeichen"
    done = subprocess.run(
        [sys.executable, "-m", "zoo", "bench", *options, f"--out={out}"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), **encoding},
        capture_output=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    found = RecordFile(out).read()
    assert {record.kind for record in found} == {"train", "cost"}
    here = bench(tmp_path / "here", {**REQUEST, "phases": "train"}).records
    assert by_key(here) == by_key([record for record in found if record.kind == "train"])
