"""One model trained and scored; nothing here waits for the device inside an epoch."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.data.batches import Batch, Split
from zoo.harness.device import Runtime
from zoo.harness.settings import Training
from zoo.models.seeding import derive

UNKNOWN = 1  # the tokenizer's [UNK]


@dataclass(frozen=True)
class Epoch:
    """What an epoch of training gave: mean loss (nats), wall seconds, learning rate at its end."""

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
        self, model: nn.Module, train: Split, training: Training, runtime: Runtime, seed: int
    ) -> None:
        self.model, self.train, self.training = model, train, training
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
        """Train on every document once; DivergedError where the loss is no longer a number."""
        self.model.train()
        device = self.runtime.device
        total = torch.zeros((), device=device)
        right = torch.zeros((), device=device)
        self.runtime.synchronise()
        start = time.perf_counter()
        for batch in self.train.shuffled(self.training.batch_size, self.seed, self.epoch):
            loss, hits = self.train_step(batch)
            total += loss * len(batch.labels)
            right += hits
        mean_loss, accuracy = (torch.stack([total, right]) / len(self.train)).tolist()
        seconds = time.perf_counter() - start
        self.epoch += 1
        if not math.isfinite(mean_loss):
            raise DivergedError(f"the loss became {mean_loss} in epoch {self.epoch}")
        return Epoch(self.epoch, mean_loss, accuracy, seconds, self._lr())

    def train_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One step of AdamW: the loss (scalar) and the number of right answers, on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._lr()
        ids = self._with_token_dropout(batch.ids)
        with self.runtime.autocast():
            logits = self.model(ids, batch.tokens)
        loss = F.cross_entropy(
            logits.float(), batch.labels, label_smoothing=self.training.label_smoothing
        )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.training.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.training.clip)
        self.optimizer.step()
        self.step += 1
        return loss.detach(), (logits.detach().argmax(dim=-1) == batch.labels).sum()

    def _lr(self) -> float:
        total = self.training.epochs * self.steps_per_epoch
        return self.training.lr * schedule(self.training, self.step, total)

    def _with_token_dropout(self, ids: Tensor) -> Tensor:
        """Ids with a share of them unknown; [CLS] in front stays."""
        if not self.training.token_dropout:
            return ids
        dropped = torch.rand(ids.shape, device=ids.device) < self.training.token_dropout
        dropped[:, 0] = False
        return ids.masked_fill(dropped & (ids != 0), UNKNOWN)


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


@torch.inference_mode()
def predict(model: nn.Module, split: Split, batch_size: int, runtime: Runtime) -> np.ndarray:
    """Class scores (N, classes) of every document of a split, in its own order, in float32."""
    model.eval()
    rows, scores = [], []
    for batch in split.ordered(batch_size):
        with runtime.autocast():
            scores.append(model(batch.ids, batch.tokens).float())
        rows.append(batch.rows)
    result = np.empty((len(split), scores[0].shape[1]), dtype=np.float32)
    result[np.concatenate(rows)] = torch.cat(scores).cpu().numpy()
    return result


def score(predicted: np.ndarray, labels: np.ndarray, classes: int) -> dict[str, Any]:
    """Accuracy, macro F1, the confusion matrix (rows: truth), and each error.

    errors: (row of the split, true label, predicted label) of every document that went wrong,
    from which the rest follows, and two cells can be compared document by document.
    """
    from sklearn.metrics import confusion_matrix, f1_score

    every = list(range(classes))
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1": float(f1_score(labels, predicted, labels=every, average="macro", zero_division=0)),
        "confusion": confusion_matrix(labels, predicted, labels=every).tolist(),
        "errors": [
            [int(row), int(labels[row]), int(predicted[row])]
            for row in np.flatnonzero(predicted != labels)
        ],
    }
