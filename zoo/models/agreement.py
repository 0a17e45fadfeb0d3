"""Whether an ensemble does what its modules do one by one: tried out, not believed."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.errors import one_line
from zoo.models.ensemble import Ensemble
from zoo.models.streams import ApartError, Size, Streams

# Of the largest score, and of a gradient's norm. A wrong mask or draw differs by far more.
TOLERANCE = {"fp32": 1e-3, "bf16": 0.05}


@dataclass(frozen=True)
class _Step:
    """What one training step gives: logits, and for each parameter and buffer a tensor."""

    logits: Tensor
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor]


Autocast = Callable[[], contextlib.AbstractContextManager[object]]


def check_agreement(
    models: Sequence[nn.Module],
    *,
    seeds: Sequence[int],
    vocab_size: int,
    max_length: int,
    device: torch.device,
    autocast: Autocast = contextlib.nullcontext,
    tolerance: float = TOLERANCE["fp32"],
) -> None:
    """Take one training step with copies of the modules, apart and together, and compare.

    Each module gets texts of other numbers and lengths, and draws from the stream that
    ``torch.manual_seed`` of its seed begins. Raises ApartError with the reason where logits,
    gradients or buffers differ by more than the tolerance, or where they cannot run together.
    """
    sizes = [
        (2 + number % 2, max(1, min(max_length, 24) - 3 * (number % 3)))
        for number in range(len(models))
    ]
    batches = [_texts(size, number, vocab_size, device) for number, size in enumerate(sizes)]
    alone = _apart(copy.deepcopy(list(models)), batches, Streams(seeds, device), autocast)
    try:
        ensemble = Ensemble(copy.deepcopy(list(models)), Streams(seeds, device), max_length)
        together = _together(ensemble, batches, sizes, autocast)
    except ApartError:
        raise
    except Exception as error:
        # Whatever vmap cannot do, and a component may raise anything on the way.
        raise ApartError(f"it cannot be vmapped: {one_line(error)}"[:300]) from error
    for expected, found in zip(alone, together, strict=True):
        _compare(expected, found, tolerance)


def _texts(size: Size, number: int, vocab_size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Made-up ids (B, L), and padding (B, L), of which the last text has some."""
    generator = torch.Generator().manual_seed(number)
    ids = torch.randint(0, vocab_size, size, generator=generator)
    padding = torch.ones(size, dtype=torch.bool)
    padding[-1, (size[1] + 1) // 2 :] = False
    return ids.masked_fill(~padding, 0).to(device), padding.to(device)


def _apart(
    models: Sequence[nn.Module],
    batches: Sequence[tuple[Tensor, Tensor]],
    streams: Streams,
    autocast: Autocast,
) -> list[_Step]:
    steps = []
    for number, (model, (ids, padding)) in enumerate(zip(models, batches, strict=True)):
        model.train()
        model.zero_grad(set_to_none=True)
        positions = torch.arange(ids.shape[1], device=ids.device)
        with streams.of(number), autocast():
            logits: Tensor = model(ids, Tokens(padding, positions))
        logits.float().square().mean().backward()
        gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        steps.append(_Step(logits.detach(), gradients, dict(model.named_buffers())))
    return steps


def _together(
    ensemble: Ensemble,
    batches: Sequence[tuple[Tensor, Tensor]],
    sizes: Sequence[Size],
    autocast: Autocast,
) -> list[_Step]:
    texts, length = max(b for b, _ in sizes), max(n for _, n in sizes)
    device = ensemble.device
    ids = torch.zeros(len(sizes), texts, length, dtype=torch.long, device=device)
    padding = torch.zeros(ids.shape, dtype=torch.bool, device=device)
    for number, ((own_ids, own_padding), (b, n)) in enumerate(zip(batches, sizes, strict=True)):
        ids[number, :b, :n], padding[number, :b, :n] = own_ids, own_padding
    with autocast():
        logits = ensemble(ids, padding, sizes)
    own = [logits[number, :b] for number, (b, _) in enumerate(sizes)]
    torch.stack([one.float().square().mean() for one in own]).sum().backward()
    return [
        _Step(
            one.detach(),
            {n: p.grad[number] for n, p in ensemble.parameters.items() if p.grad is not None},
            {n: b[number] for n, b in ensemble.buffers.items()},
        )
        for number, one in enumerate(own)
    ]


def _compare(expected: _Step, found: _Step, tolerance: float) -> None:
    """ApartError where two steps are not the same within rounding."""
    scale = max(1.0, float(expected.logits.float().abs().max()))
    if not _close(expected.logits, found.logits, tolerance * scale):
        raise ApartError("together it gives other scores than apart")
    if expected.gradients.keys() != found.gradients.keys():
        raise ApartError("together other parameters get gradients than apart")
    norms = {name: float(g.float().norm()) for name, g in expected.gradients.items()}
    largest = max(norms.values(), default=0.0)
    for name, gradient in expected.gradients.items():
        allowed = tolerance * max(norms[name], 0.01 * largest)
        if not float((gradient - found.gradients[name]).float().norm()) <= allowed:
            raise ApartError(f"together '{name}' gets another gradient than apart")
    for name, buffer in expected.buffers.items():
        other = found.buffers[name]
        if not _close(buffer, other, tolerance * max(1.0, float(buffer.abs().max()))):
            raise ApartError(f"together the buffer '{name}' becomes another than apart")


def _close(a: Tensor, b: Tensor, allowed: float) -> bool:
    return a.shape == b.shape and float((a.float() - b.float()).abs().max()) <= allowed
