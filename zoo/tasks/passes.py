"""Passes of models over batches, in training and when they are scored, whatever the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.data.batches import EncodedSplit
from zoo.data.sources.corpus import IGNORED
from zoo.data.tokenizer import PAD_ID
from zoo.training.device import Runtime

T = TypeVar("T", int, Tensor)


def token_loss(
    logits: Tensor,
    targets: Tensor,
    items: int,
    smoothing: float = 0.0,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean cross-entropy (scalar, nats), and how many targets are the likeliest.

    logits: (…, classes); targets: int (…), -100 where there is none. items: how many there are; the
    loss of none is 0. weight: (classes), of the examples of each.
    """
    loss = F.cross_entropy(
        logits.float().flatten(0, -2),
        targets.flatten(),
        ignore_index=IGNORED,
        label_smoothing=smoothing,
        reduction="sum" if weight is None else "none",
    )
    if weight is not None:
        # By the class of the target alone: torch weighs what is smoothed by the other classes.
        loss = (loss * weight[targets.flatten().clamp_min(0)]).sum()
    return loss / max(1, items), (logits.detach().argmax(dim=-1) == targets).sum()


def scored_passes(
    model: nn.Module,
    split: EncodedSplit[Any],
    batch_size: int,
    runtime: Runtime,
    forward: Callable[[nn.Module, Any], Tensor],
) -> Iterator[tuple[Any, Tensor]]:
    """Every batch of a split with the model's output, in evaluation mode, without gradients."""
    model.eval()
    for batch in split.ordered(batch_size):
        with torch.inference_mode(), runtime.autocast():
            output = forward(model, batch)
        yield batch, output


def delete_tokens(
    ids: Tensor, attention_mask: Tensor | None, share: float
) -> tuple[Tensor, Tensor | None]:
    """Texts without a random share of their tokens, the others in their order; the first stays.

    ids: int (B, L); attention_mask: bool (B, L), True where a token is real, None where all are.
    Returns both at the remaining length, (B, L'). Every text loses the same share, rounded to a
    token, so that L' is known without waiting for the device.
    Random deletion (Wei and Zou 2019, section 2), there of a few words; at shares of 0.3 and more
    it is the word dropout of Iyyer et al. 2015, section 3.2.
    """
    if not share:
        return ids, attention_mask
    texts, length = ids.shape
    index = torch.arange(length, device=ids.device)
    mask = torch.ones_like(ids, dtype=torch.bool) if attention_mask is None else attention_mask
    draws = torch.rand((texts, length), device=ids.device)
    draws[:, 0] = -1.0
    draws = draws.masked_fill(~mask, 2.0)
    count = _remaining(mask.sum(dim=1), share)
    # The positions of the smallest draws; a shorter text has too many, which become padding.
    chosen = draws.argsort(dim=1)[:, : _remaining(length, share)]
    real = index[: chosen.shape[1]] < count[:, None]
    chosen, _ = chosen.masked_fill(~real, length).sort(dim=1)
    remaining = ids.gather(1, chosen.clamp_max(length - 1)).masked_fill(~real, PAD_ID)
    return remaining, None if attention_mask is None else real


def _remaining(length: T, share: float) -> T:
    """How many of ``length`` tokens stay; in integers, which every device rounds the same."""
    millionths = round((1 - share) * 1_000_000)
    return ((length - 1) * millionths + 500_000) // 1_000_000 + 1
