"""Checks of blocks."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.base import REFUSALS, check, needs, unless
from zoo.conformance.compare import close, differ, largest, must
from zoo.conformance.probes import GrowingCache, Probe
from zoo.conformance.purity import DRAWS, DROPOUT, fair_share
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.base import DIM, normal
from zoo.conformance.setups.block import BATCH, BlockRig, scene_of, texts_of

LENGTH = 6


@check("block")
def few_rows(rig: BlockRig) -> None:
    """Asked for some rows, it gives those rows of what it gives for all."""
    block, x, scene = rig.block(), texts_of(rig, LENGTH), scene_of(LENGTH)
    whole = block(x, scene)
    for rows in (slice(0, 1), slice(2, 5)):
        close(block(x, replace(scene, read=rows)), whole[:, rows], f"rows {rows}")


@check("block")
def scene(rig: BlockRig) -> None:
    """Padding, the encoding and the causal mask reach the attention."""
    block, x = rig.block(), texts_of(rig, LENGTH)
    tokens = padded_tokens(LENGTH)
    assert tokens.attention_mask is not None
    real = tokens.attention_mask
    padded = replace(scene_of(LENGTH), tokens=tokens)
    spoilt = torch.where(real[..., None], x, 100 * torch.randn_like(x))
    out = block(x, padded)
    close(block(spoilt, padded)[real], out[real], "real rows with other garbage in padding")

    encoded, plain = scene_of(LENGTH), LayerContext(Tokens.whole(LENGTH), Probe())
    differ(block(x, encoded), block(x, plain), "the output with and without an encoding")
    causal = replace(encoded, causal=True)
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    past = block(x, causal)[:, :3]
    close(block(changed, causal)[:, :3], past, "causal: rows 0 to 2 after changing the rest")


@check("block")
def cache(rig: BlockRig) -> None:
    """A cache reaches the attention: step by step equals the causal pass over the whole text."""
    block, x = rig.block(), texts_of(rig, LENGTH)
    causal = scene_of(LENGTH, causal=True)
    store = GrowingCache()
    steps = []
    for t in range(LENGTH):
        now = slice(t, t + 1)
        here = replace(causal, tokens=causal.tokens[now], cache=store)
        steps.append(block(x[:, now], here))
    must(store.kept is not None, "the cache is never used")
    close(torch.cat(steps, dim=1), block(x, causal), "step by step")


@check("block")
def residual(rig: BlockRig) -> None:
    """Where `residual` is declared, and only there, the input passes around silent sub-layers."""
    block = rig.block(norm=nn.Identity, silent=True)
    x = texts_of(rig, LENGTH)
    out = block(x, scene_of(LENGTH))
    # Up to a factor: some blocks weigh the two branches.
    scale = float((out * x).detach().sum() / (x * x).sum())
    passes = scale > 0.01 and largest(out - scale * x) < 1e-9
    must(
        passes or not rig.choice.can("residual"),
        f"declares 'residual', yet the input does not pass: it is off by {largest(out - x):.3g}",
    )
    must(rig.choice.can("residual") or not passes, "the input passes: it must declare 'residual'")


@check("block")
def dropout_scale(rig: BlockRig) -> None:
    """Dropout makes up for what it drops: on the average, training gives what evaluation does."""

    def passed(silent: bool = False) -> tuple[Block, Tensor]:
        # One sub-layer and no norm, so that the average passes through all that comes after.
        block = rig.block(ffn=False, norm=nn.Identity, silent=silent, dropout=DROPOUT)
        return block, block(x, scene_of(LENGTH)).detach()

    x = texts_of(rig, LENGTH)
    around = passed(silent=True)[1]
    block, expected = passed()
    block.train()
    with torch.no_grad():
        draws = [block(x, scene_of(LENGTH)) - around for _ in range(DRAWS)]
    fair_share(torch.stack(draws).mean(0), expected - around)


@check("block")
def final_norm(rig: BlockRig) -> None:
    """Where its output grows with its input, it asks for a final norm after the stack."""
    block = rig.block()
    x = texts_of(rig, LENGTH)
    small, large = (float(block(f * x, scene_of(LENGTH)).detach().std()) for f in (1, 1000))
    growth = large / small
    must(
        growth < 10 or block.final_norm,
        f"a thousand times the input gives {growth:.3g} times the output, and final_norm is False",
    )


@check("block")
def norms_apart(rig: BlockRig) -> None:
    """Each sub-layer has a norm of its own."""
    made: list[nn.Module] = []

    def norm() -> nn.Module:
        made.append(nn.LayerNorm(DIM))
        return made[-1]

    block = rig.block(norm=norm)
    kept = [module for module in made if any(module is m for m in block.modules())]
    must(
        len(kept) >= 2, f"{len(kept)} norm for two sub-layers: norm() was called {len(made)} times"
    )


@check("block")
def no_ffn(rig: BlockRig) -> None:
    """Without a feed-forward network it is a layer of attention alone."""
    block = rig.block(ffn=False)
    out = block(texts_of(rig, LENGTH), scene_of(LENGTH))
    must(tuple(out.shape) == (BATCH, LENGTH, DIM), f"shape {tuple(out.shape)}")


@check("block", applies=needs("cross"))
def memory(rig: BlockRig) -> None:
    """With cross-attention it reads a memory of any length, honours its padding, and needs one."""
    block = rig.block(cross=True)
    x = texts_of(rig, LENGTH)
    seen = normal(rig.generator(1), BATCH, 9, DIM)
    tokens = padded_tokens(9)
    assert tokens.attention_mask is not None

    def read(memory: Tensor) -> Tensor:
        out: Tensor = block(x, scene_of(LENGTH, memory=memory, memory_tokens=tokens))
        return out

    out = read(seen)
    must(tuple(out.shape) == tuple(x.shape), f"shape {tuple(out.shape)}")
    differ(read(seen + 1), out, "changing the memory")
    spoilt = torch.where(tokens.attention_mask[..., None], seen, 100 * torch.randn_like(seen))
    close(read(spoilt), out, "the output with other garbage in the memory's padding")
    store = GrowingCache()
    for what, rows in (("first filled", slice(None)), ("read again", slice(0, 0))):
        new = {"memory": seen[:, rows], "memory_tokens": tokens[rows], "memory_cache": store}
        again = block(x, scene_of(LENGTH, **new))
        must(store.kept is not None, "the memory's cache is never used")
        close(again, out, f"the output with the memory's cache, {what}")
    try:
        block(x, scene_of(LENGTH))
    except ValueError:
        return
    must(False, "a block with cross-attention takes no memory for an answer")


@check("block", applies=unless("cross"))
def undeclared(rig: BlockRig) -> None:
    """Not declaring `cross`, it refuses a cross-attention instead of ignoring it."""
    try:
        rig.block(cross=True)
    except REFUSALS:
        return
    must(False, "takes a cross-attention, though it does not declare 'cross'")
