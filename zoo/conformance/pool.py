"""Checks of pools."""

from __future__ import annotations

from typing import cast

import torch

from zoo.components.pool.base import Pool
from zoo.conformance.base import check, needs
from zoo.conformance.compare import close, finite, must
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.base import DIM, normal
from zoo.conformance.setups.pool import BATCH, PoolRig

LENGTH = 6


@check("pool")
def padding_invariance(rig: PoolRig) -> None:
    """What stands in padding, infinities too, and how much there is of it, changes nothing."""
    pool = rig.build()
    x = normal(rig.generator(0), BATCH, LENGTH, DIM)
    attention_mask = padded_tokens(LENGTH).attention_mask
    assert attention_mask is not None
    out = pool(x, attention_mask)
    close(pool.train()(x, attention_mask), out, "output in training")
    pool.eval()
    for text in range(BATCH):
        n = int(attention_mask[text].sum())
        close(out[text], pool(x[text : text + 1, :n], None)[0], f"text {text} against unpadded")
    for garbage in (100.0, torch.inf, torch.nan):
        dirty = x.masked_fill(~attention_mask[..., None], garbage)
        close(pool(dirty, attention_mask), out, f"output with {garbage} in padding")
    more = torch.cat([x, 100 * torch.ones_like(x)], dim=1)
    longer = torch.cat([attention_mask, torch.zeros_like(attention_mask)], dim=1)
    close(pool(more, longer), out, "output with more padding")
    close(pool(x, torch.ones_like(attention_mask)), pool(x, None), "output when all are real")


@check("pool")
def empty_documents(rig: PoolRig) -> None:
    """A text of padding alone gives a finite output and gradient, and disturbs no other."""
    pool = rig.build()
    x = normal(rig.generator(0), 2, LENGTH, DIM).requires_grad_()
    attention_mask = torch.tensor([[True] * LENGTH, [False] * LENGTH])
    out = pool(x, attention_mask)
    finite(out, "output")
    close(out[:1], pool(x[:1], None), "a text beside an empty one")
    (gradient,) = torch.autograd.grad(out.sum(), x)
    finite(gradient, "gradient")


@check("pool")
def reads(rig: PoolRig) -> None:
    """It reads the rows that it says and no others; all, where it says nothing."""
    pool = cast(Pool, rig.build())
    # Many texts: where a pool takes the greatest value, every row is the greatest in some.
    x = normal(rig.generator(0), 50, LENGTH, DIM).requires_grad_()
    out = pool(x, None)
    # Of several lengths as well: one that reads a text's last token reads every row, in some text.
    lengths = 1 + torch.arange(len(x)) % LENGTH
    total = out.sin().sum()
    if pool.reads is None:
        total = total + pool(x, torch.arange(LENGTH) < lengths[:, None]).sin().sum()
    (gradient,) = torch.autograd.grad(total, x)
    read = gradient.abs().amax(dim=(0, 2)) > 0  # (L)
    said = torch.zeros(LENGTH, dtype=torch.bool)
    said[slice(None) if pool.reads is None else pool.reads] = True
    extra, missed = (rows.nonzero().flatten().tolist() for rows in (read & ~said, said & ~read))
    must(not extra, f"reads rows {extra}, though reads = {pool.reads}")
    must(not missed, f"does not read rows {missed}, though reads = {pool.reads}")
    if pool.reads is not None:
        close(pool(x[:, pool.reads], None), out, f"output from the rows {pool.reads} alone")


@check("pool", applies=needs("first"))
def first(rig: PoolRig) -> None:
    """Declaring `first`, it reads the first position alone, so that the last layer can as well."""
    pool = cast(Pool, rig.build())
    must(pool.reads == slice(0, 1), f"reads = {pool.reads} instead of slice(0, 1)")
    x = normal(rig.generator(0), BATCH, LENGTH, DIM)
    other = torch.cat([x[:, :1], torch.randn_like(x[:, 1:])], dim=1)
    close(pool(other, None), pool(x, None), "output after changing all rows but the first")
