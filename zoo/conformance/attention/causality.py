"""Causal attention: in one pass, and step by step with a cache."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, largest, must
from zoo.conformance.check import check, needs
from zoo.conformance.reference_parts import GrowingCache
from zoo.conformance.setups.attention_setup import LENGTHS, LONG, AttentionSetup, attend
from zoo.conformance.setups.setup import BATCH, DIM, normal, padded_tokens

PROMPT, STEPS = 3, 9


@check("attention", applies=needs("causal"))
def causality(setup: AttentionSetup) -> None:
    """In a causal call no output depends on later tokens, and outputs depend on earlier ones."""
    module = setup.build()
    position = setup.encoding(module)
    for length in (*LENGTHS, LONG):
        x = normal(setup.generator(0), BATCH, length, DIM).requires_grad_()
        out = attend(module, x, position=position, causal=True)
        for now in (0, 2, length // 2, length - 2):
            future = torch.arange(length) > now
            changed = torch.where(future[:, None], 10 * torch.randn_like(x), x.detach())
            again = attend(module, changed, position=position, causal=True)
            what = f"length {length}, rows up to {now}"
            close(again[:, : now + 1], out[:, : now + 1], f"{what} after changing the future")
            alone = attend(module, x[:, : now + 1], position=position, causal=True)
            close(alone, out[:, : now + 1], f"{what} without a future")
            (leak,) = torch.autograd.grad(out[:, : now + 1].sum(), x, retain_graph=True)
            must(
                not bool(leak[:, now + 1 :].any()),
                f"{what}: the future gets a gradient of {largest(leak[:, now + 1 :]):.3g}",
            )
    x = x.detach()[:, :6]
    free = attend(module, x, position=position)
    differ(
        free,
        attend(module, x, position=position, causal=True),
        "a causal call against another",
    )
    changed = torch.cat([x[:, :4], torch.randn_like(x[:, 4:5]), x[:, 5:]], dim=1)
    past = attend(module, changed, position=position, causal=True)
    out = attend(module, x, position=position, causal=True)
    differ(past[:, 4:], out[:, 4:], "the later rows after changing row 4")


@check("attention", applies=needs("cache", "causal"))
def cache(setup: AttentionSetup) -> None:
    """Decoding step by step with a cache equals the causal pass over the whole text."""
    module = setup.build()
    position = setup.encoding(module)
    x = normal(setup.generator(0), BATCH, STEPS, DIM)
    whole = [Tokens.whole(STEPS)] + ([padded_tokens(STEPS)] if setup.can("padding") else [])
    for tokens in whole:
        mask = tokens.attention_mask
        out = attend(module, x, tokens, position=position, causal=True)
        kept = GrowingCache()
        rows = [slice(0, PROMPT), *(slice(t, t + 1) for t in range(PROMPT, STEPS))]
        steps = [
            attend(module, x[:, r], tokens[r], position=position, causal=True, cache=kept)
            for r in rows
        ]
        must(kept.content is not None, "the cache is never used")
        stepwise = torch.cat(steps, dim=1)
        real = torch.ones(BATCH, STEPS, dtype=torch.bool) if mask is None else mask
        which = "whole texts" if mask is None else "padded texts"
        close(stepwise[real], out[real], f"{which}: {STEPS - PROMPT} steps after {PROMPT} at once")
