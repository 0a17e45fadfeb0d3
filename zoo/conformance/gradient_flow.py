"""Checks of gradients against finite differences: with dropout, and of what an encoding learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
from zoo.conformance.assertions import must
from zoo.conformance.attention import AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.modules import DROPOUT, MODULES, of_modules
from zoo.conformance.position_wise import FFNSetup
from zoo.conformance.reference import ContentBias, ReferenceEncoding
from zoo.conformance.setup import BATCH, DIM, ModuleSetup
from zoo.registry import AXES

STEP, TOLERANCE = 1e-8, 1e-4  # a small step seldom meets a kink, as of an absolute value
# Gradients of one weight matrix for two inputs are no multiples of each other.
PARALLEL = 1 - 1e-7
LONG = 140  # more than the chunks that recurrences are computed in


class Learned(PositionalEncoding):
    """The reference encoding times a number that is learned."""

    def __init__(self, heads: int) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.plain = ReferenceEncoding(True, True, heads=heads)
        self.gain = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))


class LearnedRotation(Learned):
    """Its rotation alone."""

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, H, L, Dh) rotated and scaled."""
        return self.gain * self.plain.rotate(x, positions)


class LearnedBias(Learned):
    """Its bias alone."""

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """(…, H, Lq, Lk)."""
        return self.gain * cast(Tensor, self.plain.bias(q_positions, k_positions))


class LearnedContentBias(Learned):
    """The bias made of queries and keys alone."""

    def content_bias(self, q: Tensor, k: Tensor, *rest: Any) -> Tensor | None:
        """(B, H, Lq, Lk)."""
        return self.gain * ContentBias().content_bias(q, k, *rest)


LEARNED = {"rotate": LearnedRotation, "bias": LearnedBias, "content-bias": LearnedContentBias}


@check("attention")
def encoding_learns(setup: AttentionSetup) -> None:
    """What an encoding learns gets its gradient through every slot that the attention declares."""
    module, x = setup.build(), setup.normal(BATCH, 6, DIM)
    for slot, encoding in LEARNED.items():
        if setup.can(slot):
            position = encoding(module.heads)

            def call(position: PositionalEncoding = position) -> Tensor:
                return attend(module, x, position=position)

            agrees(call, [position.gain], f"a number that the encoding learns, by {slot!r}")


@check(*MODULES, applies=of_modules, unless="surrogate")
def gradients_in_training(setup: ModuleSetup) -> None:
    """In training, with dropout, gradients are those of the output that was given."""
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0).train()
    parameters = [p for p in module.parameters() if p.requires_grad]
    for case in setup.cases():
        inputs = case.leaves()

        def call() -> Tensor:
            torch.manual_seed(setup.settings.seed)  # the same dropout every time
            return case.call(module, *inputs)  # noqa: B023 - called at once

        agrees(call, [*(x for x in inputs if x.requires_grad), *parameters], case.name)


@check(*AXES, unless="surrogate")  # baselines are built for a length
def long_gradients(setup: ModuleSetup) -> None:
    """In a long text too, gradients are those of finite differences."""
    module = setup.build()
    parameters = [p for p in module.parameters() if p.requires_grad]
    for case in setup.cases(length=LONG)[-2:]:
        inputs = case.leaves()

        def call() -> Tensor:
            return case.call(module, *inputs)  # noqa: B023 - called at once

        leaves = [*(x for x in inputs if x.requires_grad), *parameters]
        agrees(call, leaves, f"{case.name}, {LONG} tokens")


def agrees(call: Callable[[], Tensor], leaves: Sequence[Tensor], what: str) -> None:
    """Fail unless the slope along a random direction is that of finite differences.

    call: gives an output that depends on the leaves, in float64; they are changed meanwhile.
    """
    out = call()
    factors = torch.randn(out.shape, dtype=out.dtype)
    directions = [torch.randn_like(leaf) for leaf in leaves]
    slopes: Sequence[Tensor] = [torch.zeros_like(leaf) for leaf in leaves]
    if out.requires_grad:
        slopes = torch.autograd.grad((out * factors).sum(), leaves, materialize_grads=True)
    found = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))

    def at(step: float) -> float:
        with torch.no_grad():
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.add_(direction, alpha=step)
            moved = float((call() * factors).sum())
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.sub_(direction, alpha=step)
        return moved

    expected = (at(STEP) - at(-STEP)) / (2 * STEP)
    off = abs(found - expected)
    allowed = TOLERANCE * (1 + abs(expected))
    must(off <= allowed, f"{what}: a slope of {found:.6g}, by finite differences {expected:.6g}")


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
        must(parallel < PARALLEL, f"{what}: its entries cannot learn apart")
