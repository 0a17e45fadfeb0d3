"""A text gives the same whatever stands around it: padding, other texts, other positions, a cache.

One table. A row arranges texts in a batch; what each then gives, its gradients and the auxiliary
losses must be what the text gives alone. A whole model is a part too.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import EXACT, close, finite, hinting, largest, must, trying
from zoo.conformance.check import check
from zoo.conformance.models import ModelPart, models_of
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import HEADS, MODULES, VOCAB, Call, Part, Way, forms, gradients, normal
from zoo.models.key_value_cache import KeyValues

# Tokens of the texts of a batch, and more than the usual window and block of a kernel, which no
# block divides.
SHORT, LONG, LONG_IN_A_MODEL = (7, 4, 1), (523, 149, 1), (150, 41, 90)
# Width, heads, hidden: as many heads as texts, one head, more heads than texts, wide heads.
OTHER_SIZES = ((24, 3, 20), (12, 1, 30), (40, 5, 96), (64, 2, 80))
LOSSES = 1e-5  # auxiliary losses may be computed in float32
# Tokens of a prompt, a token, and then several at once, as when proposed tokens are verified.
PROMPT, STEPS = 77, 150
OUTPUT = "real tokens"  # as a failure names them
PIECES = (slice(0, 77), slice(77, 78), slice(78, 80), slice(80, 150))


@dataclass(frozen=True)
class Row:
    """Surroundings of texts. {n} in the name: how many tokens of padding there are, or texts.

    side: where padding stands, if anywhere; "later": real tokens follow. more: tokens of padding
    besides those that are needed. fill: what stands in padding; finite: so many times random
    numbers. order: of which texts the batch is made. empty: with a text of padding alone. shift: of
    all positions. own: of each text's positions another. strided: the inputs are views, in another
    order in memory.
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
# Tokens that follow are real: of a size that a text may have, unlike padding.
LATER = Row("what follows", "later", more=3, fill=10.0, order=ALL)
ROWS = (
    RIGHT,
    LATER,
    Row("left padding of {n}", "left", order=ALL),
    Row("padding of {n} between the tokens", "inner", order=ALL),
    Row("an empty text in the batch", "right", empty=True, order=ALL),
    Row("the batch in another order, a text twice,", "right", order=(2, 0, 1, 0)),
    Row("more padding, {n} tokens of it,", "right", more=5, order=ALL),
    Row("infinity in padding", "right", fill=math.inf, order=ALL),
    Row("nan in padding", "right", fill=math.nan, order=ALL),
    Row("a batch of {n}", "right", order=ALL * 11),
    Row("positions of each text's own", "right", own=True, order=ALL),
    Row("a batch of {n}", order=(0,) * 17),
    Row("a batch of as many texts as heads", order=(0,) * HEADS),
    Row("an input that is a view", order=(0, 0), strided=True),
    # Crossing lengths at which positions are likely to begin again.
    *(Row(f"every position {n} later", shift=n) for n in (7, 508, 1020, 2045, 4093)),
)
# Where there is neither a mask nor an encoding; with other weights or lengths; in a model.
BARE, FEW, MODEL = (RIGHT, LATER, *ROWS[11:14]), ROWS[:3], ROWS[:6]


@dataclass
class Batch:
    """A call, the columns of each text in x and in its context, and, once measured, what it gives.

    texts: of each text the output, and the gradients of inputs, by name. weights: gradients of
    weights. losses: of all texts. leak: the largest gradient of what surrounds the texts.
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
        self, part: Part, module: Any, way: Way, lengths: Sequence[int], slopes: bool = False
    ) -> None:
        self.part, self.module, self.way, self.slopes = part, module, way, slopes
        self.lengths = tuple(lengths if part.pads else [lengths[0] for _ in lengths])
        self.texts = [part.draw(n, seed=s, texts=1)[0] for s, n in enumerate(self.lengths)]
        # Short contexts are as long as the queries, in another order; long ones are longer.
        more = 3 if max(self.lengths) > 100 and not part.ids else 0
        others = enumerate([n + more for n in reversed(self.lengths)], start=9)
        self.contexts = [part.draw(n, seed=s, texts=1)[0] for s, n in others if way.cross]
        with trying(str(self)):
            rows = [Row("", order=(n,)) for n in range(len(self.texts))]
            self.alone = [self.measure(self.batch(row), slopes=slopes) for row in rows]

    def __str__(self) -> str:
        model = f" in {self.part.model}" if isinstance(self.part, ModelPart) else ""
        mode = ", in training" * self.module.training
        lengths = ", ".join(map(str, self.lengths))
        return f"{self.part.kind}{model}, {self.way.name}{mode}, texts of {lengths} tokens"

    def batch(self, row: Row, columns: Sequence[Tensor] = ()) -> Batch:
        """The texts in these surroundings; columns: where the tokens of each stand."""
        x, tokens, places = arrange([self.texts[n] for n in row.order], row, columns)
        call = Call(x, tokens, self.way)
        seen: list[Tensor] = []
        if self.way.cross:
            if row is LATER:
                row = replace(row, side="right" if self.part.pads else "", more=0)
            context, keys, seen = arrange([self.contexts[n] for n in row.order], row)
            call = replace(call, context=context, context_tokens=keys)
        if row.strided:
            call = call.with_inputs(lambda t: t.mT.contiguous().mT)
        return Batch(call, {"x": places, "context": seen}, row)

    def check(self, row: Row) -> Batch:
        """Fail where a text is not what it is alone."""
        part, row = self.part, row if self.part.pads or row is LATER else replace(row, side="")
        batch, encoding = self.batch(row), self.part.kind == "pe"
        shifted = bool(row.shift or (row.own and encoding))
        mask, count = batch.call.tokens.attention_mask, f"{len(row.order)} texts"
        if mask is not None and len(row.order) < 9:
            count = str(int((~mask).sum(dim=1).max()))
        what = f"{row.name.format(n=count)} changes"
        tolerance = (1e-2 if encoding else 1e-6) if shifted else part.tolerance
        with trying(f"{what} it ({self})"), hinting(lambda: self.cause(batch)):
            self.measure(batch, slopes=self.slopes and not shifted)
            for number, text in zip(row.order, batch.texts, strict=False):
                for name, own in text.items():
                    pair = own, self.alone[number].texts[0][name]
                    if shifted and encoding:
                        # What it embeds and rotates may change, what attention gives may not.
                        pair = pair[0][..., -part.dim :], pair[1][..., -part.dim :]
                    allowed, where = (
                        tolerance * (1 + 9 * (name != OUTPUT)),
                        f"text {number}; {self}",
                    )
                    close(*pair, f"{what} {name}", tolerance=allowed, where=where)
            must(
                batch.leak == 0, f"{what} nothing, yet has a gradient of {batch.leak:.3g} ({self})"
            )
            for name, slope in batch.weights.items():
                total = torch.stack([self.alone[n].weights[name] for n in row.order]).sum(0)
                close(slope, total, f"{what} {name} ({self})", tolerance=10 * tolerance)
        return batch

    def measure(self, batch: Batch, *, slopes: bool) -> Batch:
        """The batch with what its texts give."""
        part, outputs = self.part, list[Tensor]()
        batch.losses = []

        def run(module: Any, call: Call) -> Tensor:
            out = part.call(module, call.but(losses=batch.losses))
            name = (batch.row.name or "a text alone").replace(" of {n}", "")
            finite(out, f"{name} ({self}): output")
            for row, columns in enumerate(batch.columns["x"]):
                outputs.append(out[row] if part.per_text else out[row, columns])
            return torch.cat([own.flatten() for own in outputs])

        with torch.set_grad_enabled(slopes):
            given = gradients(part, self.module, batch.call, run)
        batch.texts = [{OUTPUT: own.detach()} for own in outputs]
        for name, columns in batch.columns.items():
            slope = given.pop(f"gradient of the input {name}", torch.zeros(0))
            for row, text in enumerate(batch.texts if len(slope) else ()):
                text[f"the gradient of {name}"] = slope[row, columns[row]]
                slope[row, columns[row]] = 0
            batch.leak = max(batch.leak, largest(slope) if len(slope) else 0.0)
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
            probes["the causal mask is ignored"] = call.but(causal=False)
        try:
            out = part.call(module, call)
            same = (cause for cause, c in probes.items() if torch.equal(part.call(module, c), out))
            return next(same, over_queries(part, module))
        except Exception:  # noqa: BLE001 - what it raises has been said already
            return ""


def over_queries(part: Part, module: Any) -> str:
    """Whether its softmax is over the queries: then it is their weights that add up to one."""
    if not isinstance(module, MultiHead):
        return ""
    q, k = normal(part.generator(5), 2, 1, module.heads, 6, module.head_dim)
    out = module.attend(q, k, torch.ones_like(k), None, None)
    wrong = largest(out - 1) > EXACT and largest(out.sum(dim=-2) - 6) < EXACT
    return "softmax is over the queries, not over the keys (dim=-1)" if wrong else ""


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
    positions, whole = torch.arange(length), row.side in ("", "later")
    if row.side in ("left", "inner"):
        positions = (mask.cumsum(dim=1) - 1).clamp_min(0)
    if row.own:
        positions = positions + torch.tensor([0, 9, 4])[:, None]
    in_order = row.side in ("", "right", "later") and not (row.shift or row.own)
    return x, Tokens(None if whole else mask, positions + row.shift, in_order=in_order), places


def fits(row: Row, part: Part, way: Way) -> bool:
    """Whether the contract of the part, or what it declares, promises anything in these."""
    model = isinstance(part, ModelPart)
    if row is LATER:
        return way.causal
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
    for form in forms(part):
        _whole_table(form)
    if part.kind == "baseline":
        return
    _other_sizes(part)
    for model in models_of(part):
        _whole_table(model)
    _few_rows_of_a_model(part)


def _whole_table(part: Part) -> None:
    """Small weights, weights as large as training may make them, and long texts."""
    model = isinstance(part, ModelPart)
    encodes = any(way.encoded for way in part.shown_ways)
    for way in part.shown_ways:
        # Where an encoding is left out there is a mask neither, of which much could go wrong.
        plain = encodes and not way.encoded
        rows = MODEL if model else BARE if plain and part.kind == "attention" else ROWS
        _try(Texts(part, part.build(), way, SHORT, slopes=True), rows)
        if model and part.quiet:
            _try(Texts(part, part.build().train(), way, SHORT), FEW)
        for seed in range(0 if model or plain else 3):
            large = part.build(seed=seed, jitter=1.0)
            _try(Texts(part, large, way, SHORT), FEW[: 1 if seed else 3])
        if part.kind != "baseline" and not way.cross and not plain:
            rows = (RIGHT, LATER) if part.kind == "attention" and not model else FEW
            _try(Texts(part, part.build(), way, LONG_IN_A_MODEL if model else LONG), rows)
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
    """These rows; the losses of all texts are the same wherever padding stands."""
    losses = None
    for row in (row for row in rows if fits(row, texts.part, texts.way)):
        batch = texts.check(row)
        if row.side not in ("", "later") and row.order == ALL and not row.empty:
            losses = batch.losses if losses is None else losses
            for own, other in zip(batch.losses, losses, strict=True):
                what = f"the loss '{own.name}' in {row.side} padding ({texts})"
                close(own.value, other.value, what, tolerance=LOSSES)


def caches(part: Part, way: Way) -> bool:
    """Whether it is decoded step by step in this way."""
    alone = part.kind in ("pool", "norm", "baseline") and not isinstance(part, ModelPart)
    forgets = part.kind == "attention" and not part.can("cache")
    if alone or forgets or (part.can("neighbours") and not part.can("causal", "cache")):
        return False
    return way.causal or (way.cross and part.kind == "attention")


def _steps(part: Part, way: Way, side: str) -> None:
    """Two decodings in turns, one of padded prompts whose texts are reordered at the end."""
    module, lengths = part.build(), (PROMPT, PROMPT // 2, 1) if side else (PROMPT,) * 3
    columns = [
        torch.cat([torch.arange(n) + (PROMPT - n) * (side == "left"), torch.arange(PROMPT, STEPS)])
        for n in lengths
    ]
    texts = Texts(part, module, way, [n + STEPS - PROMPT for n in lengths])
    other = Texts(part, module, way, (STEPS, STEPS))
    # Padding that is not on the right has positions that count the real tokens.
    padded = texts.batch(Row("", side and "inner", order=ALL), columns)
    what = f"decoding step by step, two batches in turns, prompts padded on the {side or 'no side'}"
    with trying(f"{what} ({texts})"), torch.no_grad():
        whole = other.batch(Row("", order=(0, 1)))
        turns = _decode(texts, padded, what, [2, 0, 0]), _decode(other, whole, what, [0, 1])
        for _ in zip(*turns, strict=True):
            pass


def _decode(texts: Texts, batch: Batch, what: str, order: list[int]) -> Iterator[None]:
    """Decode piece by piece, the last one with texts in this order; fail where tokens change."""
    part, columns, text_of = texts.part, batch.columns["x"], list(range(len(order)))
    new_cache = texts.module.decoder.new_cache if isinstance(part, ModelPart) else KeyValues
    cache, memory = new_cache(), KeyValues()
    for rows in PIECES:
        call = batch.call
        if call.context is not None and call.context_tokens is not None and not part.ids:
            # A cross-attention is given its context at the first step alone.
            new = slice(None) if rows.start == 0 else slice(0, 0)
            context, keys = call.context[:, new], call.context_tokens[new]
            call = replace(call, context=context, context_tokens=keys)
        more = {"memory_cache": memory} if part.kind == "block" and part.cross else {}
        call = call.columns(rows, cache=cache, **more)
        if rows is PIECES[-1] and text_of != order:
            text_of, chosen, what = order, torch.tensor(order), f"{what}, texts reordered,"
            cache.select(chosen)
            memory.select(chosen)
            call = call.map(lambda t: t[chosen] if t.dim() > 1 else t)  # noqa: B023
        out = part.call(texts.module, call)
        for row, text in enumerate(text_of):
            place = columns[text]
            now = (place >= rows.start) & (place < rows.stop)
            expected = texts.alone[text].texts[0][OUTPUT][now.nonzero().flatten()]
            where = f"tokens {rows.start} to {rows.stop - 1} of text {text}; {texts}"
            close(
                out[row, place[now] - rows.start], expected, f"{what} changes tokens", where=where
            )
        yield
    must(getattr(cache, "used", True), "the cache that it is given is never used")


def _few_rows(part: Part, way: Way) -> None:
    """Asked for a few rows of a long text, it gives what it does for all."""
    rows = slice(150, 152)
    texts = Texts(part, part.build(), way, (300,))
    call = texts.batch(Row("")).call
    few = replace(call.columns(rows), context=call.x, context_tokens=call.tokens)
    if part.kind == "block":
        few = call.but(read=rows)
    elif way.cross or not part.can("cross"):
        return
    what, expected = "asking for rows 150 and 151 alone changes them", texts.alone[0].texts[0]
    with trying(f"{what} ({texts})"), torch.no_grad():
        own = part.call(texts.module, few)[0]
        close(own, expected[OUTPUT][rows], what, where=str(texts))


def _few_rows_of_a_model(part: Part) -> None:
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


def _other_sizes(part: Part) -> None:
    """A text gives the same alone as in a batch where lengths and numbers of texts equal sizes."""
    for other in resized(part, (*OTHER_SIZES, *drawn_sizes(part))):
        for way in other.shown_ways[-3:]:
            with hinting(f"at width {other.dim} with {other.heads} heads"):
                lengths = max(3, other.heads), other.dim // other.heads, 1
                texts = Texts(other, other.build(), way, lengths)
                texts.check(Row("a batch of as many texts as heads", order=(0,) * other.heads))
                if fits(RIGHT, other, way):
                    texts.check(RIGHT)


def resized(part: Part, sizes: Iterable[tuple[int, int, int]]) -> Iterator[Part]:
    """The part at each width, number of heads and hidden width that it does not refuse."""
    for size in sizes:
        other = part.at(*size)
        try:
            other.build()
        except ValueError:
            continue
        yield other


def drawn_sizes(part: Part) -> Iterator[tuple[int, int, int]]:
    """Width, heads and hidden, by chance; more where the check is to be thorough."""
    draw = random.Random(part.settings.seed)
    for _ in range(12 if part.settings.thorough else 1):
        heads = draw.randint(1, 8)
        yield 2 * draw.randint(2, 32) * heads, heads, draw.randint(8, 120)
