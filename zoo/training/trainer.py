"""One model trained, whatever its task; nothing waits for the device within an epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from zoo.config.settings import Training
from zoo.errors import DivergedError
from zoo.models.seeding import derive
from zoo.training.auxiliary_losses import AuxiliaryLosses
from zoo.training.device import Runtime
from zoo.training.optimizer import after_step, make_optimizer, schedule

# Of a model and a batch: the mean loss (scalar, nats), and how many items the model had right.
Loss = Callable[[nn.Module, Any], tuple[Tensor, Tensor]]
AUXILIARY = "auxiliary: "  # what the names of auxiliary losses begin with in a curve


@dataclass(frozen=True)
class Epoch:
    """One epoch of training.

    loss: mean, in nats. accuracy: share of items (documents, tokens) that were right when they
    were trained on. lr: learning rate at the end of the epoch. auxiliary: the mean of each
    auxiliary loss that the model's parts added, unweighted; ``loss`` is the task's alone.
    """

    number: int
    loss: float
    accuracy: float
    seconds: float
    lr: float
    auxiliary: Mapping[str, float] = field(default_factory=dict)

    @property
    def entry(self) -> dict[str, float]:
        """What a curve holds of it: numbers by name."""
        own = {name: value for name, value in vars(self).items() if name != "auxiliary"}
        return own | {AUXILIARY + name: value for name, value in self.auxiliary.items()}


def auxiliary_of(entry: Mapping[str, float]) -> dict[str, float]:
    """The auxiliary losses in an entry of a curve, by name."""
    return {
        name.removeprefix(AUXILIARY): value
        for name, value in entry.items()
        if name.startswith(AUXILIARY)
    }


class Trainer:
    """Trains one model with AdamW; the same seed gives the same batches in the same order.

    train: the training examples, a ``zoo.tasks.base.Split``.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Any,
        loss: Loss,
        training: Training,
        runtime: Runtime,
        seed: int,
    ) -> None:
        self.model, self.train, self.loss, self.training = model, train, loss, training
        self.runtime, self.seed = runtime, seed
        self.optimizer = make_optimizer(model, training, runtime)
        self.auxiliary = AuxiliaryLosses(model)
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
        parts = self.epoch_in_parts(math.inf)
        while True:
            try:
                next(parts)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def epoch_in_parts(self, seconds: float) -> Generator[float, None, Epoch]:
        """The same, yielding the share of the epoch that is done, at least so many seconds apart.

        The time between two steps that whoever iterates takes counts as the epoch's.
        """
        self.model.train()
        device = self.runtime.device
        total = torch.zeros((), device=device)
        right = torch.zeros((), device=device)
        items = 0
        self.runtime.synchronise()
        said = start = time.perf_counter()
        batches = self.train.shuffled(
            self.training.batch_size, self.seed, self.epoch, by_length=self.training.by_length
        )
        for number, batch in enumerate(batches, start=1):
            loss, hits = self.train_step(batch)
            total += loss * batch.items
            right += hits
            items += batch.items
            if (now := time.perf_counter()) - said >= seconds:
                said = now
                yield number / self.steps_per_epoch
        mean_loss, accuracy = (torch.stack([total, right]) / items).tolist()
        auxiliary = self.auxiliary.means(items)
        seconds = time.perf_counter() - start
        self.epoch += 1
        if not math.isfinite(mean_loss):
            raise DivergedError(f"the loss became {mean_loss} in epoch {self.epoch}")
        for name, value in auxiliary.items():
            if not math.isfinite(value):
                raise DivergedError(f"the {name} loss became {value} in epoch {self.epoch}")
        return Epoch(self.epoch, mean_loss, accuracy, seconds, self._lr(), auxiliary)

    def train_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """One step of AdamW: the loss (scalar) and the number of right answers, on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._lr()
        with self.runtime.autocast(), self.auxiliary.collected() as found:
            loss, right = self.loss(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        self.auxiliary.total(loss, found, batch.items).backward()
        if self.training.max_grad_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.training.max_grad_norm)
        self.optimizer.step()
        after_step(self.model)
        self.step += 1
        return loss.detach(), right

    def _lr(self) -> float:
        total = self.training.epochs * self.steps_per_epoch
        return self.training.lr * schedule(self.training, self.step, total)
