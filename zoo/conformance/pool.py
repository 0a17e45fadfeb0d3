"""Checks of pools."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from zoo.components.pool.base import Pool
from zoo.conformance.assertions import close, finite, must
from zoo.conformance.check import check
from zoo.conformance.setup import (
    BATCH,
    DIM,
    LONG,
    Case,
    Draw,
    ModuleSetup,
    padded_mask,
    unpadded,
)

LENGTH = 6


class PoolSetup(ModuleSetup, kind="pool"):
    """Builds ``Pool(dim)`` and calls it with and without a mask."""

    passes = ("dim",)
    contract = Pool

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, mask = draw(length, self.dim), padded_mask(length)[draw.texts]
        shape = (len(x), self.width)
        return [
            Case("plain", (x,), lambda module, x: module(x, None), shape),
            Case("padded", (x,), lambda module, x: module(x, mask), shape, (mask,)),
        ]

    @cached_property
    def width(self) -> int:
        """The width of its output."""
        own = getattr(self.build(), "width", None)
        return self.dim if own is None else int(own)


@check("pool")
def padding_invariance(setup: PoolSetup) -> None:
    """Neither the values in padding, infinities too, nor its amount changes the output."""
    pool = setup.build()
    x = setup.normal(BATCH, LENGTH, DIM)
    attention_mask = padded_mask(LENGTH)
    out = pool(x, attention_mask)
    if setup.quiet_training:
        close(pool.train()(x, attention_mask), out, "output in training")
    pool.eval()
    for text, alone in unpadded(x, attention_mask):
        close(out[text], pool(alone, None)[0], f"text {text} against unpadded")
    for garbage in (100.0, torch.inf, torch.nan):
        dirty = x.masked_fill(~attention_mask[..., None], garbage)
        close(pool(dirty, attention_mask), out, f"output with {garbage} in padding")
    more = torch.cat([x, 100 * torch.ones_like(x)], dim=1)
    longer = torch.cat([attention_mask, torch.zeros_like(attention_mask)], dim=1)
    close(pool(more, longer), out, "output with more padding")
    close(pool(x, torch.ones_like(attention_mask)), pool(x, None), "output when all are real")
    if pool.reads is None:
        left, real = pool(x, attention_mask.flip(1)), attention_mask.flip(1)
        for text, alone in unpadded(x, real):
            close(left[text], pool(alone, None)[0], f"text {text} with padding on its left")


@check("pool")
def empty_documents(setup: PoolSetup) -> None:
    """A text of padding only gives a finite output and gradient, and affects no other text."""
    pool = setup.build()
    x = setup.normal(2, LENGTH, DIM).requires_grad_()
    attention_mask = torch.tensor([[True] * LENGTH, [False] * LENGTH])
    out = pool(x, attention_mask)
    finite(out, "output")
    close(out[:1], pool(x[:1], None), "a text in a batch with an empty one")
    (gradient,) = torch.autograd.grad(out.sum(), x)
    finite(gradient, "gradient")


@check("pool")
def reads(setup: PoolSetup) -> None:
    """It reads the rows that `reads` gives and no others; all rows where that is None."""
    pool = setup.build()
    # Many texts, so that for a max pool every row is the greatest in some.
    x = setup.normal(50, LENGTH, DIM).requires_grad_()
    out = pool(x, None)
    # Several lengths, so that a pool of the last token reads every row in some text.
    lengths = 1 + torch.arange(len(x)) % LENGTH
    total = out.sin().sum()
    if pool.reads is None:
        total = total + pool(x, torch.arange(LENGTH) < lengths[:, None]).sin().sum()
    (gradient,) = torch.autograd.grad(total, x)
    read = gradient.abs().amax(dim=(0, 2)) > 0  # (L)
    declared = torch.zeros(LENGTH, dtype=torch.bool)
    declared[slice(None) if pool.reads is None else pool.reads] = True
    extra, missed = (
        rows.nonzero().flatten().tolist() for rows in (read & ~declared, declared & ~read)
    )
    must(not extra, f"reads rows {extra}, though reads = {pool.reads}")
    must(not missed, f"does not read rows {missed}, though reads = {pool.reads}")
    if pool.reads is not None:
        close(pool(x[:, pool.reads], None), out, f"output from the rows {pool.reads} alone")


@check("pool", needs="first")
def first(setup: PoolSetup) -> None:
    """With `first`, `reads` is the first position, so that the last layer need give no other."""
    reads = setup.build().reads
    must(reads == slice(0, 1), f"reads = {reads} instead of slice(0, 1)")


@check("pool", name="long-input")
def long_text(setup: PoolSetup) -> None:
    """In a text of hundreds of tokens, padding is not read."""
    pool, x, real = setup.build(), setup.normal(BATCH, LONG, DIM), padded_mask(LONG)
    out = pool(x, real)
    for text, alone in unpadded(x, real):
        close(out[text], pool(alone, None)[0], f"text {text} of {LONG} tokens against unpadded")
