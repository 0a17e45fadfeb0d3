"""What malloc is told is seen in what the process keeps."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, torch
from zoo.measure import allocator
import psutil
getattr(allocator, sys.argv[1])()
own = psutil.Process()
torch.ones(8).sum()
before = own.memory_info().rss
x = torch.ones(2**24)  # 64 MiB, above what glibc maps by itself
del x
print((own.memory_info().rss - before) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
@pytest.mark.parametrize(
    ("told", "low", "high"), [("keep_blocks", 60, 70), ("give_back_blocks", -5, 5)]
)
def test_what_is_freed_is_kept_or_given_back(told: str, low: float, high: float):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, told], capture_output=True, text=True, check=True
    )
    assert low <= float(done.stdout) <= high
