"""Checks of a block's residual, and of what its attention may read."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from zoo.conformance.assertions import close, differ, largest, must, same
from zoo.conformance.block import BlockSetup, context_of
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.modules import DROPOUT
from zoo.conformance.setup import DIM, LAST, PLACE, padded_mask, padded_tokens, unpadded

LONG = 300


@check("block")
def residual(setup: BlockSetup) -> None:
    """If `residual` is declared, and only then, the input is added to the sub-layers' output."""
    x = setup.hidden_states()
    out = setup.block(norm=nn.Identity, silent=True)(x, context_of()).detach()
    if setup.can("residual"):
        # Up to a factor, because some blocks weight the branches, and mostly, because a block may
        # have a network of its own, which is not silent (Macaron).
        likeness = float(nn.functional.cosine_similarity(out.flatten(), x.flatten(), dim=0))
        what = f"the cosine of input and output is {likeness:.3g} where the sub-layers give zeros"
        must(likeness > 0.5, f"declares 'residual', yet the input does not pass: {what}")
        return
    scale = float((out * x).sum() / x.square().sum())
    passes = scale > 0.01 and largest(out - scale * x) < 1e-9
    must(not passes, "the input passes: it must declare 'residual'")


@check("block", needs="residual")
def residual_of_input(setup: BlockSetup) -> None:
    """With a final norm, what is added is the block's input itself, not its normed input."""
    x, growths = setup.hidden_states(), []
    for setup.place in (PLACE, LAST):  # some blocks arrange the first layers otherwise
        block = setup.block(silent=True)
        if not (block.final_norm and block.normed):
            raise CheckSkipped("it has no norm of the stack's to rely on: final_norm is False")
        small, large = (float(block(f * x, context_of()).detach().std()) for f in (1, 1000))
        growths.append(large / small)
    what = f"a thousand times the input gives {max(growths):.3g} times the output"
    must(max(growths) > 10, f"{what}: add x to the sub-layer's output, not norm(x)")


@check("block", needs="residual")
def residual_without_dropout(setup: BlockSetup) -> None:
    """Dropout acts on the sub-layers' outputs, never on the residual."""
    block, x = setup.block(norm=nn.Identity, silent=True, dropout=DROPOUT), setup.hidden_states()
    share = float((block.train()(x, context_of()) == 0).double().mean())
    what = f"{share:.0%} of the output's entries are dropped where the sub-layers give zeros"
    must(share < 0.05, f"{what}: drop before adding x")


@check("block")
def norms_output_untouched(setup: BlockSetup) -> None:
    """What a norm gives is not changed in place: the norm 'none' gives the hidden states."""
    x = setup.hidden_states()
    before = x.clone()
    for setup.place in (PLACE, LAST):
        with torch.no_grad():
            setup.block(norm=nn.Identity)(x, context_of())
        same(x, before, "the input after a call of a block without norms")


@check("block")
def reads_later(setup: BlockSetup) -> None:
    """Where the layer is not causal, a token's output depends on later tokens."""
    block, x = setup.block(), setup.hidden_states()
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    out, again = (block(given, context_of())[:, :3] for given in (x, changed))
    differ(again, out, "rows 0 to 2 after changing the rest")


@check("block")
def long_input(setup: BlockSetup) -> None:
    """In a text of hundreds of tokens too, padding is not read, and few rows are as in all."""
    block, x, real = setup.block(), setup.normal(3, LONG, DIM), padded_mask(LONG)
    for causal in (False, True):
        context = context_of(LONG, causal=causal)
        out = block(x, replace(context, tokens=padded_tokens(LONG)))
        what = f"{LONG} tokens{', causal' * causal}"
        for text, alone in unpadded(x, real):
            expected = block(alone, context_of(alone.shape[1], causal=causal))[0]
            close(out[text, real[text]], expected, f"{what}: text {text} against unpadded")
        few = block(x[:1], replace(context, read=slice(150, 152)))
        close(few, block(x[:1], context)[:, 150:152], f"{what}: rows 150 and 151")
