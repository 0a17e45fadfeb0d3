"""What is seen while a run goes on."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from sweeps import TINY, zoo

from zoo.sweep.progress import Plain


def test_elsewhere_than_on_a_terminal_each_end_is_a_plain_line(tmp_path: Path, tiny: list[str]):
    done = zoo("bench", "--pe", "sin", *tiny, "--phases", "trials", "--out", tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "trials: 2 to run"
    assert lines[1].startswith("trials 1/2 fused+sin+layer+gelu+pre+mean seed 0: accuracy ")
    assert done.stdout.splitlines()[0].split()[:2] == ["attention", "pe"]


def test_on_a_terminal_cells_epoch_loss_and_time_left_are_seen(
    tmp_path: Path, corpus_directory: Path
):
    ours, theirs = pty.openpty()
    where = ["--data", str(corpus_directory), "--phases", "trials", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", "--pe", "sin", *TINY, "--epochs", "30", *where],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = seen.decode()
    assert "/2" in text
    assert "/30" in text
    assert "loss " in text
    assert "left" in text


def test_a_failure_is_told_with_its_reason():
    stream = io.StringIO()
    progress = Plain(stream)
    progress.phase("trials", 3)
    progress.started("some", 1)
    progress.ended("some", "oom", "out of memory", None)
    assert "trials 1/3 some: oom: out of memory" in stream.getvalue()
