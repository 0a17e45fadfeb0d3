"""Padded positions never influence real ones."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, finite, largest, must
from zoo.conformance.check import check, needs
from zoo.conformance.setups.attention_setup import LENGTHS, LONG, AttentionSetup, attend
from zoo.conformance.setups.setup import BATCH, DIM, normal, padded_mask, padded_tokens

GARBAGE, MORE = 100.0, 5


@check("attention", applies=needs("padding"))
def padding_invariance(setup: AttentionSetup) -> None:
    """More padding, or other values in it, never change real tokens' outputs or gradients."""
    module = setup.build()
    position = setup.encoding(module)
    for length in (*LENGTHS, LONG):
        for causal in (False, True) if setup.can("causal") else (False,):
            x = normal(setup.generator(0), BATCH, length, DIM).requires_grad_()
            tokens, real = padded_tokens(length), padded_mask(length)
            out = attend(module, x, tokens, position=position, causal=causal)
            what = f"length {length}{', causal' if causal else ''}"

            for text in range(BATCH):
                n = int(real[text].sum())
                alone = attend(module, x[text : text + 1, :n], position=position, causal=causal)
                close(out[text, :n], alone[0], f"{what}: padded text {text} against unpadded")
            dirty = _with_garbage(x, real)
            again = attend(module, dirty, tokens, position=position, causal=causal)
            close(again[real], out[real], f"{what}: real rows with other values in padding")
            longer, more = _with_more(dirty, real)
            again = attend(module, longer, more, position=position, causal=causal)
            close(again[:, :length][real], out[real], f"{what}: real rows with more padding")
            (leak,) = torch.autograd.grad(out[real].sin().sum(), x)
            must(
                not bool(leak[~real].any()),
                f"{what}: padding gets a gradient of {largest(leak[~real]):.3g}",
            )


@check("attention", applies=needs("padding", "causal"))
def left_padding(setup: AttentionSetup) -> None:
    """A prompt padded on its left, counted from its first real token, gives what it does alone."""
    # Generation pads prompts of several lengths so; everywhere else padding is on the right.
    module = setup.build()
    position = setup.encoding(module)
    length = LENGTHS[0]
    x = normal(setup.generator(0), BATCH, length, DIM)
    real = padded_mask(length).flip(1)
    tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
    for causal in (False, True):
        out = attend(module, _with_garbage(x, real), tokens, position=position, causal=causal)
        for text in range(BATCH):
            kept = real[text]
            alone = attend(module, x[text : text + 1, kept], position=position, causal=causal)
            what = f"text {text}{', causal' if causal else ''}"
            close(out[text, kept], alone[0], f"{what}: padded on the left against unpadded")


@check("attention", applies=needs("padding", "cross"))
def context_padding(setup: AttentionSetup) -> None:
    """Other values in a context's padding never change an output."""
    module = setup.build()
    for length in LENGTHS:
        x = normal(setup.generator(0), BATCH, 4, DIM)
        context = normal(setup.generator(1), BATCH, length, DIM)
        tokens, real = padded_tokens(length), padded_mask(length)
        out = attend(module, x, None, context, tokens)
        again = attend(module, x, None, _with_garbage(context, real), tokens)
        close(again, out, f"context of length {length}: output with other values in its padding")
        for text in range(BATCH):
            n = int(real[text].sum())
            alone = attend(module, x[text : text + 1], None, context[text : text + 1, :n])
            close(out[text], alone[0], f"text {text}: padded context against unpadded")


@check("attention", applies=needs("padding"))
def empty_documents(setup: AttentionSetup) -> None:
    """A text of padding only gives finite outputs and gradients, and affects no other text."""
    module = setup.build()
    x = normal(setup.generator(0), 2, 6, DIM).requires_grad_()
    attention_mask = torch.tensor([[True] * 6, [False] * 6])
    for causal in (False, True) if setup.can("causal") else (False,):
        position = setup.encoding(module)
        tokens = Tokens(attention_mask, torch.arange(6))
        out = attend(module, x, tokens, position=position, causal=causal)
        finite(out, "output with an empty text in the batch")
        alone = attend(module, x[:1], position=position, causal=causal)
        close(out[:1], alone, "a text in a batch with an empty one")
        module.zero_grad()
        (gradient,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
        finite(gradient, "gradient of the input with an empty text in the batch")
        out.sum().backward()
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"gradient of {name} with an empty text in the batch")


def _with_garbage(x: Tensor, real: Tensor) -> Tensor:
    """The same real tokens, with large random values at padded positions."""
    return torch.where(real[..., None], x.detach(), GARBAGE * torch.randn_like(x))


def _with_more(x: Tensor, real: Tensor) -> tuple[Tensor, Tokens]:
    """The same texts with more padding after them."""
    extra = GARBAGE * torch.randn(x.shape[0], MORE, x.shape[2], dtype=x.dtype)
    attention_mask = torch.cat([real, torch.zeros(real.shape[0], MORE, dtype=torch.bool)], dim=1)
    return torch.cat([x, extra], dim=1), Tokens(attention_mask, torch.arange(x.shape[1] + MORE))
