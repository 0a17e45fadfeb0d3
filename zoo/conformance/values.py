"""What a part computes: in every type and scale what it does in float64, or what a formula says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.functional import jacobian
from torch.nn.functional import pad

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.tokens import Tokens
from zoo.conformance import assertions, reference
from zoo.conformance.assertions import EXACT, close, finite, has_shape, largest, must, trying
from zoo.conformance.models import models_of
from zoo.conformance.parts import DIM, HEADS, HIDDEN, Call, Part, autocast, forms, gradients, normal
from zoo.conformance.surroundings import drawn_sizes, resized

# The share of a gradient's norm by which bfloat16 may change it: rounding errors are some 2^-8 a
# number, and differences of nearly equal ones lose more.
GRADIENT_BOUND = 0.25
# The type of the input, whether autocast is on, and the largest error against float64 with the same
# weights, relative to the norm of the result: some thousand units in the last place, as many as
# angles at far positions lose, and some eight. The residual stream is float32 under autocast, what
# a linear layer gives is bfloat16.
TYPES = (
    (torch.float32, False, 2.0**-14),
    (torch.bfloat16, True, 2.0**-5),
    (torch.float32, True, GRADIENT_BOUND),
)
# Inputs at which output and gradients must be finite.
SCALES: dict[str, Callable[[Tensor], Tensor]] = {
    "100 times the input": lambda x: 100 * x,
    "-100 times the input": lambda x: -100 * x,
    "1e-06 times the input": lambda x: 1e-6 * x,
    "zeros": torch.zeros_like,
    "a constant": lambda x: torch.full_like(x, 3.0),
    "100 times the first token everywhere": lambda x: 100 * x[..., :1, :].expand_as(x),
}
SHORT, HUNDREDS = 5, 270  # tokens
# Widths and heads, with the length and the factors of the input that the formula is tried at.
SIZES: dict[tuple[int, int, int], tuple[int, tuple[float, ...]]] = {
    (DIM, HEADS, HIDDEN): (SHORT, (1.0,)),
    (24, 3, HIDDEN): (SHORT, (1.0, 30.0)),
    (12, 1, HIDDEN): (HUNDREDS, (4.0,)),
    (40, 5, HIDDEN): (SHORT, (1.0, 30.0)),
}
# In bfloat16 the position after each of these is rounded to the same number as it.
ROWS = (259, 271, 283)
LONG, LONGER = 300, 1100  # running sums of so many numbers no longer grow in bfloat16
SELECTING = 2.0**-3  # what rounding leaves to a variant that selects keys, too
LEAK = 2.0**-4  # sums may be rounded in another order


def values(part: Part) -> None:
    """In each type, size and scale it computes what float64 does; an exact part, the formula."""
    own = forms(part)
    if part.kind == "attention" and (part.can("exact") or part.can("map")):
        _formula(part)
    sizes = drawn_sizes(part) if part.settings.thorough and part.kind != "baseline" else ()
    for form in own:
        _types(form, TYPES)
    for form in resized(part, sizes):
        _types(form, TYPES[:1])  # gradients of wide parts have few digits in bfloat16
    for model in models_of(part):
        call = model.calls()[0]
        assert call.tokens.attention_mask is not None
        call.tokens.attention_mask[-1] = False
        module = model.build(torch.float32, dropout=0.1).train()
        _stays_finite(model, module, call, "a step of a model, with an empty text")
    if part.kind == "attention":
        _long(part)
    if part.kind == "pool":
        _far_padding(part)
    if part.kind == "norm":
        x = (1000 + normal(part.generator(), 3, LONG, part.dim)).float()
        actual, expected = part.build(torch.float32)(x), part.build()(x.double())
        close(actual, expected, "output for numbers near 1000", tolerance=1e-2)


def _types(part: Part, types: Sequence[tuple[torch.dtype, bool, float]]) -> None:
    """Float32 and bfloat16 under autocast are near float64; nothing stays of autocast."""
    high, low = part.build(), part.build(torch.float32)
    # Give both the rounded weights, so that only arithmetic differs.
    with torch.no_grad():
        for weight, rounded in zip(high.parameters(), low.parameters(), strict=True):
            weight.copy_(rounded)
    for call in part.calls(torch.float32):
        plain = part.run(low, call)
        for dtype, mixed, bound in types:
            rounded_call = call.with_inputs(lambda x: x.to(dtype))  # noqa: B023 - called at once
            expected = gradients(part, high, rounded_call.with_inputs(lambda x: x.double()))
            for out, own in ((plain, torch.float32), (expected["output"], torch.float64)):
                must(out.dtype == own, f"{call}: {own} comes out as {out.dtype}")
            what = f"{call}, {dtype}{' under autocast' * mixed}"
            # Not a module in bfloat16: a run in bfloat16 has weights and buffers in float32.
            if mixed and any(isinstance(module, torch.nn.RNNBase) for module in low.modules()):
                continue  # torch cannot run it so on every CPU
            with trying(what):
                actual = gradients(part, low, rounded_call, mixed=mixed)
                _near(actual.pop("output"), expected.pop("output"), f"{what}: output", bound)
                pair = flattened(actual), flattened(expected)
                _near(*pair, f"{what}: gradients", GRADIENT_BOUND)
        after = f"{call}: output without autocast, after a call under it"
        assertions.same(part.run(low, call), plain, after)
        for name, scale in SCALES.items() if part.kind not in ("pe", "baseline") else ():
            _stays_finite(part, low, call.with_inputs(scale), name)


def flattened(tensors: dict[str, Tensor]) -> Tensor:
    """All of them as one vector."""
    return torch.cat([torch.zeros(1), *(t.double().flatten() for t in tensors.values())])


def _near(actual: Tensor, expected: Tensor, what: str, bound: float) -> None:
    """Fail where it is off by more than this share of the norm of what is expected."""
    actual, expected = actual.detach().double(), expected.detach().double()
    off = float((actual - expected).norm() / expected.norm().clamp_min(1e-30))
    must(off <= bound, f"{what}: off by {off:.3g} of the norm, where {bound:.3g} is allowed")


def _stays_finite(part: Part, module: torch.nn.Module, call: Call, what: str) -> None:
    """Output and gradients of a call are finite, under autocast too."""
    for mixed in (False, True):
        of = f"{call}, of {what}{', under autocast' * mixed}"
        with trying(of):
            slopes = flattened(gradients(part, module, call, mixed=mixed))
            finite(slopes, f"{of}: gradients")


def _formula(part: Part) -> None:
    """Output, gradients and map are those of softmax(QKᵀ/√d)V in float64, in each way.

    The map of an attention that does not declare to be exact is what mixes its values.
    """
    exact = part.can("exact")
    sizes = SIZES if exact else {(DIM, HEADS, HIDDEN): (SHORT, ())}
    for sized in resized(part, sizes):
        dim, module = sized.dim, sized.build()
        length, scales = sizes[dim, sized.heads, HIDDEN]
        # Random biases too: an error in the use of one of zero would not show.
        generator = sized.generator(3)
        shapes = (3 * dim, dim), (3 * dim,), (dim, dim), (dim,)
        weights = CanonicalWeights(*(normal(generator, *shape) for shape in shapes))
        if exact:
            module.load_canonical(weights)
        for call in sized.calls(length=length, texts=slice(2)):
            what = f"{call.way.name}, width {dim}, {sized.heads} heads, {length} tokens"
            for scale in scales:
                scaled = call.with_inputs(lambda x: scale * x)  # noqa: B023 - called at once
                with trying(what):
                    # A gradient is a sum of terms as large as the scores, which cancel.
                    _exact(sized, module, scaled, weights, what, EXACT * scale**2)
            if part.can("map") and dim == DIM:
                _map(sized, module, call, weights if exact else None)


def _exact(
    part: Part, module: Any, call: Call, weights: CanonicalWeights, what: str, tolerance: float
) -> None:
    """Output and gradients are those of the formula. tolerance: of the gradients."""

    def formula(module: Any, call: Call) -> Tensor:
        out = reference.attention(weights, module.heads, call.x, part.layer(call))[0]
        mask = call.tokens.attention_mask
        return out if mask is None else out.masked_fill(~mask[..., None], 0)

    own = gradients(part, module, call)
    for name, expected in gradients(part, module, call, formula).items():
        if name.startswith(("output", "gradient of the input")):
            allowed = EXACT if name == "output" else tolerance
            close(own[name], expected, f"{what}: {name}", tolerance=allowed)


def _map(part: Part, module: Any, call: Call, weights: CanonicalWeights | None) -> None:
    """Hidden keys have none of it; with weights it is the exact one; it mixes the values."""
    x, layer, name = call.x, part.layer(call), call.way.name
    shown, unseen = module.weights(x, layer), reference.hidden(layer)
    kept = layer.tokens.attention_mask  # rows of padding may be anything
    kept = torch.ones(x.shape[:2], dtype=torch.bool) if kept is None else kept
    has_shape(shown, (len(x), module.heads, *unseen.shape[2:]), f"{name}: map")
    stray = largest(shown.masked_fill(~(unseen & kept[:, None, :, None]), 0))
    must(stray == 0, f"{name}: a hidden key has a weight of {stray:.3g}")
    if weights is not None:
        exact = reference.attention(weights, module.heads, x, layer)[1]
        close(shown.transpose(1, 2)[kept], exact.transpose(1, 2)[kept], f"{name}: map")
    if type(module).forward is ProjectedAttention.forward:
        q, k, v, seen = module.queries_keys_values(x, layer)
        # (Lq, Dh, B, H, Lk, Dh). By the norm of the slope, because a variant may rotate values.
        slopes = jacobian(lambda v: module.mix(q, k, v, seen).sum((0, 1)), v)
        mixed = slopes.square().sum((1, -1)).sqrt().permute(1, 0, 2, 3)
        shares = shown.detach().abs().transpose(1, 2) * v.shape[-1] ** 0.5
        what = f"{name}: the map's weight of a value, and what the value adds"
        close(mixed[kept], shares[kept], what, tolerance=1e-6)


def _far_padding(part: Part) -> None:
    """A thousand places of padding change nothing, in float32 too."""
    module, x = part.build(torch.float32), part.draw(SHORT, texts=2).float()
    expected = part.run(module, Call(x, Tokens.whole(SHORT)))
    for where, sides in {"behind": (0, LONGER), "in front": (LONGER, 0)}.items():
        mask = pad(torch.ones(2, SHORT, dtype=torch.bool), sides)
        out = part.run(module, Call(pad(x, (0, 0, *sides)), Tokens.of(mask)))
        _near(out, expected, f"{LONGER} places of padding {where}, in float32", TYPES[0][2])


def _long(part: Part) -> None:
    """Under autocast a long text gives what it does in float32, and what is hidden stays so."""
    module = part.build(torch.float32)
    length = part.max_length if part.can("fixed-length") else LONGER
    # Of one sign in the mean, so that sums grow.
    x = 1 + part.draw(length, texts=1).float()
    call = Call(x, Tokens.whole(length), part.shown_ways[0])
    with torch.no_grad():
        expected = part.run(module, call)
        with autocast():
            actual = part.run(module, call)
    for rows in (slice(256, LONG), slice(-LONG, None)):
        begin, end, _ = rows.indices(length)
        what = f"under autocast tokens {begin} to {end - 1}"
        _near(actual[:, rows], expected[:, rows], what, SELECTING)
    for way, last in itertools.product(part.shown_ways, ROWS):
        if way.cross or not (way.causal or part.pads):
            continue
        seen = torch.arange(LONG) <= last
        tokens = Tokens.whole(LONG) if way.causal else Tokens(seen[None], torch.arange(LONG))
        x = 4 * part.draw(LONG, texts=1).float()
        others = torch.where(seen[:, None], x, 20 * torch.randn_like(x))
        with torch.no_grad(), autocast():
            out, again = (part.run(module, Call(value, tokens, way)) for value in (x, others))
        what = f"under autocast: rows up to {last}, with other hidden tokens after them"
        close(again[:, : last + 1], out[:, : last + 1], what, tolerance=LEAK)
