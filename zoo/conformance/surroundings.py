"""A text gives the same whatever stands around it: padding, other texts, other positions, a cache.

One table. A row arranges texts in a batch; what each then gives, its gradients and the auxiliary
losses must be what the text gives alone. A whole model is a part too.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.conformance import assertions
from zoo.conformance.assertions import EXACT, close, finite, hinting, largest, must, trying
from zoo.conformance.check import check
from zoo.conformance.models import ModelPart, models_of
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.parts import (
    HEADS,
    MODULES,
    VOCAB,
    Call,
    ModulePart,
    Part,
    Way,
    forms,
    gradients,
    normal,
    of_module,
)
from zoo.models.key_value_cache import KeyValues

# Tokens of the texts of a batch, and more than the usual window and block of a kernel, which no
# block divides.
SHORT, LONG, LONG_IN_A_MODEL = (7, 4, 1), (523, 149, 1), (150, 41, 90)
# Width, heads, hidden: as many heads as texts, one head, more heads than texts, wide heads.
OTHER_SIZES = ((24, 3, 20), (12, 1, 30), (40, 5, 96), (64, 2, 80))
MORE_SIZES = ((8, 1, 12), (96, 8, 120), (30, 3, 50), (64, 1, 64), (32, 8, 40))
LOSSES = 1e-5  # auxiliary losses may be computed in float32
# Tokens of a prompt, a token, and then several at once, as when proposed tokens are verified.
PROMPT, STEPS = 77, 150
OUTPUT = "real tokens"  # as a failure names them
PIECES = (slice(0, 77), slice(77, 78), slice(78, 80), slice(80, 150))


@dataclass(frozen=True)
class Row:
    """Surroundings of texts. {n} in the name: how many tokens of padding there are, or texts.

    side: where padding stands, if anywhere. more: tokens of padding besides those that are needed.
    fill: what stands in padding; finite: so many times random numbers. order: of which texts the
    batch is made. empty: with a text of padding alone. shift: of all positions. own: of each text's
    positions another. strided: the inputs are views, in another order in memory.
    """

    name: str
    side: str = ""
    more: int = 0
    fill: float = 100.0
    order: Sequence[int] = (0,)
    empty: bool = False
    shift: int = 0
    own: bool = False
    strided: bool = False


ALL = (0, 1, 2)
RIGHT = Row("right padding of {n}", "right", order=ALL)
ROWS = (
    RIGHT,
    Row("left padding of {n}", "left", order=ALL),
    Row("padding of {n} between the tokens", "inner", order=ALL),
    Row("more padding, {n} tokens of it,", "right", more=5, order=ALL),
    Row("infinity in padding", "right", fill=math.inf, order=ALL),
    Row("nan in padding", "right", fill=math.nan, order=ALL),
    Row("an empty text in the batch", "right", empty=True, order=ALL),
    Row("the batch in another order, a text twice,", "right", order=(2, 0, 1, 0)),
    Row("a batch of {n}", "right", order=ALL * 11),
    Row("positions of each text's own", "right", own=True, order=ALL),
    Row("a batch of {n}", order=(0,) * 17),
    Row("a batch of as many texts as heads", order=(0,) * HEADS),
    Row("an input that is a view", order=(0, 0), strided=True),
    # Crossing lengths at which positions are likely to begin again.
    *(Row(f"every position {n} later", shift=n) for n in (7, 508, 1020, 2045, 4093)),
)


@dataclass
class Batch:
    """A call, the columns of each text in x and in its context, and, once measured, what it gives.

    texts: of each text the output, and the gradients of inputs, by name. weights: gradients of
    weights. losses: of all texts. leak: the largest gradient of padding.
    """

    call: Call
    columns: dict[str, list[Tensor]]
    row: Row
    texts: list[dict[str, Tensor]] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    losses: list[AuxiliaryLoss] = field(default_factory=list)
    leak: float = 0.0


class Texts:
    """Texts of several lengths, and what each is alone, in one way of calling a module.

    slopes: whether gradients are compared too.
    """

    def __init__(
        self, part: ModulePart, module: Any, way: Way, lengths: Sequence[int], slopes: bool = False
    ) -> None:
        self.part, self.module, self.way, self.slopes = part, module, way, slopes
        self.lengths = tuple(lengths if part.pads else [lengths[0] for _ in lengths])
        self.texts = [part.draw(n, seed=s, texts=1)[0] for s, n in enumerate(self.lengths)]
        # Short contexts are as long as the queries, in another order; long ones are longer.
        more = 3 if max(self.lengths) > 100 else 0
        others = enumerate([n + more for n in reversed(self.lengths)], start=9)
        self.contexts = [part.draw(n, seed=s, texts=1)[0] for s, n in others if way.cross]
        with trying(str(self)):
            rows = [Row("", order=(n,)) for n in range(len(self.texts))]
            self.alone = [self.measure(self.batch(row), slopes=slopes) for row in rows]

    def __str__(self) -> str:
        model = " in a model" * isinstance(self.part, ModelPart)
        mode = ", in training" * self.module.training
        lengths = ", ".join(map(str, self.lengths))
        return f"{self.part.kind}{model}, {self.way.name}{mode}, texts of {lengths} tokens"

    def batch(self, row: Row, columns: Sequence[Tensor] = ()) -> Batch:
        """The texts in these surroundings; columns: where the tokens of each stand."""
        x, tokens, places = arrange([self.texts[n] for n in row.order], row, columns)
        call = Call(x, tokens, self.way)
        seen: list[Tensor] = []
        if self.way.cross:
            context, keys, seen = arrange([self.contexts[n] for n in row.order], row)
            call = replace(call, context=context, context_tokens=keys)
        if row.strided:
            call = call.with_inputs(lambda t: t.mT.contiguous().mT)
        return Batch(call, {"x": places, "context": seen}, row)

    def check(self, row: Row) -> Batch:
        """Fail where a text is not what it is alone."""
        part, row = self.part, row if self.part.pads else replace(row, side="")
        batch, encoding = self.batch(row), self.part.kind == "pe"
        shifted = bool(row.shift or (row.own and encoding))
        mask = batch.call.tokens.attention_mask
        texts = len(row.order) > 9 or mask is None
        count = len(row.order) if texts or mask is None else int((~mask).sum(dim=1).max())
        what = f"{row.name.format(n=f'{count} texts' if texts else count)} changes"
        tolerance = (1e-2 if encoding else 1e-6) if shifted else part.tolerance
        with trying(f"{what} it ({self})"), hinting(lambda: self.cause(batch)):
            self.measure(batch, slopes=self.slopes and not shifted)
            for number, text in zip(row.order, batch.texts, strict=False):
                for name, own in text.items():
                    pair = own, self.alone[number].texts[0][name]
                    if shifted and encoding:
                        # What it embeds and rotates may change, what attention gives may not.
                        pair = pair[0][..., -part.dim :], pair[1][..., -part.dim :]
                    where = f"text {number}; {self}"
                    _close(*pair, f"{what} {name}", where, tolerance * (1 + 9 * (name != OUTPUT)))
            must(batch.leak == 0, f"padding gets a gradient of {batch.leak:.3g} ({self})")
            for name, slope in batch.weights.items():
                total = torch.stack([self.alone[n].weights[name] for n in row.order]).sum(0)
                _close(slope, total, f"{what} {name}", str(self), 10 * tolerance)
        return batch

    def measure(self, batch: Batch, *, slopes: bool, until: int | None = None) -> Batch:
        """The batch with what its texts give; until: gradients are of the first outputs alone."""
        part, call, outputs = self.part, batch.call, list[Tensor]()
        batch.losses = []

        def run(module: Any, call: Call) -> Tensor:
            out = part.call(module, call.but(losses=batch.losses))
            name = (batch.row.name or "a text alone").replace(" of {n}", "")
            finite(out, f"{name} ({self}): output")
            for row, columns in enumerate(batch.columns["x"]):
                outputs.append(out[row] if part.per_text else out[row, columns])
            return torch.cat([own[:until].flatten() for own in outputs])

        with torch.set_grad_enabled(slopes):
            given = gradients(part, self.module, call, run)
        batch.texts = [{OUTPUT: own.detach()} for own in outputs]
        for name, tokens in (("x", call.tokens), ("context", call.context_tokens)):
            slope = given.pop(f"gradient of the input {name}", None)
            if slope is None or tokens is None:
                continue
            if tokens.attention_mask is not None:
                leak = largest(slope.masked_fill(tokens.attention_mask[..., None], 0))
                batch.leak = max(batch.leak, leak)
            for row, text in enumerate(batch.texts):
                text[f"the gradient of {name}"] = slope[row, batch.columns[name][row]]
        batch.weights = {f"the {name}": slope for name, slope in given.items() if name != "output"}
        return batch

    def cause(self, batch: Batch) -> str:
        """A cause that a probe confirms: the output is the same without what it should use."""
        call, part, module = batch.call, self.part, self.module
        if part.kind == "norm" or isinstance(part, ModelPart):
            return ""
        mask, positions = call.tokens.attention_mask, call.tokens.positions
        rows, probes = torch.arange(positions.shape[-1]), {}
        if mask is not None:
            probes["the mask is ignored"] = replace(call, tokens=Tokens(None, positions))
        if part.kind in ("attention", "pe") and call.way.encoded and not (positions == rows).all():
            tokens = replace(call.tokens, positions=rows)
            probes["use layer.tokens.positions, not arange"] = replace(call, tokens=tokens)
        if call.way.causal and not part.can("causal-only"):
            free = replace(call.way, causal=False)
            probes["the causal mask is ignored"] = replace(call, way=free)
        try:
            out = part.call(module, call)
            same = (cause for cause, c in probes.items() if torch.equal(part.call(module, c), out))
            return next(same, over_queries(part, module))
        except Exception:  # noqa: BLE001 - what it raises has been said already
            return ""


def over_queries(part: ModulePart, module: Any) -> str:
    """Whether its softmax is over the queries: then it is their weights that add up to one."""
    if not isinstance(module, MultiHead):
        return ""
    q, k = normal(part.generator(5), 2, 1, module.heads, 6, module.head_dim)
    out = module.attend(q, k, torch.ones_like(k), None, None)
    wrong = largest(out - 1) > EXACT and largest(out.sum(dim=-2) - 6) < EXACT
    return "softmax is over the queries, not over the keys (dim=-1)" if wrong else ""


def _close(actual: Tensor, expected: Tensor, what: str, where: str, tolerance: float) -> None:
    assertions.has_shape(actual, expected.shape, f"{what}: {where}")
    off, allowed = (actual - expected).abs(), tolerance * (1 + largest(expected))
    if off.numel() and not float(off.max()) <= allowed:
        token = f"token {int(off.flatten(1).amax(1).argmax())} of " if off.dim() > 1 else ""
        most = f"by {float(off.max()):.3g}, where {allowed:.3g} is allowed"
        raise CheckFailed(f"{what} {most} ({token}{where})")


def arrange(
    texts: Sequence[Tensor], row: Row, columns: Sequence[Tensor] = ()
) -> tuple[Tensor, Tokens, list[Tensor]]:
    """Texts in one tensor (B, L, ...), its tokens, and the columns of each text."""
    generator = torch.Generator().manual_seed(len(texts))
    length = max(map(len, texts)) + row.more + 2 * (row.side in ("left", "inner"))
    length = 1 + max(int(c[-1]) for c in columns) if columns else length
    places = list(columns)
    for text in texts if not columns else ():
        place = torch.arange(len(text)) + (length - len(text) if row.side == "left" else 0)
        if row.side == "inner":
            place = torch.randperm(length, generator=generator)[: len(text)].sort().values
        places.append(place)
    shape = (len(texts) + row.empty, length, *texts[0].shape[1:])
    if texts[0].is_floating_point():
        noise = normal(generator, *shape) if math.isfinite(row.fill) else torch.ones(shape)
        x = (row.fill * noise).to(texts[0].dtype)
    else:
        x = torch.randint(VOCAB, shape, generator=generator)
    mask = torch.zeros(shape[:2], dtype=torch.bool)
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        x[number, place], mask[number, place] = text, True
    positions = torch.arange(length)
    if row.side in ("left", "inner"):
        positions = (mask.cumsum(dim=1) - 1).clamp_min(0)
    if row.own:
        positions = positions + torch.tensor([0, 9, 4])[:, None]
    in_order = row.side in ("", "right") and not (row.shift or row.own)
    tokens = Tokens(mask if row.side else None, positions + row.shift, in_order=in_order)
    return x, tokens, places


def fits(row: Row, part: ModulePart, way: Way) -> bool:
    """Whether the contract of the part, or what it declares, promises anything in these."""
    model = isinstance(part, ModelPart)
    sided = row.empty or row.more or row is RIGHT or row.side != "right"
    if row.side and (row.side not in part.sides if part.pads else sided):
        return False
    if not math.isfinite(row.fill):
        return part.kind == "pool" and not model
    if row.strided:
        return not model and part.kind != "baseline"
    if row.shift or row.own:
        far = part.can("fixed-length") and row.shift > 60
        relative = not (part.can("absolute") or part.can("embed") or far or model)
        return part.kind in ("attention", "pe") and relative and way.encoded
    return True


@check("surroundings", *MODULES)
def surroundings(part: Part) -> None:
    """Padding, other texts, other positions, a prefix, a cache and few rows change nothing."""
    module_part = of_module(part)
    for form in forms(module_part):
        _whole_table(form)
    if part.kind == "baseline":
        return
    _other_sizes(module_part)
    for model in models_of(module_part):
        _whole_table(model)
    _few_rows_of_a_model(module_part)


def _whole_table(part: ModulePart) -> None:
    """Small weights, weights as large as training may make them, and long texts."""
    model = isinstance(part, ModelPart)
    # Where an encoding is left out there is a mask neither, of which much could go wrong.
    encodes = any(way.encoded for way in part.shown_ways)
    for way in part.shown_ways:
        _try(Texts(part, part.build(), way, SHORT, slopes=True), ROWS)
        if model and part.quiet:
            _try(Texts(part, part.build().train(), way, SHORT), ROWS[:2])
        for seed in range(0 if model or (encodes and not way.encoded) else 3):
            _try(Texts(part, part.build(seed=seed, jitter=1.0), way, SHORT), ROWS[:2])
        if part.kind != "baseline" and not way.cross and (way.encoded or not encodes):
            rows = ROWS[: 1 if part.kind == "attention" and not model else 2]
            _try(Texts(part, part.build(), way, LONG_IN_A_MODEL if model else LONG), rows)
    for way in part.shown_ways:
        if caches(part, way):
            for side in ("right", "left") if part.pads else ("",):
                _steps(part, way, side)
        if part.kind in ("attention", "block") and not model:
            _few_rows(part, way)
    if part.kind == "norm" and not model:
        x, module = part.draw(3, texts=1), part.build()
        close(module(x[0]), module(x)[0], "output for (tokens, D)")
        close(module(x[0, 0]), module(x)[0, 0], "output for (D)")


def _try(texts: Texts, rows: Sequence[Row]) -> None:
    """These rows, and for causal calls a prefix; without an encoding the first row of them."""
    part, way, losses = texts.part, texts.way, None
    for row in rows if way.encoded or part.kind != "attention" else (*rows[:1], *rows[10:]):
        if fits(row, part, way):
            batch = texts.check(row)
            if row.side and row.order == ALL and not row.empty:
                losses = batch.losses if losses is None else losses
                for own, other in zip(batch.losses, losses, strict=True):
                    what = f"the loss '{own.name}' in {row.side} padding ({texts})"
                    close(own.value, other.value, what, tolerance=LOSSES)
    if way.causal:
        _prefix(texts)


def _prefix(texts: Texts) -> None:
    """In a causal call the first tokens give what they give without the others."""
    batch, length = texts.batch(Row("")), texts.lengths[0]
    for end in {1, 3, length - 1} if length < 9 else {length // 2}:
        what = f"later tokens change the first {end}"
        with trying(f"{what} ({texts})"), hinting(lambda: texts.cause(batch)):
            own = texts.measure(batch, slopes=texts.slopes, until=end).texts[0]
            columns = {"x": [batch.columns["x"][0][:end]], "context": batch.columns["context"]}
            alone = replace(batch, call=batch.call.columns(slice(0, end)), columns=columns)
            for name, expected in texts.measure(alone, slopes=texts.slopes).texts[0].items():
                of = what if name == OUTPUT else f"{what}: {name}"
                count, allowed = len(expected), EXACT * (1 + 9 * (name != OUTPUT))
                _close(own[name][:count], expected, of, str(texts), allowed)
                if name != OUTPUT and own[name][count:].any():
                    raise CheckFailed(f"the future gets a gradient: {of} ({texts})")


def caches(part: ModulePart, way: Way) -> bool:
    """Whether it is decoded step by step in this way."""
    alone = part.kind in ("pool", "norm", "baseline") and not isinstance(part, ModelPart)
    forgets = part.kind == "attention" and not part.can("cache")
    if alone or forgets or (part.can("neighbours") and not part.can("causal", "cache")):
        return False
    return way.causal or (way.cross and part.kind == "attention")


def _steps(part: ModulePart, way: Way, side: str) -> None:
    """Two decodings in turns, one of padded prompts whose texts are reordered at the end."""
    module, chosen = part.build(), torch.tensor([2, 0, 0])
    prompts = (PROMPT, PROMPT // 2, 1) if side else (PROMPT,) * 3
    lefts = [PROMPT - n if side == "left" else 0 for n in prompts]
    columns = [
        torch.cat([torch.arange(left, left + n), torch.arange(PROMPT, STEPS)])
        for left, n in zip(lefts, prompts, strict=True)
    ]
    what = f"decoding step by step, two batches in turns, prompts padded on the {side or 'no side'}"
    texts = Texts(part, module, way, [n + STEPS - PROMPT for n in prompts])
    other = Texts(part, module, way, (STEPS, STEPS))
    # Padding that is not on the right has positions that count the real tokens.
    padded = texts.batch(Row("", side and "inner", order=ALL), columns)
    runs = [(texts, padded, [0, 1, 2]), (other, other.batch(Row("", order=(0, 1))), [0, 1])]
    new_cache = module.decoder.new_cache if isinstance(part, ModelPart) else KeyValues
    stores = [(new_cache(), KeyValues()) for _ in runs]
    with trying(f"{what} ({texts})"), torch.no_grad():
        for rows in PIECES:
            for (own, batch, order), kept in zip(runs, stores, strict=True):
                call = _step(part, batch.call, rows, *kept)
                if rows is PIECES[-1] and own is texts:
                    for store in kept:
                        store.select(chosen)
                    order[:] = chosen.tolist()
                    call = call.map(lambda t: t[chosen] if t.dim() > 1 else t)
                out = part.call(module, call)
                for row, text in enumerate(order):
                    place = batch.columns["x"][text]
                    now = (place >= rows.start) & (place < rows.stop)
                    expected = own.alone[text].texts[0][OUTPUT][now.nonzero().flatten()]
                    actual = out[row, place[now] - rows.start]
                    where = f"tokens {rows.start} to {rows.stop - 1} of text {text}; {own}"
                    after = ", after texts were reordered," * (order == [2, 0, 0])
                    _close(actual, expected, f"{what}{after} changes tokens", where, EXACT)
        used = getattr(stores[1][0], "used", True)
        must(used, "the cache that it is given is never used")


def _step(part: ModulePart, call: Call, rows: slice, cache: Any, memory: KeyValues) -> Call:
    """These columns of a call; a cross-attention is given its context at the first step alone."""
    new = slice(None) if rows.start == 0 else slice(0, 0)
    if call.context is not None and call.context_tokens is not None:
        context, keys = call.context[:, new], call.context_tokens[new]
        call = replace(call, context=context, context_tokens=keys)
    more = {"memory_cache": memory} if part.kind == "block" and call.way.cross else {}
    return call.columns(rows, cache=cache, **more)


def _few_rows(part: ModulePart, way: Way) -> None:
    """Asked for a few rows of a long text, it gives what it does for all."""
    module, rows = part.build(), slice(150, 152)
    texts = Texts(part, module, way, (300,))
    call = texts.batch(Row("")).call
    few = replace(call.columns(rows), context=call.x, context_tokens=call.tokens)
    if part.kind == "block":
        few = call.but(read=rows)
    elif way.cross or not part.can("cross"):
        return
    what = "asking for rows 150 and 151 alone changes them"
    with trying(f"{what} ({texts})"), torch.no_grad():
        _close(part.call(module, few), part.call(module, call)[:, rows], what, str(texts), EXACT)


def _few_rows_of_a_model(part: ModulePart) -> None:
    """A pool that reads the first row gets what it would if the last layer computed all."""
    if part.kind == "pool" or part.can("causal-only"):
        return
    with contextlib.suppress(CheckSkipped):
        model = ModelPart.of(part, pool="cls")
        module, call = model.build(), model.calls()[0]
        few = model.run(module, call)
        module.encoder.all_positions = True
        what = "logits of a model whose last layer computes few rows against those of all"
        close(few, model.run(module, call), what)


def _other_sizes(part: ModulePart) -> None:
    """A text gives the same alone as in a batch where lengths and numbers of texts equal sizes."""
    for dim, heads, hidden in OTHER_SIZES + MORE_SIZES * part.settings.thorough:
        other = part.at(dim, heads, hidden)
        try:
            module = other.build()
        except ValueError:  # it refuses these sizes
            continue
        for way in other.shown_ways:
            with hinting(f"at width {dim} with {heads} heads"):
                texts = Texts(other, module, way, (max(3, heads), dim // heads, 1))
                texts.check(Row("a batch of as many texts as heads", order=(0,) * heads))
                if fits(RIGHT, other, way):
                    texts.check(RIGHT)
