"""Checks of positional encodings: their slots, rotation and bias."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, finite, has_shape, largest, must, refusal
from zoo.conformance.check import check
from zoo.conformance.setup import (
    BATCH,
    DIM,
    HEADS,
    LONG,
    MAX_LENGTH,
    PLACE,
    SOME,
    Case,
    Draw,
    ModuleSetup,
    normal,
)
from zoo.models.seeding import seeded

HEAD_DIM, LENGTH, SHIFT = DIM // HEADS, 6, 5
FAR, OFFSET = 5000, 7


class EncodingSetup(ModuleSetup, kind="pe"):
    """Builds ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)`` and calls its slots."""

    passes = ("dim", "heads", "head_dim", "max_length", *PLACE)
    contract = PositionalEncoding

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(
            dim=self.dim,
            heads=self.heads,
            head_dim=self.dim // self.heads,
            max_length=MAX_LENGTH,
            offered=self.place,
        )

    def inputs(self) -> tuple[Tensor, Tensor]:
        """Embeddings (B, L, D) and heads (B, H, L, Dh)."""
        generator = self.generator()
        x = normal(generator, BATCH, LENGTH, DIM)
        return x, normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, heads = draw(length, self.dim), draw(self.heads, length, self.dim // self.heads)

        def cases_at(positions: Tensor, where: str) -> list[Case]:
            def bias(module: PositionalEncoding, x: Tensor) -> Tensor:
                # Plus 0 · x, so that this slot too is a function of its input.
                bias = as_scores(module, positions, heads=self.heads)
                return x.sum() * 0 + bias.to(x.dtype)

            def case(name: str, x: Tensor, call: Callable[..., Tensor], shape: Any) -> Case:
                return Case(name + where, (x,), call, shape, (positions,))

            cases = [
                case("embed", x, lambda module, x: module.embed(x, positions), x.shape),
                case("rotate", heads, lambda module, x: module.rotate(x, positions), heads.shape),
            ]
            if self.can("rotate"):
                turn = (lambda module, x: module.rotate_keys(x, positions), heads.shape)
                cases.append(case("rotate_keys", heads, *turn))
            if self.can("bias"):
                cases.append(case("bias", x, bias, (self.heads, length, length)))
            if self.can("content-bias"):
                shape = (len(heads), self.heads, length, length)
                cases.append(case("content_bias", heads, content(positions), shape))
            return cases

        def content(positions: Tensor) -> Callable[..., Tensor]:
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            keys = heads.flip(1)

            def call(module: PositionalEncoding, q: Tensor) -> Tensor:
                bias = content_scores(module, q, keys.to(q.dtype), positions, mask=mask)
                return bias.masked_fill(~mask, 0).to(q.dtype)  # as an attention takes it

            return call

        first = torch.arange(length)
        far = MAX_LENGTH - 1 - 3 * first.flip(0)
        return [*cases_at(first, ""), *cases_at(far, ", far positions")]


def as_scores(
    encoding: PositionalEncoding, q: Tensor, k: Tensor | None = None, heads: int = HEADS
) -> Tensor:
    """The bias expanded to (…, H, Lq, Lk), as attention adds it; zeros where there is none."""
    k = q if k is None else k
    bias = encoding.bias(q, k)
    if bias is None:
        return torch.zeros(heads, q.shape[-1], k.shape[-1], dtype=torch.float64)
    return bias.expand(*bias.shape[:-3], heads, q.shape[-1], k.shape[-1])


def content_scores(
    encoding: PositionalEncoding,
    q: Tensor,
    k: Tensor,
    positions: Tensor,
    k_positions: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """What the encoding adds for these queries and keys: (B, H, Lq, Lk)."""
    where = positions if k_positions is None else k_positions
    bias = encoding.content_bias(q, k, positions, where, mask)
    shape = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    return q.new_zeros(shape) if bias is None else bias.expand(shape)


@check("pe")
def slots(setup: EncodingSetup) -> None:
    """Every declared slot acts, and every other is the identity."""
    encoding, (x, heads) = setup.build(), setup.inputs()
    positions = torch.arange(LENGTH)
    bias = as_scores(encoding, positions)
    content = content_scores(encoding, heads, heads.flip(1), positions)
    acts = {
        "embed": not torch.equal(encoding.embed(x, positions), x),
        "rotate": not torch.equal(encoding.rotate(heads, positions), heads)
        or not torch.equal(encoding.rotate_keys(heads, positions), heads),
        # A constant added to all scores of a query changes no softmax.
        "bias": largest(bias - bias[..., :1]) > 0,
        "content-bias": largest(content - content[..., :1]) > 0,
    }
    for slot, does in acts.items():
        must(does or not setup.can(slot), f"declares {slot!r}, yet that slot changes nothing")
        must(setup.can(slot) or not does, f"its {slot} acts, but {slot!r} is not declared")


@check("pe")
def positions(setup: EncodingSetup) -> None:
    """It uses the positions given: a few, in another order, of a long text, or each text's own."""
    encoding, k_of = setup.build(), partial(torch.flip, dims=(1,))
    # All of a text in another order show a result that is cached by length.
    given = {LENGTH: ([4, 1, 3], [5, 2, 0, 4, 1, 3]), LONG: (SOME, SOME[2:5])}
    for length, some in given.items():
        x, q = setup.normal(BATCH, length, DIM), setup.normal(BATCH, HEADS, length, HEAD_DIM)
        whole, causal = torch.arange(length), torch.ones(length, length, dtype=torch.bool).tril()
        by_slot = (
            ("embed", encoding.embed, x),
            ("rotate", encoding.rotate, q),
            ("rotate_keys", encoding.rotate_keys, q),
        )
        full = as_scores(encoding, whole)
        content = content_scores(encoding, q, k_of(q), whole, mask=causal).masked_fill(~causal, 0)
        finite(content, "content bias")
        for at in map(torch.tensor, some):
            which = f"at positions {at.tolist()} of {length}"
            for what, slot, x in by_slot:
                close(slot(x[..., at, :], at), slot(x, whole)[..., at, :], f"{what} {which}")
            close(as_scores(encoding, at), full[..., at, :][..., at], f"bias {which}")
            close(as_scores(encoding, at, whole), full[..., at, :], f"bias of queries {which}")
            close(as_scores(encoding, whole, at), full[..., at], f"bias of keys {which}")
            few = content_scores(encoding, q[..., at, :], k_of(q), at, whole, mask=causal[at])
            few = few.masked_fill(~causal[at], 0)
            close(few, content[..., at, :], f"content bias of queries {which}")
    x, q = setup.inputs()
    whole, causal = torch.arange(LENGTH), torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    each, which = torch.stack([whole, whole + 2, whole * 3]), "of one text among positions (B, L)"
    by_slot = (
        ("embed", encoding.embed, x),
        ("rotate", encoding.rotate, q),
        ("rotate_keys", encoding.rotate_keys, q),
    )
    for text, its in enumerate(each):
        one = slice(text, text + 1)
        for what, slot, x in by_slot:
            close(slot(x, each)[one], slot(x[one], its), f"{what} {which}")
        biased = as_scores(encoding, each).expand(BATCH, HEADS, LENGTH, LENGTH)[text]
        close(biased, as_scores(encoding, its), f"bias {which}")
        among = content_scores(encoding, q, k_of(q), each, mask=causal)[one]
        alone = content_scores(encoding, q[one], k_of(q[one]), its, mask=causal)
        close(among[..., causal], alone[..., causal], f"content bias {which}")


@check("pe")
def place(setup: EncodingSetup) -> None:
    """Where it places a text, positions increase, in evaluation and training."""
    encoding = setup.build()
    whole = torch.arange(40)
    for training in (False, True):
        encoding.train(training)
        for given in (whole, torch.stack([whole, whole + 7, 2 * whole])):
            placed = encoding.place(given)
            has_shape(placed, given.shape, "positions that it places a text at")
            increasing = bool((placed.diff(dim=-1) > 0).all())
            must(increasing, f"places a text where positions do not increase: {placed[..., :6]}")


@check("pe", needs="embed")
def embed_adds(setup: EncodingSetup) -> None:
    """What embed adds depends only on the positions, not on the embeddings."""
    encoding, (x, _) = setup.build(), setup.inputs()
    positions = torch.arange(LENGTH)
    added = encoding.embed(torch.zeros_like(x), positions)
    close(encoding.embed(x, positions) - x, added, "what is added to embeddings and to zeros")


@check("pe")
def order(setup: EncodingSetup) -> None:
    """Exchanging two tokens changes the output if `order` is declared, and only then."""
    encoding = setup.build()
    with seeded(setup.settings.seed, "checks/attention"):
        attention = Split(DIM, HEADS).double().eval()
    tokens = Tokens.whole(LENGTH)

    def output(x: Tensor) -> Any:
        return attention(encoding.embed(x, tokens.positions), LayerContext(tokens, encoding))

    x = 3 * setup.inputs()[0][:1]
    out = output(x)
    for one, other in itertools.combinations(range(LENGTH), 2):
        exchange = list(range(LENGTH))
        exchange[one], exchange[other] = other, one
        off = largest(output(x[:, exchange]) - out[:, exchange])
        what = f"exchanging tokens {one} and {other} changes the output by {off:.3g}"
        must(off > 1e-7 or not setup.can("order"), f"declares 'order', but {what}")
        must(off < 1e-9 or setup.can("order"), f"{what}, but 'order' is not declared")
    if setup.can("embed", "order"):
        # Without a fixed length, texts may be longer than it was built for.
        most = MAX_LENGTH if setup.can("fixed-length") else 2 * MAX_LENGTH
        table = encoding.embed(torch.zeros(1, most, DIM).double(), torch.arange(most))
        alike = most - len(table[0].unique(dim=0))
        what = f"{alike} of {most} positions have the embedding of another one"
        must(not alike, f"{what}; it was built for {MAX_LENGTH}, and declares 'fixed-length' if so")


@check("pe")
def length(setup: EncodingSetup) -> None:
    """It takes every position below its maximum length; with `fixed-length` it refuses more."""
    encoding, (x, heads), fixed = setup.build(), setup.inputs(), setup.can("fixed-length")

    def all_slots(positions: Tensor) -> None:
        encoding.embed(x, positions)
        encoding.rotate(heads, positions)
        encoding.bias(positions, positions)

    last = torch.arange(MAX_LENGTH - LENGTH, MAX_LENGTH)
    all_slots(last)
    beyond = last + LENGTH
    error = refusal(lambda: all_slots(beyond), (IndexError, ValueError))
    must(fixed or error is None, f"refuses position {int(beyond[-1])}: {error}")
    what = f"built for {MAX_LENGTH} positions, yet takes position {int(beyond[-1])}"
    must(not fixed or error is not None, what)


@check("pe", needs="rotate", unless="scaled")
def rotation_norm(setup: EncodingSetup) -> None:
    """Rotating preserves the norm of every query and key."""
    encoding = setup.build()
    heads = setup.normal(BATCH, HEADS, LENGTH, HEAD_DIM)
    for start in (0, 500):
        for rotate in (encoding.rotate, encoding.rotate_keys):
            rotated = rotate(heads, torch.arange(LENGTH) + start)
            what = f"norms at positions from {start} on"
            # Looser than rounding in float64: angles may be computed in float32.
            close(rotated.norm(dim=-1), heads.norm(dim=-1), what, tolerance=1e-6)


@check("pe", needs="bias")
def bias_direction(setup: EncodingSetup) -> None:
    """The bias of (i, j) is that of (j, i), or it declares `directed` and it is not."""
    bias, directed = as_scores(setup.build(), torch.arange(LENGTH)), setup.can("directed")
    off = largest(bias - bias.mT)
    what = f"bias of (i, j) and (j, i) differ by {off:.3g}: declare 'directed'"
    must(off < 1e-9 or directed, what)
    must(off > 1e-9 or not directed, "declares 'directed', yet its bias is symmetric")


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
    if setup.can("content-bias"):
        q, whole = setup.inputs()[1], torch.arange(LENGTH)
        found, later = (
            content_scores(encoding, q, q.flip(1), whole + start) for start in (0, SHIFT)
        )
        close(later, found, f"content bias {SHIFT} positions later", tolerance=1e-6)


@check("pe")
def head_width(setup: EncodingSetup) -> None:
    """Built for queries and keys of another width than dim / heads, it takes that width."""
    length, positions = 6, torch.arange(6)
    width = 2 * DIM // HEADS
    with seeded(setup.settings.seed, "checks/build"):
        encoding = setup.choice.build(
            dim=DIM, heads=HEADS, head_dim=width, max_length=LONG, offered=PLACE
        )
    q, k = setup.normal(2, BATCH, HEADS, length, width)
    encoding = encoding.double().eval()
    for rotate in (encoding.rotate, encoding.rotate_keys):
        has_shape(rotate(q, positions), q.shape, f"rotation of queries {width} wide")
    if setup.can("content-bias"):
        found = content_scores(encoding, q, k, positions)
        has_shape(found, (BATCH, HEADS, length, length), f"content bias of queries {width} wide")
