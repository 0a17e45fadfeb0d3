"""What an attention may not read, padding and the future, with a cache too."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, finite, largest, must
from zoo.conformance.attention import LENGTHS, AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.modules import autocast
from zoo.conformance.position_wise import FFNSetup, feed
from zoo.conformance.setup import (
    BATCH,
    DIM,
    GARBAGE,
    LONG,
    MAX_LENGTH,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    perturb,
    unpadded,
    with_garbage,
)
from zoo.models.key_value_cache import KeyValues
from zoo.models.seeding import seeded
from zoo.registry import Choice

LENGTH, START = 6, 1
# Longer than the usual window, so that one of columns differs from one of positions.
PROMPT, STEPS = 20, 44
# The prompt, a token, and then several at once, as when proposed tokens are verified.
PIECES = (slice(0, 20), slice(20, 21), slice(21, 23), slice(23, 44))
# x (B, L, D), its tokens and a cache, to what a causal layer gives.
Step = Callable[[Tensor, Tokens, KeyValues | None], Tensor]
# More than the usual block of a kernel; more padding.
BLOCK, MORE = 523, 5
# In bfloat16 the position after each of these is rounded to the same number as it.
ROWS = (259, 271, 283)
LONGER = 1200  # running sums of so many numbers no longer grow in bfloat16
SHORT = 2.0**-3  # what rounding leaves to a variant that selects keys, too
LEAK = 2.0**-5  # as the bound of precision: sums may be rounded in another order


@check("attention", needs="cross padding")
def both_padded(setup: AttentionSetup) -> None:
    """Where x and context are both padded, as long or not, each keeps its own padding."""
    module = setup.build()
    position, x = setup.encoding(module), setup.normal(BATCH, LENGTH, DIM)
    real = padded_mask(LENGTH)  # 6, 3 and 1 tokens
    queries = Tokens(real, torch.arange(LENGTH) + START)
    for length in (LENGTH, LENGTH + 3):
        context = setup.normal(BATCH, length, DIM, seed=1)
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


@check("attention", needs="padding")
def padding_invariance(setup: AttentionSetup) -> None:
    """More padding, or other values in it, never change real tokens' outputs or gradients."""
    module = setup.build()
    position = setup.encoding(module)
    for length in (*LENGTHS, BLOCK):
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
    for length in (*LENGTHS, BLOCK):
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


def _masked(choice: Choice) -> str | None:
    if choice.can("padding") or choice.can("causal"):
        return None
    return "it declares neither 'padding' nor 'causal'"


@check("attention", applies=_masked)
def any_weights(setup: AttentionSetup) -> None:
    """With weights as large and as negative as training may make them, what is hidden stays so."""
    length, later = 9, 4
    for seed in range(3):
        module = setup.build(seed=seed)
        with seeded(setup.settings.seed + seed, "checks/weights"):
            perturb(module, 1.0)
        position, x = setup.encoding(module), setup.normal(BATCH, length, DIM)
        if setup.can("padding"):
            tokens, real = padded_tokens(length), padded_mask(length)
            out = attend(module, x, tokens, position=position)
            again = attend(module, with_garbage(x, real), tokens, position=position)
            close(again[real], out[real], "real rows with other values in padding")
        if setup.can("causal"):
            out = attend(module, x, position=position, causal=True)
            changed = torch.cat([x[:, :later], torch.randn_like(x[:, later:])], dim=1)
            again = attend(module, changed, position=position, causal=True)
            close(again[:, :later], out[:, :later], "causal: rows before those that are changed")


@check("attention", applies=_masked)
def masks_in_bfloat16(setup: AttentionSetup) -> None:
    """In bfloat16 too, padding and later tokens of a text of 300 change nothing."""
    module = setup.build(torch.float32)
    position = setup.encoding(module)
    for dtype in (torch.bfloat16, torch.float32):  # what a linear layer gives, and the stream
        x = (4 * setup.normal(BATCH, LONG, DIM)).to(dtype)
        where = f"{dtype} under autocast"
        with torch.no_grad(), autocast():
            if setup.can("padding"):
                tokens, real = padded_tokens(LONG), padded_mask(LONG)
                out = attend(module, x, tokens, position=position)
                again = attend(module, with_garbage(x, real), tokens, position=position)
                what = f"{where}: real rows with other values in padding"
                close(again[real], out[real], what, tolerance=LEAK)
            for now in ROWS if setup.can("causal") else ():
                future = torch.arange(LONG) > now
                changed = torch.where(future[:, None], 20 * torch.randn_like(x), x)
                out, again = (
                    attend(module, given, position=position, causal=True)[:, : now + 1]
                    for given in (x, changed)
                )
                what = f"{where}: rows up to {now} after changing the future"
                close(again, out, f"{what}; compare positions as integers", tolerance=LEAK)


@check("attention")
def long_text_in_bfloat16(setup: AttentionSetup) -> None:
    """Under autocast each token of a long text is what it is in float32, beyond rounding."""
    module = setup.build(torch.float32)
    length = MAX_LENGTH if setup.can("fixed-length") else LONGER
    position, x = setup.encoding(module), setup.normal(1, length, DIM).float()
    with torch.no_grad():
        expected = attend(module, x, position=position)
        with autocast():
            found = attend(module, x, position=position).float()
    for rows in (slice(256, LONG), slice(-LONG, None)):
        off = float((found[:, rows] - expected[:, rows]).norm() / expected[:, rows].norm())
        begin, end, _ = rows.indices(length)
        what = f"tokens {begin} to {end - 1} are off by {off:.3g} of the norm"
        hint = "subtract positions as integers, and keep running sums in float32"
        must(off <= SHORT, f"{what}, where {SHORT:.3g} is allowed; {hint}")
