"""The settings of malloc decide what a process holds after a tensor is freed."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import torch
from zoo.measure import memory
import psutil
own = psutil.Process()
torch.ones(8).sum()
for setting in (memory.give_back_blocks, memory.keep_blocks):
    setting()
    before = own.memory_info().rss
    x = torch.ones(2**24)  # 64 MiB, above what glibc maps by itself
    del x
    print((own.memory_info().rss - before) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
def test_freed_memory_is_given_back_or_held():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    given_back, held = map(float, done.stdout.split())
    assert given_back == pytest.approx(0, abs=5)
    assert held == pytest.approx(64, abs=6)
