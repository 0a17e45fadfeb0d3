"""How the time of the first command is divided."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from small_runs import CLASSIFY, bench, write_corpus

from bench.first_command import table, timed
from zoo.errors import ZooError


@pytest.mark.slow
def test_phases_add_up_to_the_whole_and_the_ratio_is_to_the_training_steps(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    options = {**CLASSIFY, "data": str(data), "attention": "fused,naive", "rounds": 1}
    start = time.time()
    outcome = bench(tmp_path / "run", options)
    end = time.time() + 10
    found = timed(outcome.records, start, end)
    assert found.whole == pytest.approx(end - start)
    assert all(seconds >= 0 for seconds in found.phases.values())
    trained = [record for record in outcome.records if record.kind == "train"]
    assert len(trained) == 3
    steps = sum(record.metrics["train_seconds"] for record in trained)
    assert found.steps == steps
    assert found.ratio == pytest.approx((end - start) / steps)
    # Records are dated to the second.
    longest = sum(record.metrics["seconds"] for record in trained)
    assert found.phases["train"] == pytest.approx(longest, abs=2)
    assert found.phases["end"] == pytest.approx(10, abs=2)
    first, *lines = table(found).splitlines()
    assert first.startswith(f"{end - start:.0f} s: {found.ratio:.2f} times the {steps:.0f} s")
    assert [line.split()[0] for line in lines] == ["start", "train", "cost", "end"]
    assert sum(float(line.split()[1]) for line in lines) == pytest.approx(found.whole, abs=0.3)


def test_without_a_training_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(ZooError, match="no training ended well"):
        timed([], 0.0, 1.0)
