"""Peak memory is what work needs, and not what malloc holds back, which it can be told to."""

import json
import sys

import forked
import pytest

SCRIPT = """
import json, psutil, torch
from zoo.measure import memory

class Work:
    def __init__(self, data):
        self.kept = [torch.ones(8 * 2**18)]  # 8 MiB

    def __call__(self, phase):
        blocks = [torch.ones(2 * 2**18) for _ in range(16)]  # 32 MiB
        del blocks[::2]  # 16 MiB are freed, in holes of 2 MiB
        torch.ones(32 * 2**18)  # and this fits into none of them

print(json.dumps(memory.peaks_of(torch.device("cpu"), *[lambda: torch.ones(9).sum()] * 2, Work)))
held, own = [], psutil.Process()
for setting in (memory.give_back_blocks, memory.keep_blocks):
    setting()
    before = own.memory_info().rss
    x = torch.ones(2**24)  # 64 MiB, above what glibc maps by itself
    del x
    held.append((own.memory_info().rss - before) / 2**20)
print(held)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's, and mallopt glibc's")
def test_the_peak_is_what_is_needed_and_freed_memory_is_given_back_or_held(tmp_path):
    both, held = map(json.loads, forked.output(SCRIPT, cwd=tmp_path).splitlines())
    assert list(both) == ["inference", "training"]
    assert all(one["peak_mib"] == pytest.approx(8 + 16 + 32, abs=4) for one in both.values())
    assert "freed memory returned" in both["training"]["how"]
    assert held == [pytest.approx(0, abs=5), pytest.approx(64, abs=6)]
