"""Training equals a loop written out by hand, and resumes where it was interrupted."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.batches import PaddedSplit, shuffled_rows
from zoo.data.token_arrays import TokenArrays
from zoo.errors import DivergedError
from zoo.tasks.base import TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions, class_evaluation, predict_logits
from zoo.tasks.metrics import accuracy, macro_f1
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Loss, Trainer, schedule

RUNTIME = Runtime(torch.device("cpu"), "fp32")
quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)


def documents(lengths: list[int], classes: int = 3) -> TokenArrays:
    draw = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = draw.integers(2, 40, offsets[-1]).astype(np.int32)
    return TokenArrays(ids, offsets, {"labels": np.arange(len(lengths), dtype=np.int64) % classes})


class Bag(nn.Module):
    """The mean embedding of real tokens, with dropout."""

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.embedding = nn.Embedding(40, 8)
        self.head = nn.Linear(8, 3)
        self.dropout = dropout

    def forward(self, ids: torch.Tensor, tokens: Tokens) -> torch.Tensor:
        x = F.dropout(self.embedding(ids), self.dropout, self.training)
        if tokens.attention_mask is None:
            return self.head(x.mean(dim=1))
        real = tokens.attention_mask[..., None].float()
        return self.head((x * real).sum(dim=1) / real.sum(dim=1))


def classification_loss(training: Training, **options: float) -> Loss:
    """The loss of classification with these options."""
    setup = TaskSetup(
        Classify(), ClassifyOptions(**options), Sizes(), training, 40, ["a", "b", "c"]
    )
    return functools.partial(Classify().loss, setup)


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=80)


@quick
@given(LENGTHS, st.integers(1, 16), st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_an_epoch_holds_every_document_once(lengths, batch_size, seed, epoch, by_length):
    batches = shuffled_rows(np.array(lengths), batch_size, seed, epoch, by_length=by_length)
    rows = np.concatenate(batches)
    assert sorted(rows) == list(range(len(lengths)))
    assert all(len(b) <= batch_size for b in batches)


def test_random_batches_hold_any_lengths_and_batches_by_length_similar_ones():
    lengths = np.arange(1000)
    spreads = {
        by_length: np.mean(
            [np.ptp(rows) for rows in shuffled_rows(lengths, 20, 0, 0, by_length=by_length)]
        )
        for by_length in (True, False)
    }
    assert spreads[True] < 60
    assert spreads[False] == pytest.approx(1000 * 19 / 21, rel=0.05)  # of 20 uniform draws


@quick
@given(LENGTHS, st.integers(1, 16))
def test_a_batch_is_the_documents_padded_to_the_longest(lengths, batch_size):
    texts = documents(lengths)
    for batch in PaddedSplit(texts, RUNTIME.device).shuffled(batch_size, seed=1, epoch=0):
        longest = max(lengths[row] for row in batch.rows)
        assert batch.ids.shape == (len(batch.rows), longest)
        assert batch.padded_tokens == batch.ids.numel()
        assert batch.real_tokens == sum(lengths[row] for row in batch.rows)
        for place, row in enumerate(batch.rows):
            n = lengths[row]
            start = texts.offsets[row]
            assert batch.ids[place, :n].tolist() == texts.ids[start : start + n].tolist()
            assert (batch.ids[place, n:] == 0).all()
            if batch.tokens.attention_mask is None:
                assert n == longest
            else:
                expected = [True] * n + [False] * (longest - n)
                assert batch.tokens.attention_mask[place].tolist() == expected
            assert batch.targets[place] == texts.columns["labels"][row]


@pytest.mark.parametrize("by_length", [True, False])
def test_the_order_depends_on_seed_and_epoch_alone(by_length):
    lengths = np.arange(1, 200)

    def order(seed: int, epoch: int) -> list[int]:
        batches = shuffled_rows(lengths, 8, seed, epoch, by_length=by_length)
        return np.concatenate(batches).tolist()

    assert order(3, 1) == order(3, 1)
    assert order(3, 1) != order(3, 2)
    assert order(3, 1) != order(4, 1)


def test_batches_by_length_need_little_padding():
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.lognormal(5.0, 0.6, 1200).astype(int), 10, 2000)
    split = PaddedSplit(documents(lengths.tolist()), RUNTIME.device)
    batches = list(split.shuffled(32, seed=0, epoch=0))
    real, padded = (sum(getattr(b, f"{w}_tokens") for b in batches) for w in ("real", "padded"))
    assert padded < 1.15 * real


@pytest.mark.parametrize("shape", ["linear", "cosine", "constant"])
def test_the_learning_rate_rises_and_falls_as_documented(shape: str):
    training = Training(schedule=shape, warmup=0.1)
    rates = [schedule(training, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    middle = {"linear": 0.5, "cosine": 0.5, "constant": 1.0}[shape]
    assert rates[55] == pytest.approx(middle)
    assert rates[-1] == pytest.approx({"constant": 1.0}.get(shape, 0.0), abs=0.02)


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
    split = PaddedSplit(documents([5 + i % 7 for i in range(40)]), RUNTIME.device)
    ours, plain = Bag(0.0), Bag(0.0)
    trainer = Trainer(ours, split, classification_loss(training), training, RUNTIME, seed=2)
    losses = [trainer.run_epoch().loss for _ in range(3)]

    decayed = [p for p in plain.parameters() if p.dim() > 1]
    others = [p for p in plain.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=0.01,
    )
    step, expected = 0, []
    for epoch in range(3):
        total = 0.0
        for batch in split.shuffled(8, seed=2, epoch=epoch, by_length=batching == "length"):
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


def test_an_epoch_in_parts_says_how_far_it_is_and_ends_bit_for_bit_the_same():
    training = Training(epochs=2, batch_size=8)
    loss = classification_loss(training, token_dropout=0.3)
    split = PaddedSplit(documents([3 + i % 9 for i in range(36)]), RUNTIME.device)
    whole = Trainer(Bag(), split, loss, training, RUNTIME, seed=5)
    expected = [whole.run_epoch().loss for _ in range(2)]
    parted = Trainer(Bag(), split, loss, training, RUNTIME, seed=5)
    for epoch in expected:
        parts, shares = parted.epoch_in_parts(0.0), []
        while True:
            try:
                shares.append(next(parts))
            except StopIteration as end:
                result = end.value
                break
        assert result.loss == epoch
        assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    for a, b in zip(whole.model.parameters(), parted.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_training_interrupted_after_each_epoch_ends_bit_for_bit_the_same(tmp_path: Path):
    training = Training(epochs=4, batch_size=8, label_smoothing=0.1)
    loss = classification_loss(training, token_dropout=0.3, token_deletion=0.4)
    split = PaddedSplit(documents([3 + i % 9 for i in range(50)]), RUNTIME.device)

    whole = Trainer(Bag(), split, loss, training, RUNTIME, seed=5)
    expected = [whole.run_epoch().loss for _ in range(4)]

    file = tmp_path / "checkpoint.safetensors"
    for _ in range(4):
        torch.manual_seed(999)  # another process finds another random state
        trainer = Trainer(Bag(), split, loss, training, RUNTIME, seed=5)
        curve = checkpoint.restore(file, trainer)
        curve.append(vars(trainer.run_epoch()))
        checkpoint.save(file, trainer, curve)
    assert trainer.finished
    assert [entry["loss"] for entry in curve] == expected
    for a, b in zip(whole.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut short", "foreign"])
def test_without_a_usable_checkpoint_a_training_starts_anew(tmp_path: Path, damage: str):
    training = Training(epochs=2, batch_size=8)
    split = PaddedSplit(documents([4] * 20), RUNTIME.device)
    file = tmp_path / "checkpoint.safetensors"
    loss = classification_loss(training)
    trainer = Trainer(Bag(), split, loss, training, RUNTIME, seed=0)
    checkpoint.save(file, trainer, [vars(trainer.run_epoch())])
    if damage == "missing":
        file.unlink()
    else:
        content = {"empty": b"", "cut short": file.read_bytes()[:-50], "foreign": b"hello" * 99}
        file.write_bytes(content[damage])
    fresh = Trainer(Bag(), split, loss, training, RUNTIME, seed=0)
    assert checkpoint.restore(file, fresh) == []
    assert fresh.epoch == 0


def test_a_loss_that_is_not_finite_ends_the_training():
    class Broken(Bag):
        def forward(self, ids, tokens):
            return super().forward(ids, tokens) * math.inf

    trainer = Trainer(
        Broken(),
        PaddedSplit(documents([4] * 20), RUNTIME.device),
        classification_loss(Training()),
        Training(),
        RUNTIME,
        0,
    )
    with pytest.raises(DivergedError, match="epoch 1"):
        trainer.run_epoch()


@quick
@given(LENGTHS, st.integers(1, 9))
def test_logits_are_in_the_order_of_the_split_for_any_batch_size(lengths, batch_size):
    model, split = Bag(), PaddedSplit(documents(lengths), RUNTIME.device)
    logits = predict_logits(model, split, batch_size, RUNTIME)
    model.eval()
    for row in range(len(lengths)):
        alone = split.batch(np.array([row]))
        with torch.no_grad():
            expected = model(alone.ids, alone.tokens)[0]
        np.testing.assert_allclose(logits[row], expected.numpy(), atol=1e-5)


def test_scores_are_scikit_learns():
    from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

    draw = np.random.default_rng(0)
    truth, guess = draw.integers(0, 4, 200), draw.integers(0, 3, 200)
    found = class_evaluation(guess, truth, 5)
    assert accuracy().compute(found.outputs) == accuracy_score(truth, guess)
    every = [0, 1, 2, 3, 4]
    expected = f1_score(truth, guess, labels=every, average="macro", zero_division=0)
    assert macro_f1().compute(found.outputs) == expected
    assert found.details["examples"] == 200
    assert found.details["confusion"] == confusion_matrix(truth, guess, labels=every).tolist()
    assert len(found.details["errors"]) == (truth != guess).sum()
    assert all(truth[r] == t and guess[r] == g for r, t, g in found.details["errors"])
