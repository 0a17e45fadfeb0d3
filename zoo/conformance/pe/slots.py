"""The three slots of an encoding: which act, and that positions are what they go by."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.base import check, needs
from zoo.conformance.compare import close, largest, must
from zoo.conformance.probes import PlainAttention
from zoo.conformance.setups.base import DIM, HEADS, MAX_LENGTH, normal
from zoo.conformance.setups.pe import BATCH, HEAD_DIM, PositionRig, as_scores
from zoo.models.seeding import seeded

LENGTH = 6


@check("pe")
def slots(rig: PositionRig) -> None:
    """Every declared slot acts, and every other is the identity."""
    encoding = rig.encoding()
    x, heads = _inputs(rig)
    positions = torch.arange(LENGTH)
    bias = as_scores(encoding, positions)
    acts = {
        "embed": not torch.equal(encoding.embed(x, positions), x),
        "rotate": not torch.equal(encoding.rotate(heads, positions), heads),
        # A constant added to all scores of a query changes no softmax.
        "bias": bool((bias - bias[..., :1]).abs().max() > 0),
    }
    for slot, does in acts.items():
        must(does or not rig.can(slot), f"declares {slot!r}, yet that slot changes nothing")
        must(rig.can(slot) or not does, f"its {slot} acts, but {slot!r} is not declared")


@check("pe")
def positions(rig: PositionRig) -> None:
    """It goes by the positions it is given: some rows, another order, or each text its own."""
    encoding = rig.encoding()
    x, heads = _inputs(rig)
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
    # As many as before, so that what is kept by length shows.
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
        turned = encoding.rotate(heads, each)[row]
        close(turned, encoding.rotate(heads[row], each[text]), f"rotate {what}")
        if rig.can("bias"):
            shape = (BATCH, HEADS, LENGTH, LENGTH)
            biased = as_scores(encoding, each).expand(shape)[text]
            close(biased, as_scores(encoding, each[text]), f"bias {what}")


@check("pe", applies=needs("embed"))
def embed_adds(rig: PositionRig) -> None:
    """What embed adds depends on the positions alone, and not on the embeddings."""
    encoding = rig.encoding()
    x, _ = _inputs(rig)
    positions = torch.arange(LENGTH)
    nothing = torch.zeros_like(x)
    added = encoding.embed(nothing, positions)
    close(encoding.embed(x, positions) - x, added, "what is added to embeddings and to zeros")


@check("pe")
def order(rig: PositionRig) -> None:
    """Declaring `order`, it tells any two tokens exchanged; not declaring it, it tells none."""
    encoding = rig.encoding()
    with seeded(rig.settings.seed, "checks/attention"):
        attention = PlainAttention(DIM, HEADS).double().eval()
    x, _ = _inputs(rig)
    x = 3 * x[:1]
    out = _read(attention, encoding, x)
    for one, other in itertools.combinations(range(LENGTH), 2):
        exchange = list(range(LENGTH))
        exchange[one], exchange[other] = other, one
        off = largest(_read(attention, encoding, x[:, exchange]) - out[:, exchange])
        what = f"exchanging tokens {one} and {other} changes the output by {off:.3g}"
        must(off > 1e-7 or not rig.can("order"), f"declares 'order', but {what}")
        must(off < 1e-9 or rig.can("order"), f"{what}, but 'order' is not declared")
    if rig.can("embed", "order"):
        table = encoding.embed(torch.zeros(1, MAX_LENGTH, DIM).double(), torch.arange(MAX_LENGTH))
        alike = MAX_LENGTH - len(table[0].unique(dim=0))
        must(not alike, f"{alike} of {MAX_LENGTH} positions are embedded as another one is")


@check("pe")
def length(rig: PositionRig) -> None:
    """It knows every position below its greatest length; `fixed-length` ones refuse more."""
    encoding = rig.encoding()
    x, heads = _inputs(rig)
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
        must(rig.can("fixed-length"), f"refuses position {int(beyond[-1])}: {error}")
    else:
        must(
            not rig.can("fixed-length"),
            f"built for {MAX_LENGTH} positions, yet takes position {int(beyond[-1])}",
        )


def _inputs(rig: PositionRig) -> tuple[Tensor, Tensor]:
    """Embeddings (B, L, D) and heads (B, H, L, Dh)."""
    generator = rig.generator(0)
    x = normal(generator, BATCH, LENGTH, DIM)
    return x, normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)


def _read(attention: PlainAttention, encoding: PositionalEncoding, x: Tensor) -> Tensor:
    """The tokens of x through the encoding and one layer of attention."""
    tokens = Tokens.whole(x.shape[1])
    out: Tensor = attention(encoding.embed(x, tokens.positions), tokens=tokens, position=encoding)
    return out
