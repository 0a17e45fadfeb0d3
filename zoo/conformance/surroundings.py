"""A text gives the same whatever stands around it: padding, other texts, other positions, a cache.

One table. A row arranges texts in a batch, and may have it computed piece by piece; what each text
then gives, its gradients and the auxiliary losses must be what the text gives alone. A whole model
is a part too.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, finite, hinting, largest, must, trying
from zoo.conformance.declares import at_other_values
from zoo.conformance.models import models_of
from zoo.conformance.parts import DROPOUT, VOCAB, Call, Part, Way, forms, gradients, normal
from zoo.models.key_value_cache import KeyValues

# Tokens of the texts of a batch, and more than the usual window and block of a kernel, which no
# block divides.
SHORT, LONG, LONG_IN_A_MODEL = (7, 4, 1), (523, 149, 1), (150, 41, 90)
# Texts that are computed in pieces: a prompt, a token, and then several at once, as when proposed
# tokens are verified. Each text has a token of the prompt, wherever padding stands.
PIECEWISE = (150, 113, 76)
PIECES = (slice(0, 77), slice(77, 78), slice(78, 80), slice(80, None))
# Width, heads, hidden: as many heads as texts, one head, more heads than texts, wide heads.
OTHER_SIZES = ((24, 3, 20), (12, 1, 30), (40, 5, 96), (64, 2, 80))
LOSSES = 1e-5  # auxiliary losses may be computed in float32
OUTPUT = "real tokens"  # as a failure names them


def step_by_step(part: Part, module: Any, call: Call) -> Tensor:
    """Decode piece by piece, in turns with another batch, and the last piece in another order."""
    pieces, new_cache = list[Tensor](), module.decoder.new_cache if part.model else KeyValues
    other, order = replace(call, x=call.x.flip(1)), torch.arange(len(call.x)).roll(1)
    turns = [(batch, new_cache(), KeyValues()) for batch in (call, other)]
    for rows in PIECES:
        for batch, cache, memory in turns:
            now = batch
            if rows is PIECES[-1]:
                cache.select(order)
                memory.select(order)
                now = batch.map(lambda t: t[order] if t.dim() > 1 else t)
            if now.context is not None and now.context_tokens is not None and not part.model:
                # A cross-attention is given its context at the first step alone.
                new = slice(0, 0 if rows.start else None)
                context, keys = now.context[:, new], now.context_tokens[new]
                now = replace(now, context=context, context_tokens=keys)
            out = part.call(module, now.columns(rows, cache=cache, memory_cache=memory))
            pieces += [out] if batch is call else []
    return torch.cat([*pieces[:-1], pieces[-1][order.argsort()]], dim=1)


def few_rows(part: Part, module: Any, call: Call) -> Tensor:
    """Asked for a few rows at a time, which may read all."""
    if part.kind == "block":
        calls = [call.but(read=rows) for rows in PIECES]
    else:
        across = replace(call, context=call.x, context_tokens=call.tokens)
        calls = [across.columns(rows) for rows in PIECES]
    return torch.cat([part.call(module, each) for each in calls], dim=1)


@dataclass(frozen=True)
class Row:
    """Surroundings of texts. {n} in the name: how many tokens of padding there are, or texts.

    side: where padding stands, if anywhere; "later": real tokens follow. more: tokens of padding
    besides those that are needed. fill: what stands in padding; finite: so many times random
    numbers. order: of which texts the batch is made. empty: with a text of padding alone. shift: of
    all positions. own: of each text's positions another. strided: the inputs are views, in another
    order in memory. run: how it is computed; None: in one call.
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
    run: Callable[[Part, Any, Call], Tensor] | None = None


ALL = (0, 1, 2)
RIGHT = Row("right padding of {n}", "right", order=ALL)
# Tokens that follow are real: of a size that a text may have, unlike padding.
LATER = Row("what follows", "later", more=3, fill=10.0, order=ALL)
AS_HEADS = Row("a batch of as many texts as heads", "inner", order=(0, 1))
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
    AS_HEADS,
    Row("an input that is a view", order=(0, 0), strided=True),
    # Crossing lengths at which positions are likely to begin again.
    *(Row(f"every position {n} later", shift=n) for n in (7, 508, 597, 1020, 2045, 4093)),
)
# Where there is neither a mask nor an encoding; with other weights or lengths; in a model.
BARE, FEW, MODEL = (RIGHT, LATER, *ROWS[11:14]), ROWS[:3], ROWS[:6]
IN_PIECES = [
    replace(row, name=f"{name}, with {row.name},", run=run)
    for name, run in (("decoding step by step", step_by_step), ("asking for few rows", few_rows))
    for row in (*ROWS[2:4], Row("no padding"))
]


@dataclass(frozen=True)
class Outcome:
    """What a batch gives.

    texts: of each text the output, and the gradients of inputs, by name. weights: gradients of
    weights. losses: of all texts. leak: the largest gradient of what surrounds the texts.
    """

    texts: list[dict[str, Tensor]]
    weights: dict[str, Tensor]
    losses: list[AuxiliaryLoss]
    leak: float


class KnownTexts:
    """Texts of several lengths, and what each is alone, in one way of calling a module.

    slopes: whether gradients are compared too; in training, which drops, those of what surrounds
    the texts alone.
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
        self.losses: list[AuxiliaryLoss] | None = None  # of all texts, each once

    @cached_property
    def alone(self) -> list[Outcome]:
        """What each text is alone."""
        rows = [Row("a text alone", order=(n,)) for n in range(len(self.texts))]
        return [self.measure(row, *self.batch(row)) for row in rows]

    def __str__(self) -> str:
        model = f" in {self.part.model}" if self.part.model else ""
        mode = ", in training" * self.module.training
        lengths = ", ".join(map(str, self.lengths))
        return f"{self.part.kind}{model}, {self.way.name}{mode}, texts of {lengths} tokens"

    def batch(self, row: Row) -> tuple[Call, dict[str, list[Tensor]]]:
        """The texts in these surroundings, and where the tokens of each stand, by input."""
        x, tokens, places = arrange([self.texts[n] for n in row.order], row)
        call, seen = Call(x, tokens, self.way), list[Tensor]()
        if self.way.cross:
            if row is LATER:
                row = replace(row, side="right" if self.part.pads else "", more=0)
            context, keys, seen = arrange([self.contexts[n] for n in row.order], row)
            call = replace(call, context=context, context_tokens=keys)
        if row.strided:
            call = call.with_inputs(lambda t: t.mT.contiguous().mT)
        return call, {"x": places, "context": seen}

    def measure(self, row: Row, call: Call, columns: dict[str, list[Tensor]]) -> Outcome:
        """What the texts give; gradients too where they are compared."""
        part, outputs, losses = self.part, list[Tensor](), list[AuxiliaryLoss]()

        def run(module: Any, call: Call) -> Tensor:
            out = (row.run or type(part).call)(part, module, call.but(losses=losses))
            finite(out, f"{row.name} ({self}): output")
            rows, length = out.shape[1], call.x.shape[1]
            what = f"{row.name} ({self}): {rows} rows instead of {length}"
            must(part.per_text or rows == length, what)
            for number, places in enumerate(columns["x"]):
                outputs.append(out[number] if part.per_text else out[number, places])
            return torch.cat([own.flatten() for own in outputs])

        with torch.set_grad_enabled(self.slopes and not row.shift and not row.own):
            slopes = gradients(part, self.module, call, run)
        texts, leak = [{OUTPUT: own.detach()} for own in outputs], 0.0
        for name in call.inputs if len(slopes) > 1 else ():
            slope = slopes.pop(f"gradient of the input {name}")
            for number, (text, place) in enumerate(zip(texts, columns[name], strict=True)):
                text[f"the gradient of {name}"] = slope[number, place]
                slope[number, place] = 0
            leak = max(leak, largest(slope))
        weights = {f"the {name}": slope for name, slope in slopes.items() if name != "output"}
        return Outcome(texts, weights, losses, leak)

    def check(self, rows: Iterable[Row]) -> None:
        """Fail where in one of these surroundings a text is not what it is alone."""
        for row in rows:
            if fits(row, self.part, self.way):
                self._check(row)

    def _check(self, row: Row) -> None:
        part, row = self.part, row if self.part.pads or row is LATER else replace(row, side="")
        (call, columns), encoding = self.batch(row), self.part.kind == "pe"
        shifted = bool(row.shift or (row.own and encoding))
        mask, count = call.tokens.attention_mask, f"{len(row.order)} texts"
        if mask is not None and len(row.order) < 9:
            count = str(int((~mask).sum(dim=1).max()))
        row = replace(row, name=row.name.format(n=count))
        what = f"{row.name} changes"
        tolerance = (1e-2 if encoding else 1e-6) if shifted else part.tolerance
        with trying(f"{what} it ({self})"), hinting(lambda: self.cause(call)):
            outcome = self.measure(row, call, columns)
            texts = [] if self.slopes and self.module.training else outcome.texts
            for number, text in zip(row.order, texts, strict=False):
                for name, own in text.items():
                    expected = self.alone[number].texts[0][name]
                    if shifted and encoding:
                        # What it embeds and rotates may change, what attention gives may not.
                        own, expected = own[..., -part.dim :], expected[..., -part.dim :]
                    allowed = tolerance * (1 + 9 * (name != OUTPUT))
                    about = f"{what} {name} of text {number} ({self})"
                    close(own, expected, about, tolerance=allowed)
            leak = f"{what} nothing, yet has a gradient of {outcome.leak:.3g} ({self})"
            must(outcome.leak == 0, leak)
            for name, slope in outcome.weights.items() if texts else ():
                total = torch.stack([self.alone[n].weights[name] for n in row.order]).sum(0)
                close(slope, total, f"{what} {name} ({self})", tolerance=10 * tolerance)
            if texts and row.side in part.sides and row.order == ALL and not (row.empty or row.run):
                self.losses = outcome.losses if self.losses is None else self.losses
                for loss, other in zip(outcome.losses, self.losses, strict=True):
                    about = f"the loss '{loss.name}' in {row.side} padding ({self})"
                    close(loss.value, other.value, about, tolerance=LOSSES)

    def cause(self, call: Call) -> str:
        """A cause that a probe confirms: the output is the same without what it should use."""
        part, tokens, probes = self.part, call.tokens, dict[str, Tokens]()
        rows = torch.arange(tokens.positions.shape[-1])
        if tokens.attention_mask is not None and part.kind != "norm":
            probes["the mask is ignored"] = Tokens(None, tokens.positions)
        if call.way.encoded and not (tokens.positions == rows).all():
            probes["use layer.tokens.positions, not arange"] = replace(tokens, positions=rows)
        with contextlib.suppress(Exception):  # what it raises has been said already
            out = part.call(self.module, call)
            for cause, other in probes.items():
                if torch.equal(part.call(self.module, replace(call, tokens=other)), out):
                    return cause
        return ""


def arrange(texts: Sequence[Tensor], row: Row) -> tuple[Tensor, Tokens, list[Tensor]]:
    """Texts in one tensor (B, L, ...), its tokens, and the columns of each text."""
    generator, places = torch.Generator().manual_seed(len(texts)), list[Tensor]()
    moved = row.side in ("left", "inner")
    length = max(map(len, texts)) + row.more + 2 * moved
    shape = (len(texts) + row.empty, length, *texts[0].shape[1:])
    mask = torch.zeros(shape[:2], dtype=torch.bool)
    if not texts[0].is_floating_point():
        x = torch.randint(VOCAB, shape, generator=generator)
    elif math.isfinite(row.fill):
        x = row.fill * normal(generator, *shape)
    else:
        x = torch.full(shape, row.fill, dtype=texts[0].dtype)
    for number, text in enumerate(texts):
        place = torch.arange(len(text)) + (length - len(text) if row.side == "left" else 0)
        if row.side == "inner":
            place = torch.randperm(length, generator=generator)[: len(text)].sort().values
        x[number, place], mask[number, place] = text, True
        places.append(place)
    positions = Tokens.of(mask).positions if moved else torch.arange(length)
    if row.own:
        positions = positions + torch.tensor([0, 9, 4])[:, None]
    shown = None if row.side in ("", "later") else mask
    in_order = not (moved or row.shift or row.own)
    return x, Tokens(shown, positions + row.shift, in_order=in_order), places


def fits(row: Row, part: Part, way: Way) -> bool:
    """Whether the contract of the part, or what it declares, promises anything in these."""
    if row is LATER:
        return way.causal
    if row.run is step_by_step:
        return caches(part, way)
    if row.run is few_rows:
        crosses = part.kind == "attention" and part.can("cross") and not way.cross
        return not part.model and (part.kind == "block" or crosses)
    sided = row.empty or row.more or row is RIGHT or (row.side != "right" and row.order == ALL)
    if row.side and (row.side not in part.sides if part.pads else sided):
        return False
    if not math.isfinite(row.fill):
        return part.kind == "pool" and not part.model
    if row.strided:
        return part.kind != "baseline" and not part.model
    if row.shift or row.own:
        far = part.can("fixed-length") and row.shift > 60
        relative = not (part.can("absolute") or part.can("embed") or far or part.model)
        return part.kind in ("attention", "pe") and relative and way.encoded
    return True


def caches(part: Part, way: Way) -> bool:
    """Whether it is decoded step by step in this way."""
    alone = part.kind in ("pool", "norm", "baseline") and not part.model
    forgets = part.kind == "attention" and not part.can("cache")
    if alone or forgets or (part.can("neighbours") and not part.can("causal", "cache")):
        return False
    return way.causal or (way.cross and part.kind == "attention")


def surroundings(part: Part) -> None:
    """Padding, other texts, other positions, a prefix, a cache and few rows change nothing."""
    for form in forms(part):
        _whole_table(form)
    if part.kind == "baseline":
        ids, module, real = part.draw(3), part.build(), torch.ones(3, 3, dtype=torch.bool)
        ids[:, 1] = 0  # the id of padding, at a real token
        bare, shown = (module(ids, Tokens(mask, torch.arange(3))) for mask in (None, real))
        close(bare, shown, "id 0 without a mask, and with one that is True")
        return
    for number, other in enumerate(resized(part, (*OTHER_SIZES, *drawn_sizes(part)))):
        rows = replace(AS_HEADS, order=[n % 3 for n in range(other.heads)]), RIGHT
        other = other.but(bias=("one", "heads")[number % 2])
        for way in other.shown_ways[-3:]:
            with hinting(f"at width {other.dim} with {other.heads} heads"):
                lengths = max(3, other.heads), other.dim // other.heads, 1
                KnownTexts(other, other.build(), way, lengths).check(rows)
    for other in at_other_values(part):
        with hinting(f"with {other.choice}"):
            module = other.build()
            other.run(module, other.calls()[0])
            KnownTexts(other, module, other.shown_ways[-1], SHORT).check((*FEW, ROWS[-1]))
    models = list(models_of(part))
    for model in models:
        _whole_table(model)
    # Afterwards, since a table says better than these what is wrong.
    for model in models:
        if model.per_text and part.kind != "pool" and not part.can("causal-only"):
            _few_rows_of_a_model(model)


def _whole_table(part: Part) -> None:
    """Small weights, weights as large as training may make them, long texts, and pieces of them."""
    model, attention = part.model != "", part.kind == "attention"
    encodes = any(way.encoded for way in part.shown_ways)
    far = part.but(draw=lambda *a, **k: 1e6 * part.draw(*a, **k)) if part.kind == "pool" else part
    for way in part.shown_ways:
        # Where an encoding is left out there is a mask neither, of which much could go wrong.
        plain = encodes and not way.encoded
        rows = MODEL if model else BARE if plain and attention else ROWS
        KnownTexts(part, part.build(), way, SHORT, slopes=True).check(rows)
        if part.quiet or not model:
            training = part.build(dropout=0.0 if model else DROPOUT).train()
            KnownTexts(part, training, way, SHORT, slopes=not model).check(FEW)
        for seed in range(0 if model or plain else 3):
            large = part.build(seed=seed, jitter=1.0)
            KnownTexts(far, large, way, SHORT).check(FEW[: 1 if seed else 3])
        if part.kind != "baseline" and not way.cross and not plain:
            KnownTexts(part, part.build(), way, LONG_IN_A_MODEL if model else LONG).check(FEW)
        if not plain:
            KnownTexts(part, part.build(), way, PIECEWISE).check(IN_PIECES)
    if part.kind == "norm" and not model:
        x, module = part.draw(3, texts=1), part.build()
        for name, at in (("(tokens, D)", 0), ("(D)", (0, 0)), ("(texts, heads, tokens, D)", None)):
            close(module(x[at]), module(x)[at], f"output for {name}")


def _few_rows_of_a_model(model: Part) -> None:
    """The last layer of a model gives a few rows, wherever they stand, as it does among all."""
    encoder, call = model.build().encoder, model.calls()[0]
    whole, few = Tokens.whole(call.x.shape[1]), (slice(0, 1), slice(1, 3), slice(-2, None))
    for tokens, rows in itertools.product((whole, call.tokens), few):
        alone, among = encoder(call.x, tokens, rows), encoder(call.x, tokens)[:, rows]
        if tokens.attention_mask is not None:  # rows of padding may be anything
            real = tokens.attention_mask[:, rows]
            alone, among = alone[real], among[real]
        what = f"rows {rows.start} to {rows.stop} of a model's last layer, which gives them alone"
        close(alone, among, what)


def resized(part: Part, sizes: Iterable[tuple[int, int, int]]) -> Iterator[Part]:
    """The part at each width, number of heads and hidden width that it does not refuse."""
    for size in sizes:
        other = part.at(*size)
        with contextlib.suppress(ValueError):
            other.build()
            yield other


def drawn_sizes(part: Part) -> Iterator[tuple[int, int, int]]:
    """Width, heads and hidden, by chance; more where the check is to be thorough."""
    draw = random.Random(part.settings.seed)
    for _ in range(12 if part.settings.thorough else 1):
        heads = draw.randint(1, 8)
        yield 2 * draw.randint(2, 32) * heads, heads, draw.randint(8, 120)
