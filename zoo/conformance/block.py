"""Checks of blocks."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, largest, must
from zoo.conformance.check import REFUSALS, check, needs, unless
from zoo.conformance.purity import DRAWS, DROPOUT, same_scale
from zoo.conformance.reference_parts import GrowingCache, ReferenceEncoding
from zoo.conformance.setups.block_setup import BlockSetup, context_of
from zoo.conformance.setups.setup import BATCH, DIM, normal, padded_mask, padded_tokens

LENGTH = 6


@check("block")
def few_rows(setup: BlockSetup) -> None:
    """Asked for some positions, it gives those rows of its whole output."""
    block, x, context = setup.block(), setup.hidden_states(LENGTH), context_of(LENGTH)
    whole = block(x, context)
    for rows in (slice(0, 1), slice(2, 5)):
        close(block(x, replace(context, read=rows)), whole[:, rows], f"rows {rows}")


@check("block")
def layer_context(setup: BlockSetup) -> None:
    """The attention mask, the encoding and the causal mask reach the attention."""
    block, x = setup.block(), setup.hidden_states(LENGTH)
    tokens, real = padded_tokens(LENGTH), padded_mask(LENGTH)
    padded = replace(context_of(LENGTH), tokens=tokens)
    changed_padding = torch.where(real[..., None], x, 100 * torch.randn_like(x))
    out = block(x, padded)
    close(block(changed_padding, padded)[real], out[real], "real rows with other values in padding")

    encoded, plain = context_of(LENGTH), LayerContext(Tokens.whole(LENGTH), ReferenceEncoding())
    differ(block(x, encoded), block(x, plain), "the output with and without an encoding")
    causal = replace(encoded, causal=True)
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    past = block(x, causal)[:, :3]
    close(block(changed, causal)[:, :3], past, "causal: rows 0 to 2 after changing the rest")


@check("block")
def cache(setup: BlockSetup) -> None:
    """A cache reaches the attention: step by step equals the causal pass over the whole text."""
    block, x = setup.block(), setup.hidden_states(LENGTH)
    causal = context_of(LENGTH, causal=True)
    kept = GrowingCache()
    steps = []
    for t in range(LENGTH):
        now = slice(t, t + 1)
        step = replace(causal, tokens=causal.tokens[now], cache=kept)
        steps.append(block(x[:, now], step))
    must(kept.content is not None, "the cache is never used")
    close(torch.cat(steps, dim=1), block(x, causal), "step by step")


@check("block")
def residual(setup: BlockSetup) -> None:
    """If `residual` is declared, and only then, the input is added to the sub-layers' output."""
    block = setup.block(norm=nn.Identity, silent=True)
    x = setup.hidden_states(LENGTH)
    out = block(x, context_of(LENGTH))
    # Up to a factor: some blocks weight the two branches.
    scale = float((out * x).detach().sum() / (x * x).sum())
    passes = scale > 0.01 and largest(out - scale * x) < 1e-9
    must(
        passes or not setup.can("residual"),
        f"declares 'residual', yet the input does not pass: it is off by {largest(out - x):.3g}",
    )
    must(setup.can("residual") or not passes, "the input passes: it must declare 'residual'")


@check("block")
def dropout_scale(setup: BlockSetup) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""

    def build_and_call(silent: bool = False) -> tuple[Block, Tensor]:
        # One sub-layer and no norm: what follows the dropout is linear.
        block = setup.block(ffn=False, norm=nn.Identity, silent=silent, dropout=DROPOUT)
        return block, block(x, context_of(LENGTH)).detach()

    x = setup.hidden_states(LENGTH)
    residual = build_and_call(silent=True)[1]
    block, expected = build_and_call()
    block.train()
    with torch.no_grad():
        draws = [block(x, context_of(LENGTH)) - residual for _ in range(DRAWS)]
    same_scale(torch.stack(draws).mean(0), expected - residual)


@check("block")
def final_norm(setup: BlockSetup) -> None:
    """If its output grows with its input, `final_norm` is True."""
    block = setup.block()
    x = setup.hidden_states(LENGTH)
    small, large = (float(block(f * x, context_of(LENGTH)).detach().std()) for f in (1, 1000))
    growth = large / small
    must(
        growth < 10 or block.final_norm,
        f"a thousand times the input gives {growth:.3g} times the output, and final_norm is False",
    )


@check("block")
def norms_apart(setup: BlockSetup) -> None:
    """Each sub-layer has a norm of its own."""
    made: list[nn.Module] = []

    def norm() -> nn.Module:
        made.append(nn.LayerNorm(DIM))
        return made[-1]

    block = setup.block(norm=norm)
    used = [module for module in made if any(module is m for m in block.modules())]
    must(
        len(used) >= 2, f"{len(used)} norm for two sub-layers: norm() was called {len(made)} times"
    )


@check("block")
def no_ffn(setup: BlockSetup) -> None:
    """Without a feed-forward network it is a layer of attention only."""
    block = setup.block(ffn=False)
    out = block(setup.hidden_states(LENGTH), context_of(LENGTH))
    must(tuple(out.shape) == (BATCH, LENGTH, DIM), f"shape {tuple(out.shape)}")


@check("block", applies=needs("cross"))
def memory(setup: BlockSetup) -> None:
    """With cross-attention it reads a memory of any length, ignores its padding, and needs one."""
    block = setup.block(cross=True)
    x = setup.hidden_states(LENGTH)
    encoded, tokens = normal(setup.generator(1), BATCH, 9, DIM), padded_tokens(9)

    def read(memory: Tensor) -> Tensor:
        out: Tensor = block(x, context_of(LENGTH, memory=memory, memory_tokens=tokens))
        return out

    out = read(encoded)
    must(tuple(out.shape) == tuple(x.shape), f"shape {tuple(out.shape)}")
    differ(read(encoded + 1), out, "changing the memory")
    changed_padding = torch.where(
        padded_mask(9)[..., None], encoded, 100 * torch.randn_like(encoded)
    )
    close(read(changed_padding), out, "the output with other values in the memory's padding")
    kept = GrowingCache()
    for what, rows in (("first filled", slice(None)), ("read again", slice(0, 0))):
        new = {"memory": encoded[:, rows], "memory_tokens": tokens[rows], "memory_cache": kept}
        again = block(x, context_of(LENGTH, **new))
        must(kept.content is not None, "the memory's cache is never used")
        close(again, out, f"the output with the memory's cache, {what}")
    try:
        block(x, context_of(LENGTH))
    except ValueError:
        return
    must(False, "a block with cross-attention accepts a call without a memory")


@check("block", applies=unless("cross"))
def undeclared(setup: BlockSetup) -> None:
    """Not declaring `cross`, it refuses a cross-attention instead of ignoring it."""
    try:
        setup.block(cross=True)
    except REFUSALS:
        return
    must(False, "takes a cross-attention, though it does not declare 'cross'")
