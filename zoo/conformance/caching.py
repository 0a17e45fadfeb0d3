"""Checks of caches, as generation uses them: prompts of several lengths, beams, two attentions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close
from zoo.conformance.attention import AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.position_wise import FFNSetup, feed
from zoo.conformance.setup import (
    BATCH,
    DIM,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    unpadded,
    with_garbage,
)
from zoo.models.key_value_cache import KeyValues

# Longer than the usual window, so that one of columns differs from one of positions.
PROMPT, STEPS = 20, 44
# The prompt, a token, and then several at once, as when proposed tokens are verified.
PIECES = (slice(0, 20), slice(20, 21), slice(21, 23), slice(23, 44))
# x (B, L, D), its tokens and a cache, to what a causal layer gives.
Step = Callable[[Tensor, Tokens, KeyValues | None], Tensor]


def _causal(setup: AttentionSetup, *, encoded: bool = True) -> Step:
    module = setup.build()
    position = setup.encoding(module) if encoded else None

    def call(x: Tensor, tokens: Tokens, cache: KeyValues | None) -> Tensor:
        return attend(module, x, tokens, position=position, causal=True, cache=cache)

    return call


@check("attention", needs="cache causal padding")
def cache_padding(setup: AttentionSetup) -> None:
    """With prompts padded left or right, at positions of their own, steps equal each text alone."""
    call, x = _causal(setup), setup.normal(BATCH, STEPS, DIM)
    prompts = padded_mask(PROMPT)
    for side, mask in (("left", prompts.flip(1)), ("right", prompts)):
        generated = torch.ones(BATCH, STEPS - PROMPT, dtype=torch.bool)
        real = torch.cat([mask, generated], dim=1)
        tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
        dirty, filled = with_garbage(x, real), KeyValues()
        out = torch.cat([call(dirty[:, r], tokens[r], filled) for r in PIECES], dim=1)
        for text, alone in unpadded(x, real):
            expected = call(alone, Tokens.whole(alone.shape[1]), None)[0]
            what = f"prompts padded on the {side}, step by step: text {text} against alone"
            close(out[text, real[text]], expected, what)


@check("attention", needs="cache causal")
def caches_apart(setup: AttentionSetup) -> None:
    """Two decodings in turns, and one whose texts were reordered, each give what they do alone."""
    for encoded in (True, False):  # a kernel may have a path of its own for scores without a bias
        _apart(setup, _causal(setup, encoded=encoded))


@check("ffn", needs="neighbours causal cache", name="caches-apart")
def ffn_caches_apart(setup: FFNSetup) -> None:
    """Two decodings in turns, and one whose texts were reordered, each give what they do alone."""
    module = setup.build()
    _apart(setup, lambda x, tokens, cache: feed(module, x, tokens, causal=True, cache=cache))


def _apart(setup: ModuleSetup, call: Step) -> None:
    whole = Tokens.whole(STEPS)
    texts = [setup.normal(count, STEPS, DIM, seed=count) for count in (BATCH, 2)]
    expected = [call(x, whole, None) for x in texts]
    caches = [KeyValues() for _ in texts]
    for rows in PIECES[:-1]:
        for number, x in enumerate(texts):
            out = call(x[:, rows], whole[rows], caches[number])
            what = f"decoding {number + 1} of two in turns, tokens {rows.start} to {rows.stop - 1}"
            close(out, expected[number][:, rows], f"{what}: keep what is cached in the cache alone")
    chosen, rows = torch.tensor([2, 0, 0]), PIECES[-1]
    caches[0].select(chosen)
    out = call(texts[0][chosen][:, rows], whole[rows], caches[0])
    close(out, expected[0][chosen][:, rows], "the next tokens after the texts were reordered")


@check("attention", needs="cache cross")
def cross_cache(setup: AttentionSetup) -> None:
    """A cross-attention's cache, filled at the first step, serves every later one."""
    module, x = setup.build(), setup.normal(BATCH, 5, DIM)
    context, whole = setup.normal(BATCH, 7, DIM, seed=1), Tokens.whole(5)
    keys = padded_tokens(7) if setup.can("padding") else Tokens.whole(7)
    expected = attend(module, x, whole, context, keys)
    filled, own = KeyValues(), KeyValues()
    for step in range(5):
        now, new = slice(step, step + 1), slice(0, 0) if step else slice(None)
        if setup.can("causal"):  # a self-attention in between, with a cache of its own
            attend(module, x[:, now], whole[now], causal=True, cache=own)
        out = attend(module, x[:, now], whole[now], context[:, new], keys[new], cache=filled)
        close(out, expected[:, now], f"step {step + 1} against a call without a cache")
