"""Training equals a loop written out by hand, and resumes where it was interrupted."""

import functools
import math

import pytest
import torch
import torch.nn.functional as F
from simulated_cuda import PLAIN, SIZES
from token_splits import RUNTIME, Bag, split
from torch import nn

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.errors import DivergedError
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions
from zoo.training import checkpoint
from zoo.training.trainer import Loss, Trainer, schedule


def classification_loss(training: Training, **options: float) -> Loss:
    """The loss of classification with these options."""
    setup = TaskSetup(
        Classify(), ClassifyOptions(**options), Sizes(), training, 40, ["a", "b", "c"]
    )
    return functools.partial(Classify().loss, setup)


@pytest.mark.parametrize("shape", ["linear", "cosine", "constant"])
def test_the_learning_rate_rises_and_falls_as_documented(shape):
    training = Training(schedule=shape, warmup=0.1)
    rates = [schedule(training, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    middle = {"linear": 0.5, "cosine": 0.5, "constant": 1.0}[shape]
    assert rates[55] == pytest.approx(middle)
    assert rates[-1] == pytest.approx({"constant": 1.0}.get(shape, 0.0), abs=0.02)


@pytest.mark.parametrize(
    ("attention", "lengths", "dropout", "kernels"),
    [
        ("fused", [7, 7], 0.0, "flash_attention_for_cpu"),
        ("torch", [7, 5], 0.0, "flash_attention_for_cpu"),
        ("fused/naive", [7, 5], 0.1, "math"),  # as the documentation of attention_dropout says
        ("naive", [7, 7], 0.0, ""),
    ],
)
def test_the_kernel_that_attention_takes_is_noted(registry, attention, lengths, dropout, kernels):
    training = Training(batch_size=2, attention_dropout=dropout)
    setup = TaskSetup(Classify(), ClassifyOptions(), SIZES, training, 50, ["a", "b", "c"])
    model = Classify().build(setup, Cell.parse(registry, PLAIN | {"attention": attention}), 0)
    loss = functools.partial(Classify().loss, setup)
    trainer = Trainer(model, split(lengths), loss, training, RUNTIME, 0)
    trainer.run_epoch()
    assert trainer.attention_kernels == kernels


@pytest.mark.parametrize("batching", ["length", "random"])
def test_training_equals_a_loop_written_out(batching):
    """The plain loop of any tutorial: AdamW, a linear schedule, clipping, cross-entropy."""
    training = Training(
        batching=batching,
        epochs=3,
        batch_size=8,
        lr=0.01,
        warmup=0.0,
        max_grad_norm=0.5,
        dropout=0.0,
    )
    texts = split([5 + i % 7 for i in range(40)])
    ours, plain = Bag(0.0), Bag(0.0)
    trainer = Trainer(ours, texts, classification_loss(training), training, RUNTIME, seed=2)
    losses = [trainer.run_epoch()["loss"] for _ in range(3)]

    decayed = [p for p in plain.parameters() if p.dim() > 1]
    others = [p for p in plain.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=0.01,
    )
    step, expected = 0, []
    for epoch in range(3):
        total = 0.0
        for batch in texts.shuffled(8, seed=2, epoch=epoch, by_length=batching == "length"):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * (1 - step / 15)
            loss = F.cross_entropy(plain(batch.ids, batch.tokens), batch.targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
            optimizer.step()
            total += loss.item() * len(batch.targets)
            step += 1
        expected.append(total / 40)
    assert losses == pytest.approx(expected, rel=1e-5)
    for a, b in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_a_training_interrupted_after_each_epoch_ends_bit_for_bit_the_same(tmp_path):
    training = Training(epochs=4, batch_size=8, label_smoothing=0.1)
    loss = classification_loss(training, token_deletion=0.4)
    texts = split([3 + i % 9 for i in range(50)])

    whole = Trainer(Bag(), texts, loss, training, RUNTIME, seed=5)
    expected = [whole.run_epoch()["loss"] for _ in range(4)]

    file = tmp_path / "checkpoint.pt"
    for _ in range(4):
        torch.manual_seed(999)  # another process finds another random state
        trainer = Trainer(Bag(), texts, loss, training, RUNTIME, seed=5)
        curve = checkpoint.restore(file, trainer)
        curve.append(trainer.run_epoch())
        checkpoint.save(file, trainer, curve)
    assert trainer.finished
    assert [entry["loss"] for entry in curve] == expected
    # So does one whose epochs are told in parts.
    parted = Trainer(Bag(), texts, loss, training, RUNTIME, seed=5)
    for _ in expected:
        *shares, _ = parted.epoch_in_parts(0.0)
        assert shares == pytest.approx([n / 7 for n in range(1, 8)])
    assert all(
        torch.equal(a, b)
        for a, b in zip(whole.model.parameters(), parted.model.parameters(), strict=True)
    )
    for a, b in zip(whole.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut short", "foreign"])
def test_without_a_usable_checkpoint_a_training_starts_anew(tmp_path, damage):
    training = Training(epochs=2, batch_size=8)
    texts = split([4] * 20)
    file = tmp_path / "checkpoint.pt"
    loss = classification_loss(training)
    trainer = Trainer(Bag(), texts, loss, training, RUNTIME, seed=0)
    checkpoint.save(file, trainer, [trainer.run_epoch()])
    if damage == "missing":
        file.unlink()
    else:
        content = {"empty": b"", "cut short": file.read_bytes()[:-50], "foreign": b"hello" * 99}
        file.write_bytes(content[damage])
    fresh = Trainer(Bag(), texts, loss, training, RUNTIME, seed=0)
    assert checkpoint.restore(file, fresh) == []
    assert fresh.epoch == 0


def test_a_loss_that_is_not_finite_ends_the_training():
    class Broken(Bag):
        def forward(self, ids, tokens):
            return super().forward(ids, tokens) * math.inf

    trainer = Trainer(
        Broken(),
        split([4] * 20),
        classification_loss(Training()),
        Training(),
        RUNTIME,
        0,
    )
    with pytest.raises(DivergedError, match="epoch 1"):
        trainer.run_epoch()
