"""The settings of malloc decide what a process holds after a tensor is freed."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, torch
from zoo.measure import memory
import psutil
getattr(memory, sys.argv[1])()
own = psutil.Process()
torch.ones(8).sum()
before = own.memory_info().rss
x = torch.ones(2**24)  # 64 MiB, above what glibc maps by itself
del x
print((own.memory_info().rss - before) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
@pytest.mark.parametrize(
    ("setting", "low", "high"), [("keep_blocks", 60, 70), ("give_back_blocks", -5, 5)]
)
def test_freed_memory_is_held_or_given_back(setting: str, low: float, high: float):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, setting], capture_output=True, text=True, check=True
    )
    assert low <= float(done.stdout) <= high
