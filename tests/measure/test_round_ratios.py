"""When the rounds of a cost measurement tell enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from zoo.measure.round_ratios import narrow_enough, ratios_of


@pytest.mark.parametrize("count", [3, 4, 5])
def test_narrow_is_a_t_interval_of_less_than_five_percent(count: int) -> None:
    logs = np.random.default_rng(count).normal(0.7, 0.01, count)
    half = stats.t.interval(0.95, count - 1, 0.0, stats.sem(logs))[1]
    share = math.expm1(half)
    assert narrow_enough([logs], share * 1.001)
    assert not narrow_enough([logs], share * 0.999)
    assert not narrow_enough([logs, logs, logs * 2], share * 1.001)
    scale = math.log1p(0.05) / half
    assert narrow_enough([logs * scale * 0.999])
    assert not narrow_enough([logs * scale * 1.001])


def test_ratios_are_of_every_model_and_phase_with_the_batches_of_each() -> None:
    """Three times as fast in training, and a baseline that took other batches."""
    reference = {
        "properties": {"batches": [[10, 12], [20, 20]]},
        "rounds": [
            {"train": [3.0, 6.0], "infer": [1.0, 1.0]},
            {"train": [6.0, 3.0], "infer": [2.0]},
        ],
    }
    cell = {
        "properties": {"batches": [[10, 12], [20, 20]]},
        "rounds": [
            {"train": [1.0, 2.0], "infer": [1.0, 1.0]},
            {"train": [2.0, 1.0], "infer": [1.0]},
        ],
    }
    baseline = {
        "properties": {"batches": [[300, 300]], "infer_batches": [[60, 60]]},
        "rounds": [{"train": [10.0], "infer": [1.0]}, {"train": [10.0], "infer": [2.0]}],
    }
    found = [np.exp(logs).tolist() for logs in ratios_of(reference, [cell, baseline])]
    rates = [[30 / (30 / 9), 30 / (30 / 9)], [60 / (30 / 2), (60 / 2) / (10 / 2)]]
    assert found == [pytest.approx(one) for one in ([3.0, 3.0], [1.0, 2.0], *rates)]
