"""Sizes and batches, the steps on them, and the turns in which these are timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.execution.cost_job import PROCESSES
from zoo.measure.memory import keep_blocks
from zoo.measure.turns import (
    HALF,
    MOST_BLOCKS,
    TURN_SECONDS,
    Logs,
    Pair,
    Work,
    block,
    clock_of,
    narrow_enough,
)
from zoo.training.device import Runtime

CLASSES = 5
MOST_SECONDS = 300.0  # of the turns of a process, once it has its least blocks
Batch = tuple[Tensor, Tokens, Tensor]  # ids (B, L), their tokens, labels (B)
COPY = "the copy"  # names a second copy of one of the zoo's models: the check of the intervals


@dataclass(frozen=True)
class Shape:
    """Sizes of a model and of its batches. length: tokens of each text."""

    sizes: Sizes
    batch: int
    length: int

    @property
    def description(self) -> str:
        """The sizes as text."""
        s = self.sizes
        return f"{s.layers} layers × {s.dim} wide, {self.batch} × {self.length} tokens"


def _shape(batch: int, length: int, dim: int, layers: int, heads: int, ffn_dim: int) -> Shape:
    sizes = Sizes(
        dim=dim, layers=layers, heads=heads, ffn_dim=ffn_dim, max_length=length, vocab_size=4000
    )
    return Shape(sizes, batch, length)


DEEP = _shape(16, 512, 256, 4, 4, 1024)
DEFAULT = Shape(Sizes(), Training().batch_size, Sizes().max_length)  # of ``zoo bench``
LARGE = _shape(4, 512, 512, 12, 8, 2048)
BERT_BASE = _shape(64, 512, 768, 12, 12, 3072)
TINY = _shape(2, 16, 16, 2, 2, 32)


@dataclass(frozen=True)
class Options:
    """blocks: of every comparison, over all processes; 0: until intervals are narrow.

    quick: tiny sizes. data: the directory of BBC news. process: which of those that measure in
    turn, from 0.
    """

    runtime: Runtime
    blocks: int = 0
    quick: bool = False
    data: Path | None = None
    process: int = 0

    @property
    def deep(self) -> Shape:
        """The deep encoder: BERT-base on a GPU, a smaller one on a CPU."""
        if self.quick:
            return TINY
        return BERT_BASE if self.runtime.device.type == "cuda" else DEEP

    @property
    def trained(self) -> tuple[Shape, ...]:
        """The shapes at which equal work is trained."""
        if self.quick:
            return (TINY,)
        on_gpu = self.runtime.device.type == "cuda"
        return (self.deep, DEFAULT) if on_gpu else (DEEP, DEFAULT, LARGE)


@dataclass(frozen=True)
class Turns:
    """seconds: of a step of each name, block by block. contention: wall over CPU time, median."""

    seconds: Mapping[str, Logs]
    contention: float

    def logs(self, above: str, below: str) -> Logs:
        """Log of the seconds of the one over those of the other, block by block."""
        logs: Logs = np.log(self.seconds[above] / self.seconds[below])
        return logs


def take_turns(
    works: Mapping[str, Work],
    options: Options,
    compared: Sequence[tuple[str, str]],
    *,
    least: float = TURN_SECONDS["train"],
) -> Turns:
    """Time each of these in turns, as cost jobs do (``zoo.measure.turns``).

    compared: the pairs whose ratios are to be known within 2%. least: seconds of a turn, unless one
    step takes longer. Malloc keeps freed blocks, as in the zoo's workers.
    """
    runtime, names = options.runtime, list(works)
    clock = clock_of(runtime.device.type, torch.get_num_threads())
    keep_blocks()
    for work in works.values():  # an optimizer makes its state in the first step
        work(0)
    turns: dict[str, list[Pair]] = {name: [] for name in names}
    seconds: dict[str, Logs] = {}
    numbered, start, number = dict(enumerate(works.values())), time.monotonic(), 0
    fixed = options.blocks and (options.blocks + 1 - options.process) // PROCESSES
    while number < (fixed or HALF) or (
        not fixed
        and number < MOST_BLOCKS // PROCESSES
        and time.monotonic() - start < MOST_SECONDS
        and not narrow_enough(
            ([Turns(seconds, 1.0).logs(*pair)] for pair in compared), planned=PROCESSES
        )
    ):
        at = options.process * HALF + number
        for place, pair in block(numbered, at, least, runtime.synchronise):
            if pair is not None:
                turns[names[place]].append(pair)
        number += 1
        seconds = {name: np.array(pairs)[:, int(clock == "cpu")] for name, pairs in turns.items()}
    ratios = [wall / max(cpu, 1e-9) for pairs in turns.values() for wall, cpu in pairs]
    return Turns(seconds, statistics.median(ratios) if clock == "cpu" else 1.0)


def our_name(peer: str) -> str:
    """The name of the zoo's model that equals a peer."""
    return f"ours as {peer}"


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


def training(model: nn.Module, batches: Sequence[Batch], runtime: Runtime) -> Work:
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


def inference(model: nn.Module, batches: Sequence[Batch], runtime: Runtime) -> Work:
    """The logits of the batch of that number, in evaluation mode."""
    model.to(runtime.device).eval()

    @torch.inference_mode()
    def step(index: int) -> None:
        ids, tokens, _ = batches[index % len(batches)]
        with runtime.autocast():
            model(ids, tokens)

    return step
