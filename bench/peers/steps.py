"""Batches, and the training and inference steps that are timed on them."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.peers.options import CLASSES, Shape
from bench.peers.turns import Step
from zoo.components.tokens import Tokens
from zoo.measure.memory import MIB, keep_blocks, set_thresholds
from zoo.training.device import Runtime

Batch = tuple[Tensor, Tokens, Tensor]  # ids (B, L), their tokens, labels (B)
PRODUCTS = 16  # of one step of matrix products: a tenth of a second on two cores
COPY = "the copy"  # names a second copy of one of the zoo's models, which measures the noise


def our_name(peer: str) -> str:
    """The name of the zoo's model that equals a peer."""
    return f"ours as {peer}"


def keep_all(_: str) -> None:
    """For the turn of either side: malloc keeps freed blocks, as in the zoo's workers."""
    keep_blocks()


def keep_own(name: str) -> None:
    """For the turn of that name: the zoo's models keep freed blocks, others have glibc's malloc."""
    if name == COPY or name.startswith(our_name("")):
        keep_blocks()
    else:
        usual_blocks()


def usual_blocks() -> None:
    """What glibc itself comes to in a process that works with large tensors; all else given back.

    It raises the size above which it maps by itself to what was freed, up to 32 MiB, and trims at
    twice that (malloc(3), notes).
    """
    set_thresholds(mapped_above=32 * MIB, trimmed_above=64 * MIB)
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def random_batches(shape: Shape, device: torch.device, number: int = 2) -> list[Batch]:
    """Batches of random ids, without padding."""
    draw = torch.Generator().manual_seed(2)
    size = (shape.batch, shape.length)
    return [
        (
            torch.randint(1, shape.sizes.vocab_size, size, generator=draw).to(device),
            Tokens.whole(shape.length, device),
            torch.randint(CLASSES, (shape.batch,), generator=draw).to(device),
        )
        for _ in range(number)
    ]


@torch.inference_mode()
def logits(model: nn.Module, batch: Batch, runtime: Runtime) -> Tensor:
    """Logits (B, classes) in evaluation mode, in float32; moves the model to the device."""
    ids, tokens, _ = batch
    with runtime.autocast():
        scores: Tensor = model.to(runtime.device).eval()(ids, tokens)
    return scores.float()


def training(model: nn.Module, batches: Sequence[Batch], runtime: Runtime) -> Step:
    """A step of forward, backward and AdamW on the batch of that number; the same for everybody."""
    model.to(runtime.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(index: int) -> None:
        ids, tokens, labels = batches[index % len(batches)]
        with runtime.autocast():
            scores = model(ids, tokens)
        loss = F.cross_entropy(scores.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def inference(model: nn.Module, batches: Sequence[Batch], runtime: Runtime) -> Step:
    """The logits of the batch of that number, in evaluation mode."""
    model.to(runtime.device).eval()

    @torch.inference_mode()
    def step(index: int) -> None:
        ids, tokens, _ = batches[index % len(batches)]
        with runtime.autocast():
            model(ids, tokens)

    return step


def matrix_products(runtime: Runtime, *, quick: bool = False) -> tuple[Step, int]:
    """Large square products at the runtime's precision, and their floating point operations."""
    size = 256 if quick else 8192 if runtime.device.type == "cuda" else 1024
    dtype = torch.bfloat16 if runtime.precision == "bf16" else torch.float32
    a, b = (torch.randn(size, size, device=runtime.device, dtype=dtype) for _ in range(2))

    def step(_: int) -> None:
        for _ in range(PRODUCTS):
            a @ b

    return step, PRODUCTS * 2 * size**3
