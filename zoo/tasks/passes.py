"""Passes of models over batches, in training and when they are scored, whatever the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.data.batches import Split
from zoo.data.sources.corpus import IGNORED
from zoo.training.device import Runtime


def token_loss(
    logits: Tensor,
    targets: Tensor,
    smoothing: float,
    *,
    ignored: int = IGNORED,
    items: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean cross-entropy (scalar, nats), and how many targets are the likeliest.

    logits: (…, classes); targets: int (…), ``ignored`` where there is none. items: how many there
    are, where there may be none, and the loss is then 0.
    """
    loss = F.cross_entropy(
        logits.float().flatten(0, -2),
        targets.flatten(),
        ignore_index=ignored,
        label_smoothing=smoothing,
        reduction="mean" if items is None else "sum",
    )
    if items is not None:
        loss = loss / max(1, items)
    right = (logits.detach().argmax(dim=-1) == targets) & (targets != ignored)
    return loss, right.sum()


def scored_passes(
    model: nn.Module,
    split: Split[Any],
    batch_size: int,
    runtime: Runtime,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
) -> Iterator[tuple[Any, Tensor]]:
    """Every batch of a split with the model's output, in evaluation mode, without gradients.

    forward: of model and batch; None: the model takes ids and tokens.
    """
    model.eval()
    for batch in split.ordered(batch_size):
        with torch.inference_mode(), runtime.autocast():
            output = forward(model, batch) if forward else model(batch.ids, batch.tokens)
        yield batch, output
