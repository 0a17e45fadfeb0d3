"""What a part computes: in every type and scale what it does in float64, or what a formula says."""

from __future__ import annotations

import contextlib
import itertools
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import (
    close,
    finite,
    has_shape,
    hinting,
    largest,
    must,
    off_by,
    same,
    trying,
)
from zoo.conformance.check import check
from zoo.conformance.models import ModelPart, models_of
from zoo.conformance.parts import (
    DIM,
    HEADS,
    MODULES,
    AttentionPart,
    Call,
    ModulePart,
    Part,
    forms,
    normal,
    of_module,
    padded_mask,
)
from zoo.conformance.reference import ContentBias, ReferenceEncoding, attention, hidden
from zoo.conformance.surroundings import Row, Texts, over_queries

# The largest error of float32 and bfloat16 against float64 with the same weights, relative to the
# norm of the result: some thousand units in the last place, as many as angles at far positions
# lose, and some eight.
BOUNDS = {torch.float32: 2.0**-14, torch.bfloat16: 2.0**-5}
# The share of a gradient's norm by which bfloat16 may change it: rounding errors are some 2^-8 a
# number, and differences of nearly equal ones lose more.
GRADIENT_BOUND = 0.25
SCALES = (100.0, 1e-6, 0.0)
TEXTS = 2
LENGTHS, HUNDREDS = (5, 7), (140, 300)  # of x and of a context
# Widths and heads, with the lengths and the factors of the input that the formula is tried at.
SIZES = (
    (DIM, HEADS, LENGTHS, (1.0,)),
    (24, 3, LENGTHS, (1.0, 30.0)),
    (12, 1, HUNDREDS, (1.0, 30.0)),
    (40, 5, LENGTHS, (1.0, 30.0)),
)
# In bfloat16 the position after each of these is rounded to the same number as it.
ROWS = (259, 271, 283)
LONG, LONGER = 300, 1100  # running sums of so many numbers no longer grow in bfloat16
SHORT = 2.0**-3  # what rounding leaves to a variant that selects keys, too
LEAK = 2.0**-4  # sums may be rounded in another order


@check("values", *MODULES)
def values(part: Part) -> None:
    """In each type, size and scale it computes what float64 does; an exact part, the formula."""
    module_part = of_module(part)
    if isinstance(part, AttentionPart):
        if part.can("exact"):
            _formula(part)
        if part.can("map"):
            _map(part)
    for form in forms(module_part):
        _types(form)
        if part.kind not in ("pe", "baseline"):
            _scales(form)
    for model in models_of(module_part) if part.kind != "baseline" else ():
        _trains(model)
    if isinstance(part, AttentionPart):
        _long(part)
    if part.kind == "norm":
        _norm(module_part)


def autocast(enabled: bool = True) -> torch.autocast:
    """As a run with ``--set precision=bf16``; or, where it is not enabled, as one without."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


def _types(part: ModulePart) -> None:
    """Float32 and bfloat16 under autocast are near float64; nothing stays of autocast."""
    high, low = part.build(), part.build(torch.float32)
    # Give both the rounded weights, so that only arithmetic differs.
    with torch.no_grad():
        for weight, rounded in zip(high.parameters(), low.parameters(), strict=True):
            weight.copy_(rounded)
    for call, exact in zip(part.calls(torch.float32), part.calls(), strict=True):
        plain = part.run(low, call)
        for out, dtype in ((plain, torch.float32), (part.run(high, exact), torch.float64)):
            must(out.dtype == dtype, f"{call}: {dtype} comes out as {out.dtype}")
        for dtype, bound in BOUNDS.items():
            rounded = call.with_inputs(lambda x: x.to(dtype))  # noqa: B023
            expected = part.run(high, rounded.with_inputs(lambda x: x.double()))
            # Not a module in bfloat16: a run in bfloat16 has weights and buffers in float32.
            with _torch_can(), trying(f"{call}: {dtype} under autocast"):
                with autocast(dtype == torch.bfloat16):
                    out = part.run(low, rounded)
                off = off_by(out, expected)
                what = f"{call}: {dtype} is off by {off:.3g} of the norm"
                must(off <= bound, f"{what}, where {bound:.3g} is allowed")
                if dtype == torch.bfloat16:
                    _gradients_under_autocast(part, low, call)
        same(part.run(low, call), plain, f"{call}: output without autocast, after a call under it")


def _gradients_under_autocast(part: ModulePart, module: torch.nn.Module, call: Call) -> None:
    """The residual stream is float32, what a linear layer gives is bfloat16: both train."""
    direction = torch.randn(part.shape(call))
    parameters = [p for p in module.parameters() if p.requires_grad]

    def slopes(dtype: torch.dtype, mixed: bool) -> Tensor:
        leaves = call.with_inputs(lambda x: x.to(dtype)).leaves()
        with autocast(mixed):
            out = part.run(module, leaves)
        inputs = [*leaves.inputs.values(), *parameters]
        if not out.requires_grad or not inputs:
            return torch.zeros(1)
        total = (out.float() * direction).sum()
        parts = torch.autograd.grad(total, inputs, materialize_grads=True)
        return torch.cat([gradient.detach().float().flatten() for gradient in parts])

    wanted = slopes(torch.float32, False)
    for dtype in (torch.float32, torch.bfloat16):
        with trying(f"{call}, {dtype} under autocast"):
            actual = slopes(dtype, True)
        what = f"{call}, {dtype} under autocast: gradients"
        finite(actual, what)
        off = off_by(actual, wanted)
        must(
            off <= GRADIENT_BOUND,
            f"{what} are off by {off:.3g}, where {GRADIENT_BOUND} of the norm is allowed",
        )


def _trains(part: ModelPart) -> None:
    """A step in training, under autocast too, with an empty text in the batch."""
    model, call = part.build(torch.float32, dropout=0.1).train(), part.calls()[0]
    assert call.tokens.attention_mask is not None
    call.tokens.attention_mask[-1] = False
    for mixed in (False, True):
        what = f"a step of a model{', under autocast' * mixed}"
        with trying(what):
            with autocast(mixed):
                out = part.run(model, call)
            out.float().sin().sum().backward()
            for name, parameter in model.named_parameters():
                if parameter.grad is not None:
                    finite(parameter.grad, f"{what}: gradient of {name}")


@contextlib.contextmanager
def _torch_can() -> Iterator[None]:
    """Torch's own recurrent layers cannot run under autocast on every CPU: that says nothing."""
    try:
        yield
    except Exception as error:
        cause = error.__cause__ or error
        frames = [frame.filename for frame in traceback.extract_tb(cause.__traceback__)]
        if not any(name.replace("\\", "/").endswith("nn/modules/rnn.py") for name in frames[-2:]):
            raise


def _scales(part: ModulePart) -> None:
    """Large, tiny and constant inputs give finite outputs and gradients, under autocast too."""
    module = part.build(torch.float32)
    hint = "subtract the largest score before exp, or use softmax"
    for scale, low, call in itertools.product(SCALES, (False, True), part.calls(torch.float32)):
        scaled = call.with_inputs(lambda x: scale * x).leaves()  # noqa: B023
        what = f"{scale:g} times the input{', under autocast' * low}"
        with hinting(f"{what}{f' ({hint})' * (scale > 1 and part.kind == 'attention')}"):
            with autocast(low):
                out = part.run(module, scaled)
            inputs = list(scaled.inputs.values())
            for gradient in torch.autograd.grad(out.sum(), inputs, materialize_grads=True):
                finite(gradient, f"{call}: gradient")


def _norm(part: ModulePart) -> None:
    """Constant vectors, and in float32 a mean a thousand times the deviation."""
    module = part.build()
    for value in (0.0, 3.0):
        x = torch.full((1, 2, part.dim), value, dtype=torch.float64, requires_grad=True)
        out = module(x)
        finite(out, f"output for a vector of {value:g}")
        (gradient,) = torch.autograd.grad(out.sum(), x)
        finite(gradient, f"gradient for a vector of {value:g}")
    x = (1000 + normal(part.generator(), 3, LONG, part.dim)).float()
    actual, expected = part.build(torch.float32)(x), part.build()(x.double())
    close(actual, expected, "output for numbers near 1000", tolerance=1e-2)


def _calls(
    part: AttentionPart, lengths: tuple[int, int] = LENGTHS, *, each: bool = True
) -> Iterator[tuple[str, Tensor, LayerContext]]:
    """Plain, each declared slot by itself, and all at once: a name, x and its layer."""
    slots = ("rotate", "bias", "content-bias", "padding", "causal", "cross")
    able = set(filter(part.can, slots))
    ways = {"plain": set(), **{c: {c} for c in sorted(able) if each}, "all slots": able - {"cross"}}
    if "cross" in able:
        ways["all slots, cross"] = able
    for name, uses in ways.items():
        x = normal(part.generator(1), TEXTS, lengths[0], part.dim).requires_grad_()
        kind = ContentBias if "content-bias" in uses else ReferenceEncoding
        layer = LayerContext(
            _tokens(lengths[0], padded="padding" in uses),
            kind("rotate" in uses, "bias" in uses, heads=part.heads),
            causal="causal" in uses or part.can("causal-only"),
        )
        if "cross" in uses:
            context = normal(part.generator(2), TEXTS, lengths[1], part.dim).requires_grad_()
            keys = _tokens(lengths[1], padded="padding" in uses)
            layer = replace(layer, context=context, context_tokens=keys)
        yield name, x, layer


def _tokens(length: int, *, padded: bool) -> Tokens:
    return (
        Tokens(padded_mask(length)[:TEXTS], torch.arange(length))
        if padded
        else Tokens.whole(length)
    )


def _formula(part: AttentionPart) -> None:
    """Output and gradients of inputs are softmax(QKᵀ/√d)V's in float64, in every declared slot."""
    for dim, heads, lengths, scales in SIZES:
        sized = part.at(dim, heads)
        try:
            module = sized.build()
        except ValueError:
            if heads == HEADS:
                raise
            continue  # a number of heads that it refuses
        must(hasattr(module, "load_canonical"), "an exact attention needs load_canonical(weights)")
        weights = _weights(sized)
        module.load_canonical(weights)
        sized = sized.but(heads=module.heads)
        for name, x, layer in _calls(sized, lengths, each=heads == HEADS):
            for scale in scales:
                larger = (scale * x.detach()).requires_grad_()
                what = f"{name}, width {dim}, {heads} heads, lengths {lengths}"
                with trying(what):
                    out = module(larger, layer)
                expected, _ = attention(weights, module.heads, larger, layer)
                real = layer.tokens.attention_mask  # rows of padding may be anything
                if real is not None:
                    pair = (t.masked_fill(~real[..., None], 0) for t in (out, expected))
                    out, expected = pair
                with hinting(lambda: over_queries(part, module)):  # noqa: B023
                    close(out, expected, f"{what}, {scale:g} times the input: output")
                direction = torch.randn(out.shape, dtype=out.dtype)
                inputs = [t for t in (larger, layer.context) if t is not None]
                slopes = [torch.autograd.grad(o, inputs, direction) for o in (out, expected)]
                for of, own, exact in zip(("x", "context"), *slopes, strict=False):
                    if scale == 1:  # of large scores gradients lose too many digits
                        close(own, exact, f"{what}: gradient of {of}")


def _map(part: AttentionPart) -> None:
    """The map is what mixes the values; hidden keys have none of it; it is exact if declared."""
    module, weights = part.build(), _weights(part)
    must(hasattr(module, "weights"), "an attention with a map needs weights(x, layer)")
    if part.can("exact"):
        module.load_canonical(weights)
    part = part.but(heads=module.heads)
    for name, x, layer in _calls(part):
        shown, unseen = module.weights(x, layer), hidden(layer)
        has_shape(shown, (TEXTS, module.heads, *unseen.shape[2:]), f"{name}: map")
        real = layer.tokens.attention_mask  # rows of padding may be anything
        kept = torch.ones(TEXTS, x.shape[1], dtype=torch.bool) if real is None else real
        stray = largest(shown.masked_fill(~(unseen & kept[:, None, :, None]), 0))
        must(stray == 0, f"{name}: a hidden key has a weight of {stray:.3g}")
        if part.can("exact"):
            exact = attention(weights, module.heads, x, layer)[1]
            close(shown.transpose(1, 2)[kept], exact.transpose(1, 2)[kept], f"{name}: map")
        if isinstance(module, ProjectedAttention):
            for mixed, width in _mixed(module, x, layer):
                what = f"{name}: the map's weight of a value, and what the value adds"
                shares = shown.detach().abs() * width**0.5
                pair = (mixed.transpose(1, 2)[kept], shares.transpose(1, 2)[kept])
                close(*pair, what, tolerance=1e-6)


def _mixed(module: ProjectedAttention, x: Tensor, layer: LayerContext) -> list[tuple[Tensor, int]]:
    """How much each value adds to each output (B, H, Lq, Lk), and the width of a value.

    By the norm of the slope, because a variant may rotate values on their way. One pair for each
    call of ``mix``: none where a variant's own ``forward`` does not use it.
    """
    mix: Callable[..., Tensor] = module.mix
    seen: list[tuple[Tensor, int]] = []

    def noted(q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        out = mix(q, k, v, layer)
        shares = torch.zeros(*out.shape[:-1], v.shape[2], dtype=out.dtype)
        for row, column in itertools.product(*map(range, out.shape[2:])):
            (slope,) = torch.autograd.grad(out[:, :, row, column].sum(), v, retain_graph=True)
            shares[:, :, row] += slope.square().sum(-1)
        seen.append((shares.sqrt(), v.shape[-1]))
        return out

    module.mix = noted  # type: ignore[method-assign]
    try:
        module(x, layer)
    finally:
        del module.mix
    return seen


def _weights(part: ModulePart) -> CanonicalWeights:
    """Random weights and biases: a bias of zero would hide an error in its use."""
    generator = part.generator(3)
    shapes = [(part.dim, part.dim)] * 4 + [(part.dim,)] * 4
    return CanonicalWeights(*(normal(generator, *shape) for shape in shapes))


def _long(part: AttentionPart) -> None:
    """Under autocast a long text gives what it does in float32, and what is hidden stays so."""
    module, way = part.build(torch.float32), part.shown_ways[0]
    length = part.max_length if part.can("fixed-length") else LONGER
    x = part.draw(length, texts=1).float()
    call = Call(x, Tokens.whole(length), way)
    with torch.no_grad():
        expected = part.run(module, call)
        with autocast():
            actual = part.run(module, call)
    for rows in (slice(256, LONG), slice(-LONG, None)):
        off = off_by(actual[:, rows], expected[:, rows])
        begin, end, _ = rows.indices(length)
        what = f"under autocast tokens {begin} to {end - 1} are off by {off:.3g} of the norm"
        hint = "subtract positions as integers, and keep running sums in float32"
        must(off <= SHORT, f"{what}, where {SHORT:.3g} is allowed; {hint}")
    for way in part.shown_ways:
        if way.causal:
            _hidden_under_autocast(
                part, module, Call((4 * part.draw(LONG, texts=1)).float(), Tokens.whole(LONG), way)
            )
        elif part.pads and not way.cross:
            texts = Texts(part, part.build(), way, (LONG, 150))
            batch = texts.batch(Row("", "right", order=(0, 1)))
            outputs = []
            for factor in (1, 2):
                mask = batch.call.tokens.attention_mask
                assert mask is not None
                other = torch.where(mask[..., None], batch.call.x, factor * batch.call.x).float()
                with torch.no_grad(), autocast():
                    outputs.append(part.run(module, replace(batch.call, x=other)))
            close(outputs[0], outputs[1], "under autocast: other values in padding", tolerance=LEAK)


def _hidden_under_autocast(part: AttentionPart, module: torch.nn.Module, call: Call) -> None:
    with torch.no_grad(), autocast():
        out = part.run(module, call)
        for now in ROWS:
            future = torch.arange(LONG) > now
            changed = torch.where(future[:, None], 20 * torch.randn_like(call.x), call.x)
            again = part.run(module, replace(call, x=changed))
            what = f"under autocast: rows up to {now} after changing the future"
            seen = slice(0, now + 1)
            close(
                again[:, seen],
                out[:, seen],
                f"{what}; compare positions as integers",
                tolerance=LEAK,
            )
