"""A run that goes on with another number of threads says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_runs import Notices, bench


@pytest.mark.parametrize(("threads", "said"), [(1, False), (2, True)])
def test_a_run_that_goes_on_with_other_threads_says_so(
    threads: int, said: bool, small: dict[str, Any], tmp_path: Path
) -> None:
    options = {**small, "pe": "sin", "baseline": "none", "phases": "train", "epochs": 1}
    options["batch_size"] = 72  # one step: each is slow with two threads on the core of a worker
    bench(tmp_path, {**options, "threads": 1})
    progress = Notices()
    bench(tmp_path, {**options, "threads": threads, "seeds": 2}, progress=progress)
    assert "train: 1 there already" in progress.lines
    expected = (
        "train: models that are there already were trained with --threads 1, the others get 2; "
        "the last digits of scores depend on it"
    )
    assert (expected in progress.lines) == said
