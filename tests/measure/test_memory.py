"""Peak memory is what work needs; what is held beside it is what timed steps hold."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from zoo.measure.turns import summarise

SCRIPT = """
import json, torch
from zoo.measure.memory import peaks_of

class Work:
    def __init__(self):
        self.kept = [torch.ones(8 * 2**18)]  # 8 MiB

    def exercise(self, phase):
        blocks = [torch.ones(2 * 2**18) for _ in range(16)]  # 32 MiB
        del blocks[::2]  # 16 MiB are freed, in holes of 2 MiB
        torch.ones(32 * 2**18)  # and this fits into none of them

found = peaks_of(device=torch.device("cpu"), first=lambda: torch.ones(9).sum(), set_up=Work,
                 phases=("inference", "training"))
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's")
def test_the_peak_is_what_is_needed_and_more_is_held_where_freed_memory_is_kept():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    both = json.loads(done.stdout)
    assert list(both) == ["inference", "training"]
    assert all(one["peak_mib"] == pytest.approx(8 + 16 + 32, abs=4) for one in both.values())
    found = both["training"]
    assert found["peak_mib"] + 12 < found["held_mib"] < 8 + 32 + 32 + 4
    assert "freed memory returned" in found["how"]


def test_a_row_says_both_what_is_needed_and_what_is_held():
    turns = {phase: {"cpu": [[1.0]]} for phase in ("train", "infer", "latency")}
    memory = {
        "training": {"peak_mib": 99.0, "held_mib": 175.0, "how": "x"},
        "inference": {"peak_mib": 50.0, "how": "x"},
    }
    properties = {"params": 1, "batches": [[1, 1]], "kernels": []}
    samples = {"properties": properties, "clock": "cpu", "turns": turns, "memory": memory}
    metrics = summarise(samples)
    assert (metrics["peak_memory_mib"], metrics["held_memory_mib"]) == (99.0, 175.0)
    del memory["training"]["held_mib"]  # a platform without any
    assert summarise(samples)["held_memory_mib"] is None
