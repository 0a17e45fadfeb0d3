"""Turns of models, and what they say: centres, intervals, and when they tell enough."""

import itertools
import math
import time

import numpy as np
import pytest
from rates import at_least
from scipy import stats

from zoo.measure import turns
from zoo.measure.turns import (
    BETWEEN,
    batch_of,
    block,
    centre_and_error,
    clock_of,
    contention,
    hodges_lehmann,
    log_ratios,
    narrow_enough,
    rate,
    ratios_of,
    turn,
)


def nothing() -> None:
    return


@pytest.mark.parametrize("count", [6, 7, 12, 13, 40])
def test_the_interval_is_that_of_wilcoxons_test(count):
    """Inverted: a shift is within it if the exact test, at about this level, does not reject it."""
    logs = np.random.default_rng(count).normal(0.7, 0.1, count)
    centre, error = hodges_lehmann(logs)
    assert error is not None

    def end(rejected: float) -> float:
        kept = centre
        for _ in range(12):
            middle = (kept + rejected) / 2
            if stats.wilcoxon(logs - middle, method="exact").pvalue >= 0.05:
                kept = middle
            else:
                rejected = middle
        return kept

    # A rank more or less, as the normal approximation has it.
    assert turns.Z * error == pytest.approx((end(1.0) - end(0.4)) / 2, rel=0.12)
    means = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2)]
    assert centre == pytest.approx(np.median(means))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_blocks_have_a_centre_and_no_error(count):
    centre, error = centre_and_error([np.full(count, 0.3)])
    assert centre == pytest.approx(0.3)
    assert error is None
    assert not narrow_enough([[np.full(count, 0.3)]])


@pytest.mark.parametrize("disturbed", [0.0, 0.05])
def test_intervals_hold_the_truth_as_often_as_they_say(disturbed):
    """Blocks of two processes, each with an offset of its own; some blocks are disturbed."""
    generator = np.random.default_rng(17)
    repeats, covered = 400, 0
    for _ in range(repeats):
        logs = generator.normal(0.2, 0.02, (2, 6)) + generator.normal(0, BETWEEN, (2, 1))
        logs -= np.where(generator.random((2, 6)) < disturbed, 0.5, 0.0)
        centre, error = centre_and_error(list(logs))
        assert error is not None
        covered += abs(centre - 0.2) <= turns.Z * error
    assert at_least(covered, repeats, 0.95)


def test_processes_that_are_to_come_make_the_error_smaller():
    logs = np.random.default_rng(1).normal(0, 0.01, 12)
    within = hodges_lehmann(logs)[1]
    assert within is not None
    assert centre_and_error([logs])[1] == pytest.approx(math.hypot(within, BETWEEN))
    expected = math.hypot(within, BETWEEN) / math.sqrt(2)
    assert centre_and_error([logs], planned=2)[1] == pytest.approx(expected)
    # A process in which nothing was timed, as where others had the cores, is none.
    assert centre_and_error([np.empty(0), logs]) == centre_and_error([logs])
    # A product of many speeds, each with half of what a process adds to the ratio of two.
    assert centre_and_error([logs], squares=1.0)[1] == pytest.approx(
        math.hypot(within, BETWEEN / math.sqrt(2))
    )


def test_narrow_is_two_percent_to_each_side():
    steady = [np.zeros(6), np.zeros(6)]
    assert narrow_enough([steady, []])
    wide = [np.linspace(-0.1, 0.1, 6)] * 2
    assert not narrow_enough([steady, wide])
    error = centre_and_error(wide)[1]
    assert error is not None
    assert turns.Z * error > turns.NARROW


def test_ratios_are_of_real_tokens_on_the_batch_of_each_block():
    """Three times as fast in training, and a baseline that took other batches."""
    batches = [[10, 12], [20, 20]]
    reference = model(batches, train=[[1.0, 2.0], [4.0]], infer=[[1.0, 1.0], [1.0]])
    cell = model(batches, train=[[3.0, 6.0], [12.0]], infer=[[1.0, 1.0], [1.0]])
    baseline = model([[300, 300]], train=[[10.0], [10.0]], infer=[[1.0], [2.0]])
    baseline["properties"]["infer_batches"] = [[60, 60]]
    found = [[np.exp(logs).tolist() for logs in one] for one in ratios_of(reference, [cell])]
    assert found == [[pytest.approx([1 / 3, 1 / 3]), pytest.approx([1 / 3])], [[1, 1], [1]]]
    # The second process begins with the first batch: it goes on after six blocks.
    assert batch_of(1, 0, 2) == 0
    assert [np.exp(logs).tolist() for logs in log_ratios(baseline, reference, "train")] == [
        pytest.approx([(300 / 10) / (10 / 1)]),
        pytest.approx([(300 / 10) / (10 / 4)]),
    ]
    assert [np.exp(logs).tolist() for logs in log_ratios(baseline, reference, "infer")] == [
        pytest.approx([(60 / 1) / (10 / 1)]),
        pytest.approx([(60 / 2) / (10 / 1)]),
    ]
    assert log_ratios(cell, reference, "train_threads") == []


def test_a_rate_is_of_all_batches_each_with_the_median_of_its_turns():
    one = model([[10, 12], [20, 20]], train=[[1.0, 2.0, 100.0], [3.0]])
    # The first batch took 1, 100 and 3 seconds, the second one 2.
    assert rate(one, "train") == pytest.approx((10 + 20) / (3 + 2))


def test_contention_is_the_median_of_wall_over_cpu_time():
    one = model([[1, 1]], train=[[1.0, 1.0, 1.0]])
    assert contention(one) == 1.0
    one["turns"]["train"]["wall"] = [[1.0, 2.0, 9.0]]
    assert contention(one) == 2.0


def test_a_block_gives_each_its_turn_and_says_whose_turn_it_is():
    done: list[str] = []
    orders = set()
    for number in range(20):
        said = list(
            block(
                {0: lambda n: done.append(f"a{n}"), 1: lambda n: done.append(f"b{n}")},
                number,
                0.0,
                nothing,
            )
        )
        keys = [key for key, _ in said]
        assert keys in ([0, 0, 1, 1], [1, 1, 0, 0])
        assert [pair is None for _, pair in said] == [True, False, True, False]
        assert sorted(done) == [f"a{number}", f"b{number}"]
        done.clear()
        orders.add(tuple(keys))
    assert len(orders) == 2, "the order is random"


def test_a_turn_is_as_many_steps_as_fit_after_one_that_does_not_count():
    calls: list[float] = []

    def step(_: int) -> None:
        calls.append(time.perf_counter())
        time.sleep(0.05 if len(calls) == 1 else 0.005)

    wall, cpu = turn(step, 0, 0.2, nothing)
    assert 3 <= len(calls) - 1 <= 4  # of the first step's 50 ms
    assert 0.005 <= wall < 0.05
    assert cpu < wall / 2, "a process that sleeps takes no processor time"
    calls.clear()
    wall, _ = turn(step, 0, 0.05, nothing)
    assert len(calls) == 1
    assert wall >= 0.05


def test_processor_time_is_for_one_thread_of_a_cpu():
    assert clock_of("cpu", 1) == "cpu"
    assert clock_of("cpu", 2) == clock_of("cuda", 1) == "wall"


def model(batches: list[list[int]], **seconds: list[list[float]]) -> dict:
    found = {phase: {"cpu": each, "wall": each} for phase, each in seconds.items()}
    return {"properties": {"batches": batches}, "clock": "cpu", "turns": found}
