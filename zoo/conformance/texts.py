"""What an output may depend on: never on padding, causally not on the future, cached or not.

Written once for every kind whose parts read texts; how each is called is its set-up's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, finite, largest, likely, must
from zoo.conformance.attention import BLOCK, AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.modules import autocast, of_modules
from zoo.conformance.setup import (
    BATCH,
    DIM,
    LONG,
    MAX_LENGTH,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    unpadded,
    with_garbage,
)
from zoo.models.key_value_cache import KeyValues
from zoo.registry import Choice

LENGTH, START, MORE = 6, 1, 5
# Longer than the usual window, so that one of columns differs from one of positions.
PROMPT, STEPS = 20, 44
# The prompt, a token, and then several at once, as when proposed tokens are verified.
PIECES = (slice(0, 20), slice(20, 21), slice(21, 23), slice(23, 44))
# In bfloat16 the position after each of these is rounded to the same number as it.
ROWS = (259, 271, 283)
LONGER = 1200  # running sums of so many numbers no longer grow in bfloat16
SHORT = 2.0**-3  # what rounding leaves to a variant that selects keys, too
LEAK = 2.0**-5  # as the bound of precision: sums may be rounded in another order


def _needing(*capabilities: str) -> Callable[[Choice], str | None]:
    """Attentions that declare all of these, networks that read neighbours too, and all blocks."""

    def why_skipped(choice: Choice) -> str | None:
        kind = choice.component.kind
        needed = ("neighbours", *capabilities) if kind == "ffn" else capabilities
        if kind == "block" or all(map(choice.can, needed)):
            return of_modules(choice)
        return f"it does not declare {', '.join(repr(c) for c in needed if not choice.can(c))}"

    return why_skipped


def _tried(setup: ModuleSetup) -> list[tuple[Any, int]]:
    """Modules with lengths of texts; also with weights as large as training may make them."""
    large = [(setup.build(seed=seed, jitter=1.0), setup.lengths[0]) for seed in range(3)]
    return [*large, *((setup.build(), length) for length in setup.lengths)]


def _of_padding(choice: Choice) -> str | None:
    return (
        _needing("padding")(choice) if choice.component.kind == "attention" else of_modules(choice)
    )


@check("attention", "norm", "ffn", "block", "pool", "baseline", applies=_of_padding)
def padding_invariance(setup: ModuleSetup) -> None:
    """No other values in padding, infinite ones too, and no more of it change an output."""
    ways = itertools.product(_tried(setup), setup.causal_or_not, ("right", "left"))
    for (module, length), causal, side in ways:
        # The longest is for kernels that go by blocks; a causal call has that length in causality.
        twice = length == BLOCK and causal != setup.causal_or_not[0]
        if twice or side not in setup.padded_sides(module):
            continue
        real, x, hint = padded_mask(length), setup.text(length), setup.lonely
        if length == BLOCK:
            real, x = real[:2], x[:2]  # a whole text, and one of half the length
        real = real.flip(1) if side == "left" else real
        tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
        x.requires_grad_(x.is_floating_point())
        out = setup.call(module, x, tokens, causal=causal)
        what = f"{length} tokens{', causal' * causal}, padding on the {side}"
        kept = out if setup.per_text else out[real]

        def same(found: Tensor, expected: Tensor, how: str) -> None:
            close(found, expected, f"{what}: {how}", tolerance=setup.tolerance)  # noqa: B023

        def cause() -> str:
            bare = Tokens(None, tokens.positions)  # noqa: B023
            ignored = torch.equal(setup.call(module, x, bare, causal=causal), out)  # noqa: B023
            return "the mask is ignored" if ignored else setup.fault(module)  # noqa: B023

        with likely(cause):
            for text, alone in unpadded(x, real):
                expected = setup.call(module, alone, Tokens.whole(len(alone[0])), causal=causal)[0]
                found = out[text] if setup.per_text else out[text, real[text]]
                same(found, expected, f"text {text} against unpadded{hint}")
        for dirty, which in setup.dirty(x, real):
            again = setup.call(module, dirty, tokens, causal=causal)
            same(again if setup.per_text else again[real], kept, f"{which} in padding")
        if side == "right":
            longer = torch.cat([dirty, dirty[:, :MORE].flip(0)], dim=1)
            mask = torch.cat([real, torch.zeros_like(real[:, :MORE])], dim=1)
            more = Tokens(mask, torch.arange(mask.shape[1]))
            again = setup.call(module, longer, more, causal=causal)
            again = again if setup.per_text else again[:, :length][real]
            same(again, kept, "more padding")
        if x.requires_grad and out.requires_grad:
            (leak,) = torch.autograd.grad(kept.sin().sum(), x)
            leaked = largest(leak[~real])
            must(leaked == 0, f"{what}: padding gets a gradient of {leaked:.3g}")


@check("attention", "ffn", "block", "pool", applies=_of_padding)
def empty_documents(setup: ModuleSetup) -> None:
    """A text of padding only gives finite outputs and gradients, and affects no other text."""
    module = setup.build()
    x = setup.text(LENGTH)[:2].requires_grad_()
    tokens = Tokens(torch.tensor([[True] * LENGTH, [False] * LENGTH]), torch.arange(LENGTH))
    leaves = {"the input": x, **dict(module.named_parameters())}
    for causal in setup.causal_or_not:
        out = setup.call(module, x, tokens, causal=causal)
        finite(out, "output")
        alone = setup.call(module, x[:1], Tokens.whole(LENGTH), causal=causal)
        close(out[:1], alone, "a text in a batch with an empty one")
        gradients = torch.autograd.grad(out.sum(), list(leaves.values()), materialize_grads=True)
        for name, gradient in zip(leaves, gradients, strict=True):
            finite(gradient, f"gradient of {name} with an empty text in the batch")


@check("attention", "ffn", "block", applies=_needing("causal"))
def causality(setup: ModuleSetup) -> None:
    """In a causal call no output depends on later tokens, and outputs depend on earlier ones."""
    for module, length in _tried(setup):
        texts = slice(0, 1 if length == BLOCK else BATCH)
        x, whole = setup.text(length)[texts].requires_grad_(), Tokens.whole(length)
        out = setup.call(module, x, whole, causal=True)
        for now in (0, 2, length - 2) if length == LENGTH else (2, length // 2):
            seen, what = slice(0, now + 1), f"length {length}, rows up to {now}"
            future = torch.arange(length) > now
            changed = torch.where(future[:, None], 10 * torch.randn_like(x), x.detach())
            again = setup.call(module, changed, whole, causal=True)

            def cause() -> str:
                ignored = torch.equal(setup.call(module, x, whole), out)  # noqa: B023
                return "the causal mask is ignored" if ignored else setup.fault(module)  # noqa: B023

            with likely(cause):
                close(again[:, seen], out[:, seen], f"{what} after changing the future")
            alone = setup.call(module, x[:, seen], whole[seen], causal=True)
            close(alone, out[:, seen], f"{what} without a future")
            (leak,) = torch.autograd.grad(out[:, seen].sum(), x, retain_graph=True)
            leaked = largest(leak[:, now + 1 :])
            must(leaked == 0, f"{what}: the future gets a gradient of {leaked:.3g}")
    x, whole = setup.text(LENGTH), Tokens.whole(LENGTH)
    out = setup.call(module, x, whole, causal=True)
    # A network may read only the past in every layer, as one that shifts its input does.
    if False in setup.causal_or_not and setup.choice.component.kind != "ffn":
        differ(setup.call(module, x, whole), out, "a call that is not causal against a causal one")
    changed = torch.cat([torch.randn_like(x[:, :1]), x[:, 1:]], dim=1)
    past = setup.call(module, changed, whole, causal=True)
    differ(past[:, 1:], out[:, 1:], "the later rows after changing row 0")


@check("attention", "ffn", "block", applies=_needing("causal", "cache"))
def cache_padding(setup: ModuleSetup) -> None:
    """With prompts padded left or right, at positions of their own, steps equal each text alone."""
    module, x = setup.build(), setup.text(STEPS)
    if setup.choice.component.kind == "attention" and not setup.can("padding"):
        prompts = {"on no side": torch.ones(BATCH, PROMPT, dtype=torch.bool)}
    else:
        mask = padded_mask(PROMPT)
        prompts = {"on the left": mask.flip(1), "on the right": mask}
    for side, mask in prompts.items():
        generated = torch.ones(BATCH, STEPS - PROMPT, dtype=torch.bool)
        real = torch.cat([mask, generated], dim=1)
        tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))
        dirty, filled = with_garbage(x, real), KeyValues()
        steps = [
            setup.call(module, dirty[:, r], tokens[r], causal=True, cache=filled) for r in PIECES
        ]
        out = torch.cat(steps, dim=1)
        must(filled.used, "the cache that it is given is never used")
        for text, alone in unpadded(x, real):
            expected = setup.call(module, alone, Tokens.whole(alone.shape[1]), causal=True)[0]
            what = f"prompts padded {side}, step by step: text {text} against alone"
            close(out[text, real[text]], expected, what)


@check("attention", "ffn", applies=_needing("causal", "cache"))
def caches_apart(setup: ModuleSetup) -> None:
    """Two decodings in turns, and one whose texts were reordered, each give what they do alone."""
    module, whole = setup.build(), Tokens.whole(STEPS)
    texts = [setup.text(STEPS, seed=3), setup.text(STEPS, seed=2)[:2]]
    # A kernel may have a path of its own for scores without a bias.
    for plain in ({}, {"encoded": False}) if isinstance(setup, AttentionSetup) else ({},):

        def call(x: Tensor, rows: slice, cache: KeyValues | None) -> Tensor:
            found: Tensor = setup.call(module, x, whole[rows], causal=True, cache=cache, **plain)  # noqa: B023
            return found

        expected = [call(x, slice(None), None) for x in texts]
        caches = [KeyValues() for _ in texts]
        for rows in PIECES[:-1]:
            for number, x in enumerate(texts):
                out = call(x[:, rows], rows, caches[number])
                what = f"decoding {number + 1} of two in turns, tokens from {rows.start} on"
                close(out, expected[number][:, rows], f"{what}: keep what is cached in the cache")
        chosen, rows = torch.tensor([2, 0, 0]), PIECES[-1]
        caches[0].select(chosen)
        out = call(texts[0][chosen][:, rows], rows, caches[0])
        after = "the next tokens after the texts were reordered"
        close(out, expected[0][chosen][:, rows], after)


@check("attention", needs="cross padding")
def both_padded(setup: AttentionSetup) -> None:
    """Where x and context are both padded, as long or not, each keeps its own padding."""
    module = setup.build()
    position, x = setup.encoding(module), setup.text(LENGTH)
    real = padded_mask(LENGTH)  # 6, 3 and 1 tokens
    queries = Tokens(real, torch.arange(LENGTH) + START)
    for length in (LENGTH, LENGTH + 3):
        context = setup.text(length, seed=1)
        seen = torch.arange(length) < torch.tensor([[5], [length], [length - 1]])
        keys = Tokens(seen, torch.arange(length))
        dirty = with_garbage(x, real), with_garbage(context, seen)
        out = attend(module, dirty[0], queries, dirty[1], keys, position=position)
        for text in range(BATCH):
            kept, its = real[text], seen[text]
            expected = attend(
                module,
                x[text : text + 1, kept],
                Tokens(None, queries.positions[kept]),
                context[text : text + 1, its],
                Tokens(None, keys.positions[its]),
                position=position,
            )
            what = f"text {text}, context of {length} for {LENGTH} queries"
            close(out[text, kept], expected[0], f"{what}: padded against unpadded")


@check("attention", needs="cache cross")
def cross_cache(setup: AttentionSetup) -> None:
    """A cross-attention's cache, filled at the first step, serves every later one."""
    module, x = setup.build(), setup.text(5)
    context, whole, keys = setup.text(7, seed=1), Tokens.whole(5), setup.tokens(7)
    expected = attend(module, x, whole, context, keys)
    filled, own = KeyValues(), KeyValues()
    for step in range(5):
        now, new = slice(step, step + 1), slice(0, 0) if step else slice(None)
        if setup.can("causal"):  # a self-attention in between, with a cache of its own
            attend(module, x[:, now], whole[now], causal=True, cache=own)
        out = attend(module, x[:, now], whole[now], context[:, new], keys[new], cache=filled)
        close(out, expected[:, now], f"step {step + 1} against a call without a cache")


@check("attention")
def in_bfloat16(setup: AttentionSetup) -> None:
    """Under autocast a long text gives what it does in float32, and what is hidden stays so."""
    module = setup.build(torch.float32)
    position = setup.encoding(module)
    length = MAX_LENGTH if setup.can("fixed-length") else LONGER
    x = setup.normal(1, length, DIM).float()
    with torch.no_grad(), autocast():
        found = attend(module, x, position=position).float()
    expected = attend(module, x, position=position).detach()
    for rows in (slice(256, LONG), slice(-LONG, None)):
        off = float((found[:, rows] - expected[:, rows]).norm() / expected[:, rows].norm())
        begin, end, _ = rows.indices(length)
        what = f"tokens {begin} to {end - 1} are off by {off:.3g} of the norm"
        hint = "subtract positions as integers, and keep running sums in float32"
        must(off <= SHORT, f"{what}, where {SHORT:.3g} is allowed; {hint}")
    for dtype in (torch.bfloat16, torch.float32):  # what a linear layer gives, and the stream
        x = (4 * setup.text(LONG)).to(dtype)
        where = f"{dtype} under autocast"
        with torch.no_grad(), autocast():
            if setup.can("padding"):
                tokens, real = padded_tokens(LONG), padded_mask(LONG)
                out = attend(module, x, tokens, position=position)
                again = attend(module, with_garbage(x, real), tokens, position=position)
                what = f"{where}: real rows with other values in padding"
                close(again[real], out[real], what, tolerance=LEAK)
            if not setup.can("causal"):
                continue
            out = attend(module, x, position=position, causal=True)
            for now in ROWS:
                future = torch.arange(LONG) > now
                changed = torch.where(future[:, None], 20 * torch.randn_like(x), x)
                again = attend(module, changed, position=position, causal=True)
                what = f"{where}: rows up to {now} after changing the future"
                hint = "compare positions as integers"
                seen = slice(0, now + 1)
                close(again[:, seen], out[:, seen], f"{what}; {hint}", tolerance=LEAK)
