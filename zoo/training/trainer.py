"""One model trained, whatever its task; nothing waits for the device within an epoch."""

from __future__ import annotations

import contextlib
import fnmatch
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.layer_context import AuxiliaryLoss
from zoo.config.settings import Training
from zoo.errors import DivergedError
from zoo.models.seeding import derive
from zoo.models.stack import Stack
from zoo.training.device import Runtime
from zoo.training.kernels import AttentionKernels

# Of a model and a batch: the mean loss (scalar, nats), and how many items the model had right.
Loss = Callable[[nn.Module, Any], tuple[Tensor, Tensor]]
AUXILIARY = "auxiliary: "  # what the names of auxiliary losses begin with in a curve


# What a curve holds of an epoch, or of the part of it up to an evaluation: its ``number``; the mean
# ``loss``, in nats, the task's alone; the ``accuracy``, the share of items (documents, tokens) that
# were right when they were trained on; ``seconds``; ``lr``, the learning rate at its end; with
# ``evaluate_every`` the ``examples`` seen since the training began; and the unweighted mean of each
# auxiliary loss.
Entry = dict[str, float]


def auxiliary_of(entry: Entry) -> dict[str, float]:
    """The auxiliary losses in an entry of a curve, by name."""
    losses = (name for name in entry if name.startswith(AUXILIARY))
    return {name.removeprefix(AUXILIARY): entry[name] for name in losses}


class Trainer:
    """Trains one model with AdamW; the same seed gives the same batches in the same order.

    train: the training examples, a ``zoo.data.batches.EncodedSplit``. attention_kernels: those of
    torch's attention in the first step of this process, unless the model is compiled.
    """

    attention_kernels: str | None = None

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
        self.parameters = list(model.parameters())
        self.auxiliary = AuxiliaryLosses(model)
        self.steps_per_epoch = math.ceil(len(train) / training.batch_size)
        self.step = 0
        self.epoch = 0
        self.examples = 0  # seen since the training began
        self.solved = False  # whether it ends before its last epoch
        torch.manual_seed(derive(seed, "dropout"))

    @property
    def finished(self) -> bool:
        """Whether the last epoch is over, or the task is solved."""
        return self.solved or self.epoch >= self.training.epochs

    @property
    def epochs_done(self) -> float:
        """How many epochs are over, with the share of the one that is not."""
        return self.step / self.steps_per_epoch

    def run_epoch(self) -> Entry:
        """Train on everything once; DivergedError where the loss is no longer a number."""
        *_, entry = self.epoch_in_parts(math.inf)
        assert isinstance(entry, dict)
        return entry

    def epoch_in_parts(self, seconds: float) -> Iterator[float | Entry]:
        """The same, yielding the share of the epoch that is done, and last the epoch.

        With ``evaluate_every`` the entry of the curve comes after so many examples, and at the end
        that of the rest. seconds: the least between two shares. The time between two steps that
        whoever iterates takes counts as the epoch's, and after an entry as nobody's.
        """
        self.model.train()
        every = self.training.evaluate_every
        part = _Part(self)
        said = part.start
        size, by_length = self.training.batch_size, self.training.batching == "length"
        batches = self.train.shuffled(size, self.seed, self.epoch, by_length=by_length)
        for number, batch in enumerate(batches, start=1):
            part.add(batch, *self.train_step(batch))
            self.examples += len(batch.rows)
            if every and part.examples >= every and number < self.steps_per_epoch:
                yield part.entry(number=math.ceil(self.examples / every))
                self.model.train()
                part = _Part(self)
                said = part.start
            elif (now := time.perf_counter()) - said >= seconds:
                said = now
                yield number / self.steps_per_epoch
        entry = part.entry(number=self.epoch + 1)
        self.epoch += 1
        yield entry

    def train_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """One step of AdamW: the loss (scalar) and the number of right answers, on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        first = self.attention_kernels is None and self.model._compiled_call_impl is None
        noting = AttentionKernels() if first else contextlib.nullcontext()
        with self.runtime.autocast(), self.auxiliary.collected() as losses, noting as noted:
            loss, right = self.loss(self.model, batch)
        if noted is not None:
            self.attention_kernels = ", ".join(sorted(noted.names))
        self.optimizer.zero_grad(set_to_none=True)
        self.auxiliary.total(loss, losses, batch.items).backward()
        if self.training.max_grad_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.training.max_grad_norm)
        self.optimizer.step()
        after_step(self.model)
        self.step += 1
        return loss.detach(), right

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        total = self.training.epochs * self.steps_per_epoch
        return self.training.lr * schedule(self.training, self.step, total)


class _Part:
    """What an entry of the curve says of the steps since the last one."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        device = trainer.runtime.device
        self.total = torch.zeros((), device=device)
        self.right = torch.zeros((), device=device)
        self.items = self.examples = 0
        trainer.runtime.synchronise()
        self.start = time.perf_counter()

    def add(self, batch: Any, mean: Tensor, right: Tensor) -> None:
        """Count a step, of which these are the mean loss and the right answers."""
        self.total += mean * batch.items
        self.right += right
        self.items += batch.items
        self.examples += len(batch.rows)

    def entry(self, number: int) -> Entry:
        """The entry; DivergedError where a loss is no longer a number."""
        trainer = self.trainer
        loss, accuracy = (torch.stack([self.total, self.right]) / self.items).tolist()
        auxiliary = trainer.auxiliary.means(self.items)
        seconds = time.perf_counter() - self.start
        for name, value in {"": loss, **auxiliary}.items():
            if not math.isfinite(value):
                which = f"the {name} loss" if name else "the loss"
                raise DivergedError(f"{which} became {value} in epoch {trainer.epoch + 1}")
        return {
            "number": number,
            "loss": loss,
            "accuracy": accuracy,
            "seconds": seconds,
            "lr": trainer.rate,
            **({"examples": trainer.examples} if trainer.training.evaluate_every else {}),
            **{AUXILIARY + name: value for name, value in auxiliary.items()},
        }


class AuxiliaryLosses:
    """Collects what the layers of a model add (``LayerContext.add_loss``), and their means."""

    def __init__(self, model: nn.Module) -> None:
        self.stacks = [module for module in model.modules() if isinstance(module, Stack)]
        self.sums: dict[str, Tensor] = {}

    @contextmanager
    def collected(self) -> Iterator[list[AuxiliaryLoss]]:
        """The list that the model's passes inside of the block add to."""
        losses: list[AuxiliaryLoss] = []
        for stack in self.stacks:
            stack.losses = losses
        try:
            yield losses
        finally:
            for stack in self.stacks:
                stack.losses = None

    def total(self, loss: Tensor, losses: list[AuxiliaryLoss], items: int) -> Tensor:
        """The loss (scalar) of a batch plus weight · value of each auxiliary one.

        items: by how much the batch counts in the means.
        """
        values: dict[str, list[Tensor]] = {}
        for auxiliary in losses:
            loss = loss + auxiliary.weight * auxiliary.value
            values.setdefault(auxiliary.name, []).append(auxiliary.value.detach().float())
        for name, several in values.items():
            # The mean over the layers that add it.
            self.sums[name] = self.sums.get(name, 0.0) + torch.stack(several).mean() * items
        return loss

    def means(self, items: int) -> dict[str, float]:
        """The mean of each unweighted loss over batches of so many items; begins anew."""
        sums, self.sums = self.sums, {}
        return {name: (total / items).item() for name, total in sums.items()}


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
    """AdamW (Loshchilov and Hutter 2019) that decays matrices, and not biases, scales or shifts.

    Nor does it decay the parameters that a module names in ``no_weight_decay``: see ``undecayed``.
    """
    spared, groups = undecayed(model), list[dict[str, Any]]()
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for decays, weight_decay in ((True, training.weight_decay), (False, 0.0)):
        params = [p for name, p in trained if (p.dim() >= 2 and name not in spared) == decays]
        if params:
            groups.append({"params": params, "weight_decay": weight_decay})
    return torch.optim.AdamW(groups, lr=training.lr, fused=runtime.device.type != "mps")


def undecayed(model: nn.Module) -> set[str]:
    """The names of the parameters that modules ask not to decay.

    A module's ``no_weight_decay`` is a tuple of patterns, as of a shell, for the names of its
    parameters and those of its parts: ``("a_log",)``; ``("*",)`` for all. ValueError where one
    fits no parameter.
    """
    spared = set()
    for path, module in model.named_modules():
        own = [name for name, _ in module.named_parameters()]
        for pattern in getattr(module, "no_weight_decay", ()):
            names = fnmatch.filter(own, pattern)
            if not names:
                raise ValueError(f"{type(module).__name__} has no parameter '{pattern}'")
            spared |= {f"{path}.{name}" if path else name for name in names}
    return spared


@torch.no_grad()
def after_step(model: nn.Module) -> None:
    """Call ``after_step()`` of every module that has one: its own step after the optimizer's."""
    for module in model.modules():
        step = getattr(module, "after_step", None)
        if step is not None:
            step()
