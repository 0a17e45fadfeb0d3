"""Streamed data: their recipe, trainings that end when the task is solved, every rate a result."""

import itertools
import shlex

import pytest
import streamed_data
import torch
from refused import refused

import zoo
import zoo.api
from zoo.errors import ZooError
from zoo.execution import train_job
from zoo.sweep.progress import Progress
from zoo.sweep.records import read_run
from zoo.training.trainer import Trainer


@pytest.fixture(scope="module")
def records(streamed):
    return read_run(streamed.directory)


def test_every_rate_and_seed_is_a_training_and_none_is_a_trial(records):
    ran = [(r.kind, r.cell["pe"], r.seed, r.config["training"]["lr"]) for r in records]
    assert sorted(ran) == [
        ("train", pe, seed, lr)
        for pe in ("none", "rope")
        for seed in (0, 1)
        for lr in (0.003, 0.01)
    ]


def test_a_training_ends_with_the_second_evaluation_in_a_row_that_solves_the_task(records):
    assert any(record.metrics["solved"] for record in records)
    for record in records:
        metrics, scores = record.metrics, [e["validation_accuracy"] for e in record.curve]
        runs = [a >= 0.95 and b >= 0.95 for a, b in itertools.pairwise(scores)]
        assert record.config["data"]["solved_at"] == 0.95
        assert metrics["solved"] == any(runs)
        assert runs.index(True) == len(runs) - 1 if any(runs) else metrics["examples_seen"] == 2400
        assert metrics["examples_seen"] == record.curve[-1]["examples"] == 32 * metrics["steps"]
        assert metrics["budget"] == 2400
        assert metrics["scored"] == "test"
        assert metrics["examples"] == 200


def test_without_positions_the_order_stays_unknown(records):
    assert not any(r.metrics["solved"] for r in records if r.cell["pe"] == "none")


def test_what_is_asked_for_wins_over_the_recipe_and_the_recipe_over_the_task(symbols):
    loaded = zoo.api._load(symbols)
    options = {"data": "first-symbol", "plugins": (str(symbols),)}
    (request,) = zoo.api.build_requests(options, loaded.registry)
    assert (request.sizes.dim, request.sizes.ffn_dim, request.seeds) == (32, 64, (0, 1))
    assert request.training.label_smoothing == 0.0
    assert request.phases == ("train",)
    (request,) = zoo.api.build_requests(options | {"dim": 8, "lr": 0.01}, loaded.registry)
    assert (request.sizes.dim, request.training.lr, request.tuned) == (8, 0.01, {})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('"ffn_dims": 64', "no option 'ffn_dims'; did you mean 'ffn_dim'"),
        ('"ffn_dim": "wide"', "--set ffn_dim=wide: .*integer"),
        ('"lr": (0.1, -1)', "--lr -1: .*greater than 0"),
        ('"block": "pre", "masked": 0.2', "--set masked is an option of --task mlm, and this is"),
    ],
)
def test_a_wrong_option_of_a_recipe_names_the_data(wrong, said, tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(streamed_data.PLUGIN.replace('"ffn_dim": 64', wrong))
    loaded = zoo.api._load(file)
    options = {"data": "first-symbol", "plugins": (str(file),)}
    refused(
        f"^recipe of data/first-symbol: {said}",
        lambda: zoo.api.build_requests(options, loaded.registry),
    )


def test_the_command_of_a_record_gives_its_score_again(records, symbols, tmp_path):
    record = records[-1]
    _, _, *words = shlex.split(record.command)
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert "--set" not in options  # the recipe has all else
    options.pop("--plugin")
    given = {name.removeprefix("--").replace("-", "_"): value for name, value in options.items()}
    given["seeds"], given["lr"] = (int(given.pop("seed")),), float(given["lr"])
    given["threads"] = int(given["threads"])
    zoo.bench(**given, plugins=symbols, on="inline", out=tmp_path / "again")
    (again,) = read_run(tmp_path / "again")
    volatile = {"seconds", "train_seconds", "evaluate_seconds"}
    same = {name: value for name, value in record.metrics.items() if name not in volatile}
    assert {n: v for n, v in again.metrics.items() if n not in volatile} == same


def test_a_fixed_training_set_is_trained_to_the_end(symbols, tmp_path):
    zoo.bench(
        data="first-symbol(train=64)",
        evaluate_every=0,
        epochs=3,
        lr=0.003,
        seeds=1,
        plugins=symbols,
        on="inline",
        out=tmp_path / "out",
    )
    (record,) = read_run(tmp_path / "out")
    assert "solved" not in record.metrics
    assert len(record.curve) == 3


def test_a_training_that_diverges_has_not_solved_the_task(symbols, tmp_path, monkeypatch):
    train_step = Trainer.train_step

    def diverging(self, batch):
        loss, right = train_step(self, batch)
        return loss * (torch.nan if self.step > 20 else 1.0), right

    monkeypatch.setattr(train_job.Trainer, "train_step", diverging)
    zoo.bench(
        data="first-symbol", lr=0.003, seeds=1, plugins=symbols, on="inline", out=tmp_path / "o"
    )
    (record,) = read_run(tmp_path / "o")
    assert record.status == "ok"
    assert record.metrics["solved"] is False
    assert record.metrics["examples_seen"] < record.metrics["budget"] == 2400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": 0.2}, "--validation"),
        ({"data": "newswire(train=50, test=20)", "evaluate_every": 10}, "is solved"),
    ],
)
def test_what_cannot_end_when_it_is_solved_is_refused(symbols, options, message):
    with pytest.raises(ZooError, match=message):
        zoo.bench(**{"data": "first-symbol", "plugins": symbols, "on": "inline", **options})


def test_that_a_single_evaluation_cannot_solve_it_is_said(symbols):
    notices = []

    class Heard(Progress):
        def notice(self, text):
            notices.append(text)

    options = {"evaluate_every": 2400, "lr": 0.01, "seeds": 1, "progress": Heard()}
    zoo.bench(data="first-symbol", plugins=symbols, on="inline", **options)
    assert any("a training of 2400 examples is evaluated once" in text for text in notices)
