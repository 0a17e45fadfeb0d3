"""Checks of blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.block.base import Block, LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, has_shape, largest, must, refusal, same
from zoo.conformance.check import check
from zoo.conformance.modules import DROPOUT
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.reference import ReferenceEncoding
from zoo.conformance.setup import (
    BATCH,
    DIM,
    HEADS,
    LAST,
    LONG,
    PLACE,
    Case,
    Draw,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    perturb,
    with_garbage,
)
from zoo.conformance.training import DRAWS, LITTLE_DROPOUT, same_scale
from zoo.models.key_value_cache import KeyValues
from zoo.models.seeding import seeded

LENGTH = 6
# Copies of a batch whose dropout is drawn at once; a whole layer may be dropped for all of them.
FEW = 5


class BlockSetup(ModuleSetup, kind="block"):
    """Builds ``Block(attention, ffn, norm, dropout=, cross=)`` from plain parts."""

    passes = ("attention", "ffn", "norm", "dropout", "cross", "make_ffn", *PLACE)
    contract = Block

    def make(
        self,
        dropout: float = 0.0,
        *,
        ffn: bool = True,
        cross: bool = False,
        norm: Callable[[], nn.Module] | None = None,
    ) -> Any:
        """Of plain parts, or without some of them."""

        def make_ffn() -> PlainFFN | None:
            return PlainFFN(self.dim) if ffn else None

        attention = Split(self.dim, self.heads)
        return self.choice.build(
            attention,
            make_ffn(),
            norm or (lambda: nn.LayerNorm(self.dim)),
            dropout=dropout,
            offered={**self.place, "make_ffn": make_ffn},
            **({"cross": Split(self.dim, self.heads)} if cross else {}),
        )

    def block(self, *, silent: bool = False, **options: Any) -> Any:
        """What ``make`` makes, in float64 and evaluation mode.

        silent: with sub-layers that give zeros, and the block's own weights as initialised.
        """
        with seeded(self.settings.seed, "checks/build"):
            block = self.make(**options)
            if not silent:
                perturb(block)
        for module in block.modules() if silent else ():
            part = module.out if isinstance(module, Split) else module
            if isinstance(module, Split | PlainFFN):
                for parameter in part.parameters():
                    nn.init.zeros_(parameter)
        block.register_forward_pre_hook(_new_pass)
        return block.double().eval()

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, padded = draw(length, self.dim), padded_tokens(length, draw.texts)
        return [
            self.case("padded", x, padded),
            self.case("causal", x, padded, causal=True),
            self.case("few rows", x, padded, (len(x), 2, self.dim), read=slice(1, 3)),
        ]

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """In a layer with an encoding."""
        out: Tensor = module(x, context_of(tokens, heads=self.heads, **more))
        return out

    @property
    def causal_or_not(self) -> tuple[bool, ...]:
        """Causal or not is the attention's affair."""
        return (False, True)


def _new_pass(block: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What layers leave for later ones is of one pass: no other call of a check sees it."""
    x, context = args
    return x, replace(context, shared={})


class PlainFFN(nn.Module):
    """A feed-forward network that is smooth everywhere, and knows the length of its input."""

    def __init__(self, dim: int = DIM) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 2 * dim), nn.Tanh(), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor, layer: LayerContext) -> Any:
        tokens = layer.tokens.positions.shape[-1]
        what = f"a feed-forward network is given {x.shape[1]} positions, and a context of {tokens}"
        hint = "one before the attention is called with replace(layer, read=None)"
        must(x.shape[1] == tokens, f"{what}: {hint}")
        return self.layers(x)


def context_of(tokens: Tokens | None = None, *, heads: int = HEADS, **more: Any) -> LayerContext:
    """With an encoding that rotates and adds a bias; by default of whole texts."""
    encoding = ReferenceEncoding(rotates=True, biases=True, heads=heads)
    return LayerContext(tokens or Tokens.whole(LENGTH), encoding, **more)


@check("block")
def dropout_scale(setup: BlockSetup) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""

    # Layers may be dropped by chance too, the last one most often.
    setup.place = LAST

    def build_and_call(silent: bool = False) -> tuple[Block, Tensor]:
        # One sub-layer and no norm: what follows the dropout is linear.
        block = setup.block(ffn=False, norm=nn.Identity, silent=silent, dropout=LITTLE_DROPOUT)
        return block, block(x, context_of()).detach()

    x = setup.text(LENGTH).repeat(FEW, 1, 1)
    residual = build_and_call(silent=True)[1]
    block, expected = build_and_call()
    block.train()
    with torch.no_grad():
        draws = [block(x, context_of()) - residual for _ in range(DRAWS // FEW)]
    same_scale(torch.stack(draws).mean(0), expected - residual)


@check("block")
def norms_apart(setup: BlockSetup) -> None:
    """No norm normalises the inputs of two sub-layers, or the block has none at all."""
    made: list[nn.Module] = []
    inputs: dict[nn.Module, list[Tensor]] = {}

    def seen(norm: nn.Module, given: tuple[Tensor, ...]) -> None:
        known = inputs.setdefault(norm, [])
        if not any(given[0].equal(x) for x in known):
            known.append(given[0])

    def norm() -> nn.Module:
        made.append(nn.LayerNorm(DIM))
        made[-1].register_forward_pre_hook(seen)
        return made[-1]

    for cross in (False, True) if setup.can("cross") else (False,):
        made.clear()
        inputs.clear()
        block = setup.block(norm=norm, cross=cross)
        if not block.normed:
            must(not made, f"normed is False, yet norm() was called {len(made)} times")
        memory = setup.normal(BATCH, LENGTH, DIM, seed=1)
        more: dict[str, Any] = {"memory": memory, "memory_tokens": Tokens.whole(LENGTH)}
        block(setup.text(LENGTH), context_of(**more if cross else {}))
        most = max(map(len, inputs.values()), default=0)
        what = f"a norm is called for {most} different inputs in one pass"
        must(most < 2, f"{what}: norm() was called {len(made)} times, once for each norm")


@check("block", needs="cross")
def memory(setup: BlockSetup) -> None:
    """With cross-attention it reads a memory of any length, ignores its padding, and needs one."""
    block, x = setup.block(cross=True), setup.text(LENGTH)
    encoded, tokens = setup.normal(BATCH, 9, DIM, seed=1), padded_tokens(9)

    def read(by: Block, memory: Tensor = encoded, its: Tokens = tokens, **more: Any) -> Tensor:
        out: Tensor = by(x, context_of(memory=memory, memory_tokens=its, **more))
        return out

    out = read(block)
    has_shape(out, x.shape, "output")
    dropping = setup.block(cross=True, dropout=DROPOUT)
    close(read(dropping), out, "evaluation with dropout set")
    differ(read(block, encoded + 1), out, "changing the memory")
    dirty = read(block, with_garbage(encoded, padded_mask(9)))
    close(dirty, out, "the output with other values in the memory's padding")
    filled = KeyValues()
    for what, rows in (("first filled", slice(None)), ("read again", slice(0, 0))):
        again = read(block, encoded[:, rows], tokens[rows], memory_cache=filled)
        must(filled.used, "the memory's cache is never used")
        close(again, out, f"the output with the memory's cache, {what}")
    rows = slice(2, 5)
    close(read(block, read=rows), out[:, rows], f"rows {rows} with a memory")
    error = refusal(lambda: block(x, context_of()), (ValueError,))
    must(error is not None, "a block with cross-attention accepts a call without a memory")


@check("block", unless="cross")
def undeclared(setup: BlockSetup) -> None:
    """Not declaring `cross`, it refuses a cross-attention instead of ignoring it."""
    error = refusal(lambda: setup.block(cross=True))
    must(error is not None, "takes a cross-attention, though it does not declare 'cross'")


@check("block")
def residual(setup: BlockSetup) -> None:
    """If `residual` is declared, and only then, its own input is added, and never dropped."""
    x = setup.text(LENGTH)
    out = setup.block(norm=nn.Identity, silent=True)(x, context_of()).detach()
    if not setup.can("residual"):
        scale = float((out * x).sum() / x.square().sum())
        passes = scale > 0.01 and largest(out - scale * x) < 1e-9
        must(not passes, "the input passes: it must declare 'residual'")
        return
    # Up to a factor, because some blocks weight the branches, and mostly, because a block may
    # have a network of its own.
    likeness = float(nn.functional.cosine_similarity(out.flatten(), x.flatten(), dim=0))
    what = f"the cosine of input and output is {likeness:.3g} where the sub-layers give zeros"
    must(likeness > 0.5, f"declares 'residual', yet the input does not pass: {what}")
    block = setup.block(norm=nn.Identity, silent=True, dropout=DROPOUT)
    share = float((block.train()(x, context_of()) == 0).double().mean())
    what = f"{share:.0%} of the output's entries are dropped where the sub-layers give zeros"
    must(share < 0.05, f"{what}: drop before adding x")


def _growth(block: Any, x: Tensor) -> float:
    """How much a thousand times the input is in the output."""
    small, large = (float(block(f * x, context_of()).detach().std()) for f in (1, 1000))
    return large / small


@check("block")
def final_norm(setup: BlockSetup) -> None:
    """`final_norm` is True where the output grows with the input; with `residual` it then does."""
    if not any(isinstance(module, nn.LayerNorm) for module in setup.block().modules()):
        raise CheckSkipped("it has no norms")
    block, x, growths = setup.block(), setup.text(LENGTH), []
    growth = _growth(block, x)
    what = f"a thousand times the input gives {growth:.3g} times the output"
    must(growth < 10 or block.final_norm, f"{what}, and final_norm is False")
    for place in (PLACE, LAST) if setup.can("residual") else ():
        setup.place = place  # some blocks arrange the first layers otherwise
        silent = setup.block(silent=True)
        if silent.final_norm and silent.normed:
            growths.append(_growth(silent, x))
    what = f"a thousand times the input gives {max(growths, default=0):.3g} times the output"
    must(not growths or max(growths) > 10, f"{what}: add x itself, not norm(x)")


@check("block")
def norms_output_untouched(setup: BlockSetup) -> None:
    """What a norm gives is not changed in place: the norm 'none' gives the hidden states."""
    x = setup.text(LENGTH)
    before = x.clone()
    for setup.place in (PLACE, LAST):
        with torch.no_grad():
            setup.block(norm=nn.Identity)(x, context_of())
        same(x, before, "the input after a call of a block without norms")


@check("block")
def few_rows(setup: BlockSetup) -> None:
    """Asked for a few rows of a long text, it gives what it does for all; an encoding acts."""
    block, x = setup.block(), setup.normal(1, LONG, DIM)
    for causal in (False, True):
        layer = context_of(Tokens.whole(LONG), causal=causal)
        out, few = block(x, layer), block(x, replace(layer, read=slice(150, 152)))
        close(few, out[:, 150:152], f"rows 150 and 151{', causal' * causal}")
        plain = replace(layer, position=ReferenceEncoding())
        differ(block(x, plain), out, "the output with and without an encoding")
