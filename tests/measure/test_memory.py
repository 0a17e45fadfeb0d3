"""Peak memory is what work needs, and not what malloc holds back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, torch
from zoo.measure.memory import peaks_of

class Work:
    def __init__(self):
        self.kept = [torch.ones(8 * 2**18)]  # 8 MiB

    def __call__(self, phase):
        blocks = [torch.ones(2 * 2**18) for _ in range(16)]  # 32 MiB
        del blocks[::2]  # 16 MiB are freed, in holes of 2 MiB
        torch.ones(32 * 2**18)  # and this fits into none of them

found = peaks_of(torch.device("cpu"), lambda: torch.ones(9).sum(), Work)
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's")
def test_the_peak_is_what_is_needed():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    both = json.loads(done.stdout)
    assert list(both) == ["inference", "training"]
    assert all(one["peak_mib"] == pytest.approx(8 + 16 + 32, abs=4) for one in both.values())
    assert "freed memory returned" in both["training"]["how"]
