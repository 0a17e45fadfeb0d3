"""Examples until solved: the exchange test against plain loops, the cells, and what is missing."""

import itertools
import math
import statistics
import time

import factory
import numpy as np
import pytest
from scipy import stats

from zoo.report.stats.learning import Learning, compared, exchanged, exchanged_over, learning_of

BUDGET = 60_000


def learning(examples, name: str = "a", score: float = 0.53, budget: int = BUDGET) -> Learning:
    """Rates × seeds; the budget or more is not solved, NaN is missing."""
    array = np.array(examples, dtype=float)
    solved = array < budget
    rates, seeds = tuple(10.0**-n for n in range(len(array))), tuple(range(array.shape[1]))
    scores = np.where(solved, 0.99, np.where(np.isnan(array), np.nan, score))
    return Learning(name, np.minimum(array, budget), solved, scores, rates, seeds, budget)


def drawn(
    seed: int, rates: int, seeds: int, solving: float = 0.6, budget: int = BUDGET
) -> Learning:
    generator = np.random.default_rng(seed)
    examples = np.round(generator.lognormal(9.5, 0.6, (rates, seeds)))
    return learning(np.where(generator.random((rates, seeds)) < solving, examples, 2 * budget))


def fastest(runs, missing=()) -> float:
    """The smallest mean log over rates, in plain Python."""
    means = []
    for rate, of_rate in enumerate(runs):
        logs = [math.log(x) for seed, x in enumerate(of_rate) if (rate, seed) not in missing]
        if logs:
            means.append(sum(logs) / len(logs))
    return min(means)


def by_hand(pairs, missing=()) -> tuple[float, float]:
    """Statistic and p, by every exchange of every pair of runs of every task."""
    lists = [(a.examples.tolist(), b.examples.tolist()) for a, b in pairs]
    places = [
        (task, rate, seed)
        for task, (a, _) in enumerate(lists)
        for rate, seed in itertools.product(range(len(a)), range(len(a[0])))
        if (rate, seed) not in missing
    ]

    def statistic(chosen) -> float:
        total = 0.0
        for task, (a, b) in enumerate(lists):
            a, b = [list(of) for of in a], [list(of) for of in b]
            for at, rate, seed in chosen:
                if at == task:
                    a[rate][seed], b[rate][seed] = b[rate][seed], a[rate][seed]
            total += fastest(a, missing) - fastest(b, missing)
        return total / len(lists)

    sets = itertools.chain.from_iterable(
        itertools.combinations(places, count) for count in range(len(places) + 1)
    )
    values = [abs(statistic(chosen)) for chosen in sets]
    observed = statistic(())
    return observed, sum(v >= abs(observed) - 1e-9 for v in values) / len(values)


@pytest.mark.parametrize("seed", range(8))
def test_p_is_the_share_of_all_exchanges_that_are_as_extreme(seed):
    a, b = drawn(seed, 2, 5, solving=0.8), drawn(seed + 100, 2, 5)
    ratio, p = by_hand([(a, b)])
    exchange = exchanged(a, b)
    assert exchange.ratio == pytest.approx(math.exp(ratio))
    assert exchange.p == pytest.approx(p)
    assert compared(a, b) == pytest.approx((ratio, p))
    # Drawn at random, with the observed one counted, it is the same but for chance.
    assert exchanged(a, b, draws=1000).p == pytest.approx(p, abs=4 * math.sqrt(p / 1000) + 0.001)


def test_a_missing_run_drops_its_pair():
    a, b = drawn(1, 2, 5), drawn(2, 2, 5)
    a.examples[0, 1], b.examples[1, 3] = np.nan, np.nan
    ratio, p = by_hand([(a, b)], missing={(0, 1), (1, 3)})
    exchange = exchanged(a, b)
    assert (exchange.ratio, exchange.p) == pytest.approx((math.exp(ratio), p))


def test_over_tasks_runs_are_exchanged_within_each():
    tasks = [(drawn(seed, 1, 5), drawn(seed + 50, 1, 5, solving=0.9)) for seed in (3, 4)]
    ratio, p = by_hand(tasks)
    exchange = exchanged_over(tasks)
    assert (exchange.ratio, exchange.p) == pytest.approx((math.exp(ratio), p))


def test_only_rates_and_seeds_that_both_have_are_compared():
    a, b = drawn(1, 3, 6), drawn(2, 2, 4)
    short = learning(np.where(a.solved, a.examples, 2 * BUDGET)[:2, :4])
    assert exchanged(a, b) == exchanged(short, b)
    other = Learning(b.name, b.examples, b.solved, b.scores, (7.0, 8.0), b.seeds, BUDGET)
    assert math.isnan(exchanged(a, other).ratio)
    assert exchanged(a, other).p == 1.0
    assert compared(a, other) is None


def test_the_interval_holds_the_ratios_that_the_test_does_not_reject():
    a, b = drawn(5, 2, 6, solving=1.0), drawn(6, 2, 6, solving=1.0)
    exchange = exchanged(a, b)
    assert exchange.low < exchange.ratio < exchange.high
    for ratio in (exchange.low, exchange.high):
        for times, kept in ((0.99, ratio == exchange.high), (1.01, ratio == exchange.low)):
            slow = learning(b.examples * max(ratio * times, 1))
            fast = learning(a.examples / min(ratio * times, 1))
            assert (exchanged(fast, slow).p > 0.05) == kept


def test_a_row_that_never_solves_is_slower_by_any_ratio():
    never, fast = learning([[BUDGET] * 6] * 2), drawn(7, 2, 6, solving=1.0)
    exchange = exchanged(never, fast)
    assert exchange.high == math.inf
    assert 1 < exchange.low < exchange.ratio
    turned = exchanged(fast, never)
    assert turned.low == 0
    assert turned.high == pytest.approx(1 / exchange.low, rel=0.01)
    both = exchanged(never, never)
    assert (both.ratio, both.low, both.high, both.p) == (1.0, 0.0, math.inf, 1.0)


def test_exchanges_take_milliseconds():
    a, b = drawn(8, 4, 12), drawn(9, 4, 12)
    begin = time.process_time()
    exchanged(a, b)
    assert time.process_time() - begin < 2


def test_a_cell_says_how_often_how_fast_and_in_how_wide_a_window():
    never = [BUDGET] * 6
    solves = learning([never, [12_000, 11_000, 13_000, 12_000, 12_000, 12_000], [40_000] * 6])
    assert solves.text() == "6/6 · 12k · 2 rates"
    assert (solves.best, solves.rate, solves.window) == (1, 0.1, (0.1, 0.01))
    assert learning([[800] * 3 + [BUDGET]]).text() == "3/4 · 800 · 1 rate"
    some = learning([never, [9_600, 9_600, *never[:4]]])
    assert some.text() == "2/6 · >60k"
    assert (some.median, some.window) == (None, ())
    assert learning([[9_600, 9_600, BUDGET, BUDGET]]).text() == "2/4 · >60k", "half is no median"
    assert learning([never]).text() == "0/6 · .53"


def test_of_rates_that_solve_nothing_the_one_with_the_best_score_is_the_best():
    never = learning([[BUDGET] * 3] * 3)
    never.scores[1] = 0.6
    never.scores[2] = np.nan  # each of them diverged
    assert never.best == 1
    assert never.text() == "0/3 · .60"


def test_the_share_that_solves_has_wilsons_interval():
    row = learning([[1000] * 5 + [BUDGET]])
    expected = stats.binomtest(5, 6).proportion_ci(method="wilson")
    assert (row.share.low, row.share.high) == pytest.approx((expected.low, expected.high))


def test_records_give_each_row_its_runs():
    rope, none = factory.cell(), factory.cell(pe="none")
    records = [
        *factory.streamed(rope, {0.003: [800, 1600, 2400], 0.01: [None, 800, 800]}),
        *factory.streamed(none, {0.003: [None] * 3, 0.01: [None] * 2}),
        factory.record("train", "ok", baseline="words", seed=0, metrics={"accuracy": 0.5}),
        factory.skipped(factory.cell(pe="alibi"), "no bias"),
    ]
    known = learning_of(records)
    assert list(known) == [factory.name(), factory.name(pe="none")]
    row = known[factory.name()]
    assert (row.rates, row.seeds, row.budget) == ((0.003, 0.01), (0, 1, 2), 60_000)
    np.testing.assert_array_equal(row.examples, [[800, 1600, 2400], [60_000, 800, 800]])
    np.testing.assert_array_equal(row.solved, [[1, 1, 1], [0, 1, 1]])
    assert row.score == pytest.approx(statistics.median([0.99] * 3))
    other = known[factory.name(pe="none")]
    assert np.isnan(other.examples[1, 2])
    assert other.runs == 3
    assert learning_of(factory.seeds(rope, [3, 4])) == {}


def test_a_run_that_diverged_counts_as_one_of_the_whole_budget_and_one_that_crashed_is_missing():
    records = factory.streamed(factory.cell(), {0.003: [800, 800, 800, 800]})
    early = records[1].metrics | {"solved": False, "examples_seen": 320}
    records[1] = records[1].model_copy(update={"metrics": early})
    records[2] = records[2].model_copy(update={"status": "crashed", "metrics": {}})
    records += factory.streamed(factory.cell(pe="none"), {0.003: [None] * 4})
    row = learning_of(records)[factory.name()]
    np.testing.assert_array_equal(row.examples, [[800, 60_000, np.nan, 800]])
    assert row.text() == "2/3 · 800 · 1 rate"
