"""The page of the default recipe, from its lines."""

import json

import numpy as np
import pytest
from markdown_tables import cells
from scipy import stats

from bench import recipe

BEFORE, GOOD, POOR, SCREENED = ([length, 256, 2, 8, 0.005, 0.0] for length in (256, 128, 96, 64))


def scores(settings, gain, seeds):
    """Lines of two data sets; each seed shifts all recipes alike, and each cell a little."""
    draw = np.random.default_rng(int(settings[0]))
    return [
        {
            "data": data,
            "cell": cell,
            "seed": seed,
            "recipe": settings,
            "accuracy": 0.9 + seed / 100 + gain + draw.normal(0, 0.003),
            "commit": "c" * 40,
        }
        for data in ("news", "wire")
        for cell in ("fused+sin", "fused+rope")
        for seed in seeds
    ]


@pytest.fixture
def file(tmp_path):
    lines = scores(BEFORE, 0.0, range(9)) + scores(SCREENED, -0.05, [0])
    lines += scores(GOOD, 0.002, range(9)) + scores(POOR, -0.02, range(9))
    seconds = {"data": "news", "recipe": GOOD, "commit": "c" * 40}
    lines += [seconds | {"cpu_seconds": value} for value in (7.0, 9.0, 8.0)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path / "lines.jsonl"


def test_each_recipe_is_held_against_the_one_before_on_seeds_that_picked_nothing(file):
    head, *rows = cells(recipe.page(file))
    verdicts = {row[0]: row[-1] for row in rows if row[0].isdigit()}
    assert verdicts == {
        "256": "before",
        "128": "not below",
        "96": "not shown to be as good",
        "64": "screened",
    }
    seeds = {row[0]: row[head.index("seeds")] for row in rows}
    assert (seeds["128"], seeds["64"]) == ("8", "1")
    assert {row[0]: row[head.index("news: s")] for row in rows}["128"] == "8.0"


def test_the_interval_is_that_of_a_paired_t_test_at_5_percent_to_one_side():
    draw = np.random.default_rng(0)
    keys = [("news", "fused+sin", seed) for seed in range(12)]
    before = dict(zip(keys, draw.normal(0.9, 0.01, 12), strict=True))
    after = {key: value + draw.normal(0.002, 0.004) for key, value in before.items()}
    mean, half = recipe.difference(after, before)
    test = stats.ttest_rel([*after.values()], [*before.values()])
    interval = test.confidence_interval(0.90)
    assert (mean - half, mean + half) == pytest.approx((interval.low, interval.high))
