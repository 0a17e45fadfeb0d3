"""The default recipe is chosen on held-out texts, and published lines say that it is no worse."""

import json
import statistics
from pathlib import Path

import pytest
from scipy import stats

import zoo
from bench.recipe import (
    BEFORE,
    CELLS,
    LINES,
    MARGIN,
    RECIPES,
    default_recipe,
    difference,
    main,
    no_worse,
    page,
    train,
)

DATA = "newswire(train=60,test=20)"
OTHER = (2, 8, 5e-3)


def line(recipe, seed, wrong, data="bbc-news", cell="fused+rope"):
    values = dict(zip(("epochs", "batch_size", "lr"), recipe, strict=True))
    about = {"device_name": "a machine", "torch": "2", "commit": "a" * 40, "fingerprint": ""}
    about |= {"seconds": 2.0, "cpu_seconds": 1.5, "scored": 200}
    return about | {"data": data, "cell": cell, "seed": seed, "recipe": values, "wrong": wrong}


def lines_of(recipe, wrong_of_seeds, **more):
    return [line(recipe, seed, [*range(n)], **more) for seed, n in enumerate(wrong_of_seeds)]


def test_a_recipe_is_compared_by_seed_with_the_one_before():
    before, other = (12, 10, 15, 11, 9), (10, 9, 12, 12, 8)
    found = difference([*lines_of(BEFORE, before), *lines_of(OTHER, other)], OTHER)
    points = [100 * (b - o) / 200 for b, o in zip(before, other, strict=True)]
    expected = stats.t.interval(0.95, 4, statistics.fmean(points), stats.sem(points))
    assert (found.low, found.high) == pytest.approx(expected)


def test_a_seed_that_lacks_a_cell_does_not_count():
    both = [*lines_of(BEFORE, (10, 10, 10)), *lines_of(OTHER, (8, 8, 8))]
    more = [
        line(r, seed, [*range(20)], cell="fused+sin") for r in (BEFORE, OTHER) for seed in (0, 1)
    ]
    found = difference([*both, *more], OTHER)
    assert found.mean == pytest.approx(0.5)  # of seeds 0 and 1: 1 point and 0
    assert not no_worse([*both, *more], OTHER)  # two seeds give no interval


@pytest.mark.parametrize(("fewer", "expected"), [(0, True), (1, False)])
def test_a_recipe_within_the_margin_is_no_worse(fewer, expected):
    """Equal in every seed, or worse by the margin in every seed."""
    wrong = [10 + fewer * round(MARGIN * 200 / 100)] * 3
    assert no_worse([*lines_of(BEFORE, [10] * 3), *lines_of(OTHER, wrong)], OTHER) is expected


def test_a_training_is_that_of_zoo_bench_with_validation(tmp_path):
    found = train(DATA, "naive+sin", 1, (1, 8, 3e-3))
    table = zoo.bench(
        *("naive", "sin"), data=DATA, seeds=[1], epochs=1, batch_size=8, lr=3e-3, validation=0.2,
        baseline="none", phases="train", device="cpu", threads=1, on="inline", out=tmp_path,
    ).table  # fmt: skip
    assert 1 - len(found["wrong"]) / found["scored"] == pytest.approx(table["accuracy_mean"][0])
    assert found["scored"] == 12  # a fifth of the training split
    assert 0 < found["cpu_seconds"] < 60


def test_what_is_there_is_not_trained_again(tmp_path, capsys):
    (tmp_path / LINES).write_text(
        "".join(
            json.dumps(line(OTHER, 0, [1], data, cell)) + "\n"
            for data in ("bbc-news", "newswire")
            for cell in CELLS
        )
    )
    before = (tmp_path / LINES).read_bytes()
    words = ["--data", "data/bbc-news", "--recipe", "2/8/5e-3", "--seeds", "1"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert (tmp_path / LINES).read_bytes() == before
    assert page(tmp_path / LINES) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("recipe", "said"), [("3/16", "expected EPOCHS/BATCH/RATE"), ("0/16/1e-3", "--epochs '0'")]
)
def test_a_wrong_recipe_is_refused_in_one_line(recipe, said, tmp_path, refused_command):
    words = ["--data", "newswire", "--recipe", recipe, "--out", tmp_path]
    assert said in refused_command(*words, command=main)
    assert list(tmp_path.iterdir()) == []


def test_published_lines_say_that_the_default_is_no_worse():
    file = Path(__file__).parents[2] / "results" / RECIPES / LINES
    found = [json.loads(one) for one in file.read_text().splitlines()]
    assert no_worse([one for one in found if one["cell"] in CELLS], default_recipe())
