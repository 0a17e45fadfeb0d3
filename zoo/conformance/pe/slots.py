"""The three slots of an encoding: which act, and that they depend on the positions given."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from zoo.components.attention.split import Split
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, largest, must
from zoo.conformance.check import check, needs
from zoo.conformance.setups.encoding_setup import HEAD_DIM, EncodingSetup, as_scores
from zoo.conformance.setups.setup import BATCH, DIM, HEADS, MAX_LENGTH, normal
from zoo.models.seeding import seeded

LENGTH = 6


@check("pe")
def slots(setup: EncodingSetup) -> None:
    """Every declared slot acts, and every other is the identity."""
    encoding = setup.build()
    x, heads = _inputs(setup)
    positions = torch.arange(LENGTH)
    bias = as_scores(encoding, positions)
    acts = {
        "embed": not torch.equal(encoding.embed(x, positions), x),
        "rotate": not torch.equal(encoding.rotate(heads, positions), heads),
        # A constant added to all scores of a query changes no softmax.
        "bias": bool((bias - bias[..., :1]).abs().max() > 0),
    }
    for slot, does in acts.items():
        must(does or not setup.can(slot), f"declares {slot!r}, yet that slot changes nothing")
        must(setup.can(slot) or not does, f"its {slot} acts, but {slot!r} is not declared")


@check("pe")
def positions(setup: EncodingSetup) -> None:
    """It uses the positions given: a subset, another order, or each text's own."""
    encoding = setup.build()
    x, heads = _inputs(setup)
    whole = torch.arange(LENGTH)
    some = torch.tensor([4, 1, 3])
    close(
        encoding.embed(x[:, some], some),
        encoding.embed(x, whole)[:, some],
        "embed at positions 4, 1, 3",
    )
    close(
        encoding.rotate(heads[:, :, some], some),
        encoding.rotate(heads, whole)[:, :, some],
        "rotate at positions 4, 1, 3",
    )
    full = as_scores(encoding, whole)
    close(as_scores(encoding, some, whole), full[..., some, :], "bias of queries 4, 1, 3")
    close(as_scores(encoding, whole, some), full[..., some], "bias of keys 4, 1, 3")
    # The same length in another order: shows a result cached by length.
    other = torch.tensor([5, 2, 0, 4, 1, 3])
    for what, slot, given in (("embed", encoding.embed, x), ("rotate", encoding.rotate, heads)):
        moved = slot(given[..., other, :], other)
        close(moved, slot(given, whole)[..., other, :], f"{what} in another order")
    reordered = full[..., other, :][..., other]
    close(as_scores(encoding, other), reordered, "bias in another order")

    each = torch.stack([whole, whole + 2, whole * 3])  # (B, L)
    for text in range(BATCH):
        row = slice(text, text + 1)
        what = "of one text among positions (B, L)"
        embedded = encoding.embed(x, each)[row]
        close(embedded, encoding.embed(x[row], each[text]), f"embed {what}")
        rotated = encoding.rotate(heads, each)[row]
        close(rotated, encoding.rotate(heads[row], each[text]), f"rotate {what}")
        if setup.can("bias"):
            shape = (BATCH, HEADS, LENGTH, LENGTH)
            biased = as_scores(encoding, each).expand(shape)[text]
            close(biased, as_scores(encoding, each[text]), f"bias {what}")


@check("pe", applies=needs("embed"))
def embed_adds(setup: EncodingSetup) -> None:
    """What embed adds depends only on the positions, not on the embeddings."""
    encoding = setup.build()
    x, _ = _inputs(setup)
    positions = torch.arange(LENGTH)
    nothing = torch.zeros_like(x)
    added = encoding.embed(nothing, positions)
    close(encoding.embed(x, positions) - x, added, "what is added to embeddings and to zeros")


@check("pe")
def order(setup: EncodingSetup) -> None:
    """Exchanging two tokens changes the output if `order` is declared, and only then."""
    encoding = setup.build()
    with seeded(setup.settings.seed, "checks/attention"):
        attention = Split(DIM, HEADS).double().eval()
    x, _ = _inputs(setup)
    x = 3 * x[:1]
    out = _read(attention, encoding, x)
    for one, other in itertools.combinations(range(LENGTH), 2):
        exchange = list(range(LENGTH))
        exchange[one], exchange[other] = other, one
        off = largest(_read(attention, encoding, x[:, exchange]) - out[:, exchange])
        what = f"exchanging tokens {one} and {other} changes the output by {off:.3g}"
        must(off > 1e-7 or not setup.can("order"), f"declares 'order', but {what}")
        must(off < 1e-9 or setup.can("order"), f"{what}, but 'order' is not declared")
    if setup.can("embed", "order"):
        table = encoding.embed(torch.zeros(1, MAX_LENGTH, DIM).double(), torch.arange(MAX_LENGTH))
        alike = MAX_LENGTH - len(table[0].unique(dim=0))
        must(not alike, f"{alike} of {MAX_LENGTH} positions have the embedding of another one")


@check("pe")
def length(setup: EncodingSetup) -> None:
    """It takes every position below its maximum length; with `fixed-length` it refuses more."""
    encoding = setup.build()
    x, heads = _inputs(setup)
    last = torch.arange(MAX_LENGTH - LENGTH, MAX_LENGTH)
    beyond = last + LENGTH

    def all_slots(positions: Tensor) -> None:
        encoding.embed(x, positions)
        encoding.rotate(heads, positions)
        encoding.bias(positions, positions)

    all_slots(last)
    try:
        all_slots(beyond)
    except (IndexError, ValueError) as error:
        must(setup.can("fixed-length"), f"refuses position {int(beyond[-1])}: {error}")
    else:
        must(
            not setup.can("fixed-length"),
            f"built for {MAX_LENGTH} positions, yet takes position {int(beyond[-1])}",
        )


def _inputs(setup: EncodingSetup) -> tuple[Tensor, Tensor]:
    """Embeddings (B, L, D) and heads (B, H, L, Dh)."""
    generator = setup.generator(0)
    x = normal(generator, BATCH, LENGTH, DIM)
    return x, normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)


def _read(attention: Split, encoding: PositionalEncoding, x: Tensor) -> Tensor:
    """The tokens of x through the encoding and one layer of attention."""
    tokens = Tokens.whole(x.shape[1])
    out: Tensor = attention(encoding.embed(x, tokens.positions), tokens=tokens, position=encoding)
    return out
