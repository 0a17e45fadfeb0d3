"""Padding never reaches real tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.base import check, needs
from zoo.conformance.compare import close, finite, largest, must
from zoo.conformance.setups.attention import (
    BATCH,
    LENGTHS,
    LONG,
    AttentionRig,
    attend,
    padded_tokens,
)
from zoo.conformance.setups.base import DIM, normal

GARBAGE, MORE = 100.0, 5


@check("attention", applies=needs("padding"))
def padding_invariance(rig: AttentionRig) -> None:
    """More padding, or other garbage in it, never changes real tokens' outputs or gradients."""
    module = rig.attention()
    position = rig.encoding(module)
    for length in (*LENGTHS, LONG):
        for causal in (False, True) if rig.can("causal") else (False,):
            x = normal(rig.generator(0), BATCH, length, DIM).requires_grad_()
            tokens = padded_tokens(length)
            assert tokens.attention_mask is not None
            real = tokens.attention_mask
            out = attend(module, x, tokens, position=position, causal=causal)
            what = f"length {length}{', causal' if causal else ''}"

            for text in range(BATCH):
                n = int(real[text].sum())
                alone = attend(module, x[text : text + 1, :n], position=position, causal=causal)
                close(out[text, :n], alone[0], f"{what}: padded text {text} against unpadded")
            dirty = _spoilt(x, real)
            again = attend(module, dirty, tokens, position=position, causal=causal)
            close(again[real], out[real], f"{what}: real rows with other garbage in padding")
            longer, more = _with_more(dirty, real)
            again = attend(module, longer, more, position=position, causal=causal)
            close(again[:, :length][real], out[real], f"{what}: real rows with more padding")
            (leak,) = torch.autograd.grad(out[real].sin().sum(), x)
            must(
                not bool(leak[~real].any()),
                f"{what}: padding gets a gradient of {largest(leak[~real]):.3g}",
            )


@check("attention", applies=needs("padding", "causal"))
def left_padding(rig: AttentionRig) -> None:
    """A prompt padded on its left, counted from its first real token, gives what it does alone."""
    # What generation does with prompts of several lengths; elsewhere padding stands on the right.
    module = rig.attention()
    position = rig.encoding(module)
    length = LENGTHS[0]
    x = normal(rig.generator(0), BATCH, length, DIM)
    real = padded_tokens(length).attention_mask
    assert real is not None
    real = real.flip(1)
    tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
    for causal in (False, True):
        out = attend(module, _spoilt(x, real), tokens, position=position, causal=causal)
        for text in range(BATCH):
            kept = real[text]
            alone = attend(module, x[text : text + 1, kept], position=position, causal=causal)
            what = f"text {text}{', causal' if causal else ''}"
            close(out[text, kept], alone[0], f"{what}: padded on the left against unpadded")


@check("attention", applies=needs("padding", "cross"))
def context_padding(rig: AttentionRig) -> None:
    """Other garbage in a context's padding never changes an output."""
    module = rig.attention()
    for length in LENGTHS:
        x = normal(rig.generator(0), BATCH, 4, DIM)
        context = normal(rig.generator(1), BATCH, length, DIM)
        tokens = padded_tokens(length)
        assert tokens.attention_mask is not None
        out = attend(module, x, None, context, tokens)
        again = attend(module, x, None, _spoilt(context, tokens.attention_mask), tokens)
        close(again, out, f"context of length {length}: output with other garbage in its padding")
        for text in range(BATCH):
            n = int(tokens.attention_mask[text].sum())
            alone = attend(module, x[text : text + 1], None, context[text : text + 1, :n])
            close(out[text], alone[0], f"text {text}: padded context against unpadded")


@check("attention", applies=needs("padding"))
def empty_documents(rig: AttentionRig) -> None:
    """A text of padding alone gives finite outputs and gradients, and disturbs no other."""
    module = rig.attention()
    x = normal(rig.generator(0), 2, 6, DIM).requires_grad_()
    attention_mask = torch.tensor([[True] * 6, [False] * 6])
    for causal in (False, True) if rig.can("causal") else (False,):
        position = rig.encoding(module)
        tokens = Tokens(attention_mask, torch.arange(6))
        out = attend(module, x, tokens, position=position, causal=causal)
        finite(out, "output beside an empty text")
        alone = attend(module, x[:1], position=position, causal=causal)
        close(out[:1], alone, "a text beside an empty one")
        module.zero_grad()
        (gradient,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
        finite(gradient, "gradient of the input beside an empty text")
        out.sum().backward()
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"gradient of {name} beside an empty text")


def _spoilt(x: Tensor, real: Tensor) -> Tensor:
    """The same real tokens, with large garbage everywhere else."""
    return torch.where(real[..., None], x.detach(), GARBAGE * torch.randn_like(x))


def _with_more(x: Tensor, real: Tensor) -> tuple[Tensor, Tokens]:
    """The same texts with more padding behind."""
    extra = GARBAGE * torch.randn(x.shape[0], MORE, x.shape[2], dtype=x.dtype)
    attention_mask = torch.cat([real, torch.zeros(real.shape[0], MORE, dtype=torch.bool)], dim=1)
    return torch.cat([x, extra], dim=1), Tokens(attention_mask, torch.arange(x.shape[1] + MORE))
