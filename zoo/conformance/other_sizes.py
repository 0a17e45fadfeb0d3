"""Checks at other widths, numbers of heads and lengths than those of all other checks."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, has_shape, must
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.pe import EncodingSetup, as_scores, content_scores
from zoo.conformance.pool import PoolSetup
from zoo.conformance.position_wise import FFNSetup, NormSetup, feed
from zoo.conformance.setup import (
    BATCH,
    DIM,
    HEADS,
    HIDDEN,
    PLACE,
    ModuleSetup,
    padded_mask,
    unpadded,
)
from zoo.models.seeding import seeded
from zoo.registry import AXES

# Width, heads, hidden: as many heads as texts, one head, and a number of heads above the batch's.
OTHERS = ((24, BATCH, 20), (12, 1, 30), (40, 5, 96))
LONG = 300
# On both sides of the sizes that tables and kernels usually have.
SOME = [0, 63, 64, 127, 128, 255, 256, LONG - 1]


@check(*AXES)
def sizes(setup: ModuleSetup) -> None:
    """At other widths and numbers of heads, one too, a text gives the same alone as in a batch."""
    refusals = []
    for dim, heads, hidden in OTHERS:
        other = setup.at(dim, heads, hidden)
        try:
            module = other.build()
        except ValueError as error:
            refusals.append(str(error))
            continue
        for length in (max(3, heads), dim // heads):  # a length that equals another size
            for text in range(BATCH):
                alone = other.cases(length=length, texts=slice(text, text + 1))
                for case, single in zip(other.cases(length=length), alone, strict=True):
                    what = f"width {dim}, {heads} heads, {length} tokens, {case.name}"
                    out = case(module)
                    has_shape(out, case.shape, what)
                    if out.shape[0] == case.inputs[0].shape[0] and case.name[:4] != "bias":
                        one = single(module)
                        close(one, out[text : text + 1], f"{what}: text {text} alone")
    if len(refusals) == len(OTHERS):
        raise CheckSkipped(f"it refuses all other sizes that are tried: {refusals[0]}")


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


@check("ffn")
def hidden(setup: FFNSetup) -> None:
    """A larger `hidden` gives more weights, so that models can be made of one size."""
    counts = [
        sum(weight.numel() for weight in setup.at(DIM, HEADS, width).build().parameters())
        for width in (HIDDEN, 3 * HIDDEN)
    ]
    if not any(counts):
        raise CheckSkipped("it has no weights")
    what = f"{counts[0]} weights with hidden={HIDDEN} and {counts[1]} with hidden={3 * HIDDEN}"
    must(counts[0] < counts[1], f"{what}: use `hidden`")


@check("norm", "ffn", name="long-input")
def long_rows(setup: NormSetup) -> None:
    """In a text of hundreds of tokens, each is computed as in a short one."""
    module, x = setup.build(), setup.normal(BATCH, LONG, DIM)
    if setup.can("neighbours"):
        real = padded_mask(LONG)
        out = feed(module, x, Tokens(real, torch.arange(LONG)))
        for text, alone in unpadded(x, real):
            close(out[text, real[text]], feed(module, alone)[0], f"text {text} against unpadded")
        return
    close(feed(module, x)[:, SOME], feed(module, x[:, SOME]), f"tokens {SOME} by themselves")


@check("pool", name="long-input")
def long_text(setup: PoolSetup) -> None:
    """In a text of hundreds of tokens, padding is not read."""
    pool, x, real = setup.build(), setup.normal(BATCH, LONG, DIM), padded_mask(LONG)
    out = pool(x, real)
    for text, alone in unpadded(x, real):
        close(out[text], pool(alone, None)[0], f"text {text} of {LONG} tokens against unpadded")


@check("pe", name="long-input")
def long_positions(setup: EncodingSetup) -> None:
    """In a text of hundreds of tokens, each position gives what it gives among few."""
    encoding, every, some = setup.build(), torch.arange(LONG), torch.tensor(SOME)
    x, heads = setup.normal(1, LONG, DIM), setup.normal(1, HEADS, LONG, DIM // HEADS)
    close(encoding.embed(x, every)[:, SOME], encoding.embed(x[:, SOME], some), "embed")
    for rotate in (encoding.rotate, encoding.rotate_keys):
        few = rotate(heads[..., SOME, :], some)
        close(rotate(heads, every)[..., SOME, :], few, f"rotation at positions {SOME}")
    full, few = as_scores(encoding, every), some[2:5]  # neither the first nor the last positions
    close(as_scores(encoding, some), full[..., some, :][..., some], f"bias at positions {SOME}")
    what = f"bias of queries {few.tolist()}"
    close(as_scores(encoding, few, every), full[..., few, :], what)
    close(as_scores(encoding, every, few), full[..., few], what.replace("queries", "keys"))
