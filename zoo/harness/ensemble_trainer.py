"""Several seeds of one model trained as one batched program, each as it would be alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.data.batches import Batch, Split, shuffled_by_length
from zoo.harness.device import Runtime
from zoo.harness.settings import Training
from zoo.harness.trainer import Epoch, schedule
from zoo.models.agreement import TOLERANCE, check_agreement
from zoo.models.ensemble import Ensemble
from zoo.models.seeding import derive
from zoo.models.streams import Size, Streams
from zoo.tasks.token_noise import PAD, delete_tokens, hide_tokens

NOT_SCORED = -100  # cross_entropy's label of what only fills a batch up


@dataclass(frozen=True)
class SeedBatches:
    """The batches that S seeds are at, padded to stand side by side.

    ids: int (S, B, L); padding: bool (S, B, L), None where every token is real; labels: int
    (S, B). A seed whose batch holds fewer texts has its first one again, not scored.
    sizes: texts and tokens of each seed's own batch.
    """

    ids: Tensor
    padding: Tensor | None
    labels: Tensor
    sizes: list[Size]


def side_by_side(split: Split, rows: Sequence[np.ndarray]) -> SeedBatches:
    """The documents that each seed has in its batch."""
    texts = max(len(own) for own in rows)
    filled = [np.concatenate([own, own[:1].repeat(texts - len(own))]) for own in rows]
    batch: Batch = split.batch(np.concatenate(filled))
    shape = (len(rows), texts)
    labels = batch.labels.unflatten(0, shape)
    padding = batch.tokens.padding
    for seed, own in enumerate(rows):
        if len(own) < texts:
            labels[seed, len(own) :] = NOT_SCORED
    return SeedBatches(
        batch.ids.unflatten(0, shape),
        None if padding is None else padding.unflatten(0, shape),
        labels,
        [(len(own), int(split.lengths[own].max())) for own in rows],
    )


class EnsembleTrainer:
    """What ``Trainer`` does with one model, for one model per seed at once.

    Raises ApartError where the models cannot run together and equal running each; that is tried
    out on copies of them first.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        train: Split,
        training: Training,
        runtime: Runtime,
        seeds: Sequence[int],
        *,
        vocab_size: int,
        max_length: int,
    ) -> None:
        self.train, self.training, self.runtime = train, training, runtime
        self.seeds = list(seeds)
        draws = [derive(seed, "dropout") for seed in seeds]
        check_agreement(
            models,
            seeds=draws,
            vocab_size=vocab_size,
            max_length=max_length,
            device=runtime.device,
            autocast=runtime.autocast,
            tolerance=TOLERANCE[runtime.precision],
        )
        self.ensemble = Ensemble(models, Streams(draws, runtime.device), max_length)
        self.optimizer = make_stack_optimizer(self.ensemble, training, runtime)
        self.steps_per_epoch = math.ceil(len(train) / training.batch_size)
        self.step = 0
        self.epoch = 0

    @property
    def finished(self) -> bool:
        """Whether the last epoch is over."""
        return self.epoch >= self.training.epochs

    def run_epoch(self) -> list[Epoch]:
        """Train every seed on every document once.

        seconds: of all seeds together, so each has the same. A loss that is no number any more
        is that seed's own; the others go on.
        """
        self.ensemble.training = True
        total = torch.zeros(2, len(self.seeds), device=self.runtime.device)
        self.runtime.synchronise()
        start = time.perf_counter()
        for batches in self._batches():
            total += self.train_step(batches)
        losses, right = (total / len(self.train)).tolist()
        seconds = time.perf_counter() - start
        self.epoch += 1
        return [
            Epoch(self.epoch, loss, accuracy, seconds, self._lr())
            for loss, accuracy in zip(losses, right, strict=True)
        ]

    def train_step(self, batches: SeedBatches) -> Tensor:
        """One step of AdamW for each seed: summed losses and right answers (2, S), on device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._lr()
        batches = self._with_token_noise(batches)
        with self.runtime.autocast():
            logits = self.ensemble(batches.ids, batches.padding, batches.sizes)
        losses = F.cross_entropy(
            logits.flatten(0, 1).float(),
            batches.labels.flatten(),
            label_smoothing=self.training.label_smoothing,
            ignore_index=NOT_SCORED,
            reduction="none",
        )
        summed = losses.unflatten(0, batches.labels.shape).sum(dim=1)  # (S)
        texts = (batches.labels != NOT_SCORED).sum(dim=1)  # (S); counted where they are
        self.optimizer.zero_grad(set_to_none=True)
        # Each seed's mean hangs on its own weights alone, so the sum's gradient is theirs apart.
        (summed / texts).sum().backward()
        if self.training.clip:
            clip_each(list(self.ensemble.parameters.values()), self.training.clip)
        self.optimizer.step()
        self.step += 1
        right = (logits.detach().argmax(dim=-1) == batches.labels).sum(dim=1)
        return torch.stack([summed.detach(), right.float()])

    def _batches(self) -> Iterator[SeedBatches]:
        orders = [
            shuffled_by_length(self.train.lengths, self.training.batch_size, seed, self.epoch)
            for seed in self.seeds
        ]
        for rows in zip(*orders, strict=True):
            yield side_by_side(self.train, rows)

    def _lr(self) -> float:
        total = self.training.epochs * self.steps_per_epoch
        return self.training.lr * schedule(self.training, self.step, total)

    def _with_token_noise(self, batches: SeedBatches) -> SeedBatches:
        """Tokens deleted and hidden, drawn by each seed at its batch's own size."""
        deletion, dropout = self.training.token_deletion, self.training.token_dropout
        if not deletion and not dropout:
            return batches
        own = []
        for seed, (texts, tokens) in enumerate(batches.sizes):
            ids = batches.ids[seed, :texts, :tokens]
            padding = None if batches.padding is None else batches.padding[seed, :texts, :tokens]
            with self.ensemble.streams.of(seed):
                ids, padding = delete_tokens(ids, padding, deletion)
                own.append((hide_tokens(ids, dropout), padding))
        return _stacked(own, batches)


def _stacked(own: Sequence[tuple[Tensor, Tensor | None]], before: SeedBatches) -> SeedBatches:
    """Each seed's own texts (B', L'), with its padding, side by side again."""
    texts, tokens = before.ids.shape[1], max(ids.shape[1] for ids, _ in own)
    ids = before.ids.new_full((len(own), texts, tokens), PAD)
    real = torch.zeros(ids.shape, dtype=torch.bool, device=ids.device)
    for seed, (mine, padding) in enumerate(own):
        rows, length = mine.shape
        # What only fills the batch up is the first text again, as ``side_by_side`` has it.
        ids[seed, :rows, :length], ids[seed, rows:, :length] = mine, mine[0]
        real[seed, :rows, :length] = True if padding is None else padding
        real[seed, rows:] = real[seed, 0]
    whole = before.padding is None and all(mine.shape[1] == tokens for mine, _ in own)
    sizes = [(rows, mine.shape[1]) for (rows, _), (mine, _) in zip(before.sizes, own, strict=True)]
    return SeedBatches(ids, None if whole else real, before.labels, sizes)


def make_stack_optimizer(
    ensemble: Ensemble, training: Training, runtime: Runtime
) -> torch.optim.AdamW:
    """AdamW on stacks (S, …), which it treats element by element; matrices alone decay."""
    stacks = [p for p in ensemble.parameters.values() if p.requires_grad]
    groups = [
        {"params": [p for p in stacks if p.dim() >= 3], "weight_decay": training.weight_decay},
        {"params": [p for p in stacks if p.dim() < 3], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [g for g in groups if g["params"]], lr=training.lr, fused=runtime.device.type != "mps"
    )


@torch.no_grad()
def clip_each(stacks: Sequence[Tensor], most: float) -> None:
    """``nn.utils.clip_grad_norm_`` for each member: its norm is over all of its own gradients."""
    gradients = [p.grad for p in stacks if p.grad is not None]
    norms = [torch.linalg.vector_norm(g.flatten(1), dim=1) for g in gradients]  # each (S)
    norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    factor = (most / (norm + 1e-6)).clamp_max(1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.dim() - 1)))
