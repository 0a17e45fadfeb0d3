"""One model trained, whatever its task; nothing here waits for the device inside an epoch."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.config.settings import Training
from zoo.models.seeding import derive
from zoo.tasks.learner import Items, Loss, Rows
from zoo.train.device import Runtime


@dataclass(frozen=True)
class Epoch:
    """What an epoch of training gave, in nats, seconds, and the learning rate at its end.

    accuracy: the share of items (documents, tokens) that it had right as it learned them.
    """

    number: int
    loss: float
    accuracy: float
    seconds: float
    lr: float


class DivergedError(Exception):
    """The loss became NaN or infinite."""


class Trainer:
    """AdamW on one model; the same seed sees the same batches in the same order."""

    def __init__(
        self,
        model: nn.Module,
        train: Rows,
        loss: Loss,
        training: Training,
        runtime: Runtime,
        seed: int,
    ) -> None:
        self.model, self.train, self.loss, self.training = model, train, loss, training
        self.runtime, self.seed = runtime, seed
        self.optimizer = make_optimizer(model, training, runtime)
        self.steps_per_epoch = math.ceil(len(train) / training.batch_size)
        self.step = 0
        self.epoch = 0
        torch.manual_seed(derive(seed, "dropout"))

    @property
    def finished(self) -> bool:
        """Whether the last epoch is over."""
        return self.epoch >= self.training.epochs

    def run_epoch(self) -> Epoch:
        """Train on everything once; DivergedError where the loss is no longer a number."""
        self.model.train()
        device = self.runtime.device
        total = torch.zeros((), device=device)
        right = torch.zeros((), device=device)
        items = 0
        self.runtime.synchronise()
        start = time.perf_counter()
        for batch in self.train.shuffled(self.training.batch_size, self.seed, self.epoch):
            loss, hits = self.train_step(batch)
            total += loss * batch.items
            right += hits
            items += batch.items
        mean_loss, accuracy = (torch.stack([total, right]) / items).tolist()
        seconds = time.perf_counter() - start
        self.epoch += 1
        if not math.isfinite(mean_loss):
            raise DivergedError(f"the loss became {mean_loss} in epoch {self.epoch}")
        return Epoch(self.epoch, mean_loss, accuracy, seconds, self._lr())

    def train_step(self, batch: Items) -> tuple[Tensor, Tensor]:
        """One step of AdamW: the loss (scalar) and the number of right answers, on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._lr()
        with self.runtime.autocast():
            loss, right = self.loss(self.model, batch, self.training)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.training.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.training.clip)
        self.optimizer.step()
        self.step += 1
        return loss.detach(), right

    def _lr(self) -> float:
        total = self.training.epochs * self.steps_per_epoch
        return self.training.lr * schedule(self.training, self.step, total)


def schedule(training: Training, step: int, total: int) -> float:
    """The share of the peak learning rate at a step: up over ``warmup``, then down to zero."""
    warm = round(training.warmup * total)
    if step < warm:
        return (step + 1) / warm
    if training.schedule == "constant":
        return 1.0
    done = min(1.0, (step - warm) / max(1, total - warm))
    return 1 - done if training.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2


def make_optimizer(model: nn.Module, training: Training, runtime: Runtime) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2019) that decays matrices, and not biases, scales or shifts."""
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for _, p in named if p.dim() >= 2],
            "weight_decay": training.weight_decay,
        },
        {"params": [p for _, p in named if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [g for g in groups if g["params"]], lr=training.lr, fused=runtime.device.type != "mps"
    )
