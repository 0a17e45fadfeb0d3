"""Checks of far positions, large scores, and masks in bfloat16."""

from __future__ import annotations

import contextlib

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, finite, must
from zoo.conformance.attention import AttentionSetup, attend
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.low_precision import autocast
from zoo.conformance.pe import HEAD_DIM, EncodingSetup
from zoo.conformance.position_wise import NormSetup
from zoo.conformance.setup import (
    BATCH,
    DIM,
    HEADS,
    MAX_LENGTH,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    perturb,
    with_garbage,
)
from zoo.models.seeding import seeded
from zoo.registry import Choice

LARGE, FAR, OFFSET = 100.0, 5000, 7
# In bfloat16 the position after each of these is rounded to the same number as it.
LONG, ROWS = 300, (259, 271, 283)
LONGER = 1200  # running sums of so many numbers no longer grow in bfloat16
SHORT = 2.0**-3  # what rounding leaves to a variant that selects keys, too
LEAK = 2.0**-5  # as the bound of precision: sums may be rounded in another order


@check("attention", "norm", "ffn", "block", "pool")
def large_inputs(setup: ModuleSetup) -> None:
    """Inputs a hundred times as large give finite outputs and gradients, under autocast too."""
    module = setup.build(torch.float32)
    for low in (False, True):
        for case in setup.cases(torch.float32):
            inputs = tuple((LARGE * x).requires_grad_() for x in case.inputs)
            with autocast() if low else contextlib.nullcontext():
                out = case.call(module, *inputs)
            what = f"{case.name}, {LARGE:g} times the input{', under autocast' * low}"
            hint = "subtract the largest score before exp, or use softmax"
            finite(out, f"{what} ({hint}): output")
            for gradient in torch.autograd.grad(out.sum(), inputs, materialize_grads=True):
                finite(gradient, f"{what} ({hint}): gradient")


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


@check("norm")
def large_mean(setup: NormSetup) -> None:
    """In float32, a mean a thousand times the deviation leaves the output right."""
    x = (1000 + setup.normal(BATCH, LONG, DIM)).float()
    found, expected = setup.build(torch.float32)(x), setup.build()(x.double())
    close(found, expected, "output for numbers near 1000", tolerance=1e-2)


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


@check("attention", needs="rotate")
def far_positions(setup: AttentionSetup) -> None:
    """A text far from the beginning gives the same output, if `absolute` is not declared."""
    if setup.can("absolute"):
        raise CheckSkipped("it declares 'absolute'")
    module = setup.build()
    position, x = setup.encoding(module), setup.normal(BATCH, 6, DIM)
    out = attend(module, x, position=position)
    # Crossing the lengths at which positions are likely to begin again.
    for start in (MAX_LENGTH - 3, 509, 1021, FAR):
        later = attend(module, x, Tokens(None, torch.arange(6) + start), position=position)
        close(later, out, f"output {start} positions later", tolerance=1e-6)


@check("pe", unless="absolute", name="far-positions")
def far_encodings(setup: EncodingSetup) -> None:
    """At every position up to 5000, rotation and bias depend on the offset alone."""
    encoding = setup.build()
    end = MAX_LENGTH - OFFSET if setup.can("fixed-length") else FAR
    q_positions = torch.arange(end)
    k_positions = q_positions + OFFSET
    if setup.can("rotate"):
        q, k = setup.normal(2, 1, HEADS, 1, HEAD_DIM).expand(2, 1, HEADS, end, HEAD_DIM)
        rotated = encoding.rotate(q, q_positions), encoding.rotate_keys(k, k_positions)
        scores = (rotated[0] * rotated[1]).sum(-1)
        # Angles are in float32, of which far positions have few digits after the point.
        what = f"scores of queries {OFFSET} tokens from their keys"
        close(scores, scores[..., :1].expand_as(scores), what, tolerance=5e-3)
    if setup.can("bias"):
        bias = encoding.bias(q_positions[:, None], k_positions[:, None])  # (positions, H, 1, 1)
        if bias is not None:
            what = f"bias of keys {OFFSET} tokens from their queries"
            close(bias, bias[:1].expand_as(bias), what, tolerance=1e-5)
