"""Checks of the small parts: norms, feed-forward networks and pools."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, finite, has_shape, must
from zoo.conformance.check import check
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.setup import (
    BATCH,
    DIM,
    GARBAGE,
    HEADS,
    HIDDEN,
    LONG,
    PLACE,
    Case,
    Draw,
    ModuleSetup,
    first_layer,
    padded_tokens,
)
from zoo.registry import Choice

STATISTICS = ("unit-rms", "unit-variance", "unbiased")
# A norm's epsilon matters, so its claims hold to some 1e-4 for inputs of the order of one.
NEAR = 1e-4
LENGTH = 7


class NormSetup(ModuleSetup, kind="norm"):
    """Builds ``Norm(dim)``."""

    passes: ClassVar[tuple[str, ...]] = ("dim", *PLACE)
    contract: ClassVar[Any] = nn.Module
    lonely = " (a norm takes each token by itself)"

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim, offered=self.place)

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """Of x alone."""
        out: Tensor = module(x)
        return out

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        return [self.case("plain", 1 + 2 * draw(length, self.dim), Tokens.whole(length))]


class FFNSetup(NormSetup, kind="ffn"):
    """Builds ``FFN(dim, hidden, dropout)``; None is a layer without a feed-forward network."""

    passes = ("dim", "hidden", "dropout", *PLACE)
    contract = nn.Module | None

    @property
    def lonely(self) -> str:  # type: ignore[override]
        """Why a token must not depend on others, where it must not."""
        return (
            "" if self.can("neighbours") else " (one that reads other tokens declares 'neighbours')"
        )

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """In a layer with these tokens."""
        out: Tensor = module(x, first_layer(tokens, **more))
        return out

    def padded_sides(self, module: Any) -> tuple[str, ...]:
        """A network that reads neighbours may count from either side."""
        return ("right", "left")

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim, self.hidden, dropout, offered=self.place)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, padded = 1 + 2 * draw(length, self.dim), padded_tokens(length, draw.texts)
        cases = [self.case("plain", x, Tokens.whole(length)), self.case("padded", x, padded)]
        if self.can("causal"):
            cases.append(self.case("causal", x, padded, causal=True))
        return cases


class PoolSetup(ModuleSetup, kind="pool"):
    """Builds ``Pool(dim)`` and calls it with and without a mask."""

    passes = ("dim",)
    contract = Pool
    per_text = True

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """Of x and its mask."""
        out: Tensor = module(x, tokens.attention_mask)
        return out

    def dirty(self, x: Tensor, real: Tensor) -> list[tuple[Tensor, str]]:
        """Infinities too: they must be left out, not multiplied by zero."""
        padding = ~real[..., None]
        return [(x.masked_fill(padding, v), str(v)) for v in (torch.nan, torch.inf, GARBAGE)]

    def padded_sides(self, module: Any) -> tuple[str, ...]:
        """Left too, where it reads every row."""
        return ("right", "left") if module.reads is None else ("right",)

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x = draw(length, self.dim)
        tokens = {"plain": Tokens.whole(length), "padded": padded_tokens(length, draw.texts)}
        return [self.case(name, x, its, (len(x), self.width)) for name, its in tokens.items()]

    @cached_property
    def width(self) -> int:
        """The width of its output."""
        own = getattr(self.build(), "width", None)
        return self.dim if own is None else int(own)


def _of_known_statistics(choice: Choice) -> str | None:
    if any(choice.can(capability) for capability in STATISTICS):
        return None
    return "it declares none of " + ", ".join(map(repr, STATISTICS))


@check("norm", needs="scale-invariant")
def scale_invariance(setup: NormSetup) -> None:
    """Scaling the input changes nothing."""
    module = setup.build()
    x = 1 + 2 * setup.normal(3, 4, DIM)
    out = module(x)
    for factor in (3.0, 1000.0):
        close(module(factor * x), out, f"output for {factor:g} times the input", tolerance=NEAR)


@check("norm", applies=_of_known_statistics)
def statistics(setup: NormSetup) -> None:
    """A newly built norm's outputs have the mean, variance or mean square that it declares."""
    module = setup.build(jitter=0)
    out = module(1 + 2 * setup.normal(3, 4, DIM))
    one = torch.ones(out.shape[:-1], dtype=out.dtype)
    if setup.can("unit-rms"):
        close(out.square().mean(-1), one, "mean square", tolerance=NEAR)
    for capability, correction, what in (
        ("unit-variance", 0, "variance over D"),
        ("unbiased", 1, "variance over D - 1"),
    ):
        if setup.can(capability):
            close(out.mean(-1), 0 * one, "mean", tolerance=NEAR)
            close(out.var(-1, correction=correction), one, what, tolerance=NEAR)


@check("norm")
def constant_input(setup: NormSetup) -> None:
    """A vector of zeros, or of one number, gives a finite output and a finite gradient."""
    module = setup.build()
    for value, shape in itertools.product((0.0, 3.0), ((1, 2, DIM), (DIM,))):
        x = torch.full(shape, value, dtype=torch.float64, requires_grad=True)
        out = module(x)
        has_shape(out, shape, "output")
        finite(out, f"output for a vector of {value:g}")
        (gradient,) = torch.autograd.grad(out.sum(), x)
        finite(gradient, f"gradient for a vector of {value:g}")


@check("ffn", needs="gated")
def parameter_count(setup: FFNSetup) -> None:
    """With default parameters, a gated one has as many weights as a plain one."""
    # A parameter may make it wider, which is then what the user wants.
    count = sum(parameter.numel() for parameter in setup.given().build().parameters())
    plain = 2 * DIM * HIDDEN
    # There may be biases and some weights more; a third matrix as wide is half as many again.
    slack = plain // 4
    what = f"{count} parameters, where a plain one has {plain} without biases"
    must(abs(count - plain) <= slack, f"{what} and {slack} more or less are allowed")


@check("norm")
def large_mean(setup: NormSetup) -> None:
    """In float32, a mean a thousand times the deviation leaves the output right."""
    x = (1000 + setup.normal(BATCH, LONG, DIM)).float()
    found, expected = setup.build(torch.float32)(x), setup.build()(x.double())
    close(found, expected, "output for numbers near 1000", tolerance=1e-2)


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


@check("ffn")
def matrices_learn(setup: FFNSetup) -> None:
    """Every weight matrix gets gradients in more than one direction."""
    module = setup.build()
    matrices = {n: p for n, p in module.named_parameters() if p.dim() > 1 and p.requires_grad}
    found: list[dict[str, Tensor]] = []
    for seed in (1, 2):
        case = setup.cases(seed=seed, length=40)[0]
        out = case(module)
        total = (out * torch.randn_like(out)).sum()
        slopes = torch.autograd.grad(total, list(matrices.values()), materialize_grads=True)
        found.append({name: s.flatten() for name, s in zip(matrices, slopes, strict=True)})
    scale = max((float(s.norm()) for s in found[0].values()), default=0.0)
    for name, one in found[0].items():
        other = found[1][name]
        what = f"the gradient of {name} is zero but for rounding"
        must(float(one.norm()) > 1e-12 * scale, what)
        parallel = float(torch.cosine_similarity(one, other, dim=0).abs())
        what = f"gradients of {name} for two inputs are multiples of each other"
        must(parallel < 1 - 1e-7, f"{what}: its entries cannot learn apart")


@check("pool")
def reads(setup: PoolSetup) -> None:
    """It reads the rows that `reads` gives and no others; all rows where that is None."""
    pool = setup.build()
    # Many texts, so that for a max pool every row is the greatest in some.
    x = setup.normal(50, LENGTH, DIM).requires_grad_()
    out = pool(x, None)
    # Several lengths, so that a pool of the last token reads every row in some text.
    lengths = 1 + torch.arange(len(x)) % LENGTH
    total = out.sin().sum()
    if pool.reads is None:
        total = total + pool(x, torch.arange(LENGTH) < lengths[:, None]).sin().sum()
    (gradient,) = torch.autograd.grad(total, x)
    read = gradient.abs().amax(dim=(0, 2)) > 0  # (L)
    declared = torch.zeros(LENGTH, dtype=torch.bool)
    declared[slice(None) if pool.reads is None else pool.reads] = True
    extra, missed = (
        rows.nonzero().flatten().tolist() for rows in (read & ~declared, declared & ~read)
    )
    must(not extra, f"reads rows {extra}, though reads = {pool.reads}")
    must(not missed, f"does not read rows {missed}, though reads = {pool.reads}")
    if pool.reads is not None:
        close(pool(x[:, pool.reads], None), out, f"output from the rows {pool.reads} alone")


@check("pool", needs="first")
def first(setup: PoolSetup) -> None:
    """With `first`, `reads` is the first position, so that the last layer need give no other."""
    reads = setup.build().reads
    must(reads == slice(0, 1), f"reads = {reads} instead of slice(0, 1)")
