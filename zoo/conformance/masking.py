"""What an attention may not read: padding, and the future in a causal call."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, finite, largest, must
from zoo.conformance.attention import LENGTHS, LONG, AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.setup import (
    BATCH,
    DIM,
    GARBAGE,
    padded_mask,
    padded_tokens,
    unpadded,
    with_garbage,
)
from zoo.models.key_value_cache import KeyValues

MORE, PROMPT, STEPS = 5, 3, 9


@check("attention", needs="padding")
def padding_invariance(setup: AttentionSetup) -> None:
    """More padding, or other values in it, never change real tokens' outputs or gradients."""
    module = setup.build()
    position = setup.encoding(module)
    for length in (*LENGTHS, LONG):
        for causal in setup.causal_or_not:
            x = setup.normal(BATCH, length, DIM).requires_grad_()
            tokens, real = padded_tokens(length), padded_mask(length)
            out = attend(module, x, tokens, position=position, causal=causal)
            what = f"length {length}{', causal' if causal else ''}"
            for text, alone in unpadded(x, real):
                again = attend(module, alone, position=position, causal=causal)[0]
                close(out[text, real[text]], again, f"{what}: padded text {text} against unpadded")
            dirty = with_garbage(x, real)
            again = attend(module, dirty, tokens, position=position, causal=causal)
            close(again[real], out[real], f"{what}: real rows with other values in padding")
            longer, more = _with_more(dirty, real)
            again = attend(module, longer, more, position=position, causal=causal)
            close(again[:, :length][real], out[real], f"{what}: real rows with more padding")
            (leak,) = torch.autograd.grad(out[real].sin().sum(), x)
            leaked = largest(leak[~real])
            must(leaked == 0, f"{what}: padding gets a gradient of {leaked:.3g}")


def _with_more(x: Tensor, real: Tensor) -> tuple[Tensor, Tokens]:
    """The same texts with more padding after them."""
    extra = GARBAGE * torch.randn(BATCH, MORE, DIM, dtype=x.dtype)
    attention_mask = torch.cat([real, torch.zeros(BATCH, MORE, dtype=torch.bool)], dim=1)
    return torch.cat([x, extra], dim=1), Tokens(attention_mask, torch.arange(x.shape[1] + MORE))


@check("attention", needs="padding causal")
def left_padding(setup: AttentionSetup) -> None:
    """A prompt padded on its left, counted from its first real token, gives what it does alone."""
    # Generation pads prompts of several lengths so; everywhere else padding is on the right.
    module = setup.build()
    position = setup.encoding(module)
    x = setup.normal(BATCH, LENGTHS[0], DIM)
    real = padded_mask(LENGTHS[0]).flip(1)
    tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
    for causal in (False, True):
        out = attend(module, with_garbage(x, real), tokens, position=position, causal=causal)
        for text, alone in unpadded(x, real):
            expected = attend(module, alone, position=position, causal=causal)[0]
            what = f"text {text}{', causal' if causal else ''}"
            close(out[text, real[text]], expected, f"{what}: padded on the left against unpadded")


@check("attention", needs="padding cross")
def context_padding(setup: AttentionSetup) -> None:
    """Other values in a context's padding never change an output."""
    module = setup.build()
    for length in LENGTHS:
        x, context = setup.normal(BATCH, 4, DIM), setup.normal(BATCH, length, DIM, seed=1)
        tokens, real = padded_tokens(length), padded_mask(length)
        out = attend(module, x, None, context, tokens)
        again = attend(module, x, None, with_garbage(context, real), tokens)
        close(again, out, f"context of length {length}: output with other values in its padding")
        for text, alone in unpadded(context, real):
            expected = attend(module, x[text : text + 1], None, alone)[0]
            close(out[text], expected, f"text {text}: padded context against unpadded")


@check("attention", needs="padding")
def empty_documents(setup: AttentionSetup) -> None:
    """A text of padding only gives finite outputs and gradients, and affects no other text."""
    module = setup.build()
    position = setup.encoding(module)
    x = setup.normal(2, 6, DIM).requires_grad_()
    tokens = Tokens(torch.tensor([[True] * 6, [False] * 6]), torch.arange(6))
    leaves = {"the input": x, **dict(module.named_parameters())}
    for causal in setup.causal_or_not:
        out = attend(module, x, tokens, position=position, causal=causal)
        finite(out, "output with an empty text in the batch")
        alone = attend(module, x[:1], position=position, causal=causal)
        close(out[:1], alone, "a text in a batch with an empty one")
        gradients = torch.autograd.grad(out.sum(), list(leaves.values()), materialize_grads=True)
        for name, gradient in zip(leaves, gradients, strict=True):
            finite(gradient, f"gradient of {name} with an empty text in the batch")


@check("attention", needs="causal")
def causality(setup: AttentionSetup) -> None:
    """In a causal call no output depends on later tokens, and outputs depend on earlier ones."""
    module = setup.build()
    position = setup.encoding(module)
    for length in (*LENGTHS, LONG):
        x = setup.normal(BATCH, length, DIM).requires_grad_()
        out = attend(module, x, position=position, causal=True)
        for now in (0, 2, length // 2, length - 2):
            seen, what = slice(0, now + 1), f"length {length}, rows up to {now}"
            future = torch.arange(length) > now
            changed = torch.where(future[:, None], 10 * torch.randn_like(x), x.detach())
            again = attend(module, changed, position=position, causal=True)
            close(again[:, seen], out[:, seen], f"{what} after changing the future")
            alone = attend(module, x[:, seen], position=position, causal=True)
            close(alone, out[:, seen], f"{what} without a future")
            (leak,) = torch.autograd.grad(out[:, seen].sum(), x, retain_graph=True)
            leaked = largest(leak[:, now + 1 :])
            must(leaked == 0, f"{what}: the future gets a gradient of {leaked:.3g}")
    x = x.detach()[:, :6]
    out = attend(module, x, position=position, causal=True)
    if not setup.can("causal-only"):
        differ(attend(module, x, position=position), out, "a causal call against another")
    changed = torch.cat([x[:, :4], torch.randn_like(x[:, 4:5]), x[:, 5:]], dim=1)
    past = attend(module, changed, position=position, causal=True)
    differ(past[:, 4:], out[:, 4:], "the later rows after changing row 4")


@check("attention", needs="cache causal")
def cache(setup: AttentionSetup) -> None:
    """Decoding step by step with a cache equals the causal pass over the whole text."""
    module = setup.build()
    x = setup.normal(BATCH, STEPS, DIM)
    rows = [slice(0, PROMPT), *(slice(t, t + 1) for t in range(PROMPT, STEPS))]
    real = {"whole texts": torch.ones(BATCH, STEPS, dtype=torch.bool)}
    if setup.can("padding"):
        real["padded texts"] = padded_mask(STEPS)
    encodings = {"": setup.encoding(module), ", no encoding": None}
    for (which, mask), (plain, position) in itertools.product(real.items(), encodings.items()):
        tokens = Tokens.whole(STEPS) if mask.all() else padded_tokens(STEPS)
        out = attend(module, x, tokens, position=position, causal=True)
        filled = KeyValues()
        steps = [
            attend(module, x[:, r], tokens[r], position=position, causal=True, cache=filled)
            for r in rows
        ]
        must(filled.used, "the cache is never used")
        what = f"{which}{plain}: {STEPS - PROMPT} steps after {PROMPT} at once"
        close(torch.cat(steps, dim=1)[mask], out[mask], what)
