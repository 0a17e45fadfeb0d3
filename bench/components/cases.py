"""What is measured of a component: a call by its contract, and the gradients of that call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.fused import Fused
from zoo.components.ffn.two_layer import GELU
from zoo.components.layer_context import LayerContext
from zoo.components.norm.layer import LayerNorm
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_attention, build_norm, build_position
from zoo.models.seeding import seeded
from zoo.registry import AXES, Choice, Registry

# Not data sets, which compute nothing.
KINDS = (*AXES, "baseline")
CLASSES = 5
VOCAB_SIZE = 1000


@dataclass(frozen=True)
class Scale:
    """The size of a component and of its input."""

    batch: int
    length: int
    sizes: Sizes

    @property
    def description(self) -> str:
        """The sizes as text."""
        return f"{self.batch} × {self.length} tokens of width {self.sizes.dim}"

    @property
    def tokens(self) -> Tokens:
        """Texts from half the length to all of it."""
        lengths = torch.linspace(self.length // 2, self.length, self.batch).round()
        positions = torch.arange(self.length)
        return Tokens(positions < lengths[:, None], positions)


def _scale(batch: int, length: int, dim: int) -> Scale:
    sizes = Sizes(dim=dim, layers=2, heads=4, ffn_dim=4 * dim, max_length=length)
    return Scale(batch, length, sizes)


SCALES = {
    "small": _scale(8, 64, 64),
    "medium": _scale(16, 128, 128),
    "large": _scale(16, 256, 256),
}


class NothingToMeasure(Exception):  # noqa: N818 - not an error
    """The component computes nothing, or refuses these sizes; the message says which."""


@dataclass(frozen=True)
class Case:
    """forward: calls the component. leaves: what gradients are taken of; empty for none."""

    forward: Callable[[], Tensor]
    leaves: tuple[Tensor, ...]

    def backward(self) -> Callable[[], object]:
        """A function that computes the gradients of one forward pass, any number of times."""
        out = self.forward()
        above = torch.randn(out.shape, generator=torch.Generator().manual_seed(3))
        return lambda: torch.autograd.grad(
            out, self.leaves, above, retain_graph=True, allow_unused=True
        )


def choices(registry: Registry) -> Iterator[Choice]:
    """Everything registered that computes."""
    for kind in KINDS:
        for component in registry.components(kind):
            yield registry.example(component)


def make(choice: Choice, scale: Scale) -> Case:
    """The component with weights from a fixed seed; NothingToMeasure where there is nothing."""
    kind = choice.component.kind
    with seeded(0, "bench"):
        try:
            made: Case = globals()[f"_{kind}"](choice, scale)
        except ValueError as refused:
            raise NothingToMeasure(str(refused)) from refused
    return made


def _input(scale: Scale) -> Tensor:
    return torch.randn(scale.batch, scale.length, scale.sizes.dim, requires_grad=True)


def _case(module: nn.Module, forward: Callable[[], Tensor], *inputs: Tensor) -> Case:
    parameters = [p for p in module.parameters() if p.requires_grad]
    return Case(forward, (*inputs, *parameters))


def _attention(choice: Choice, scale: Scale) -> Case:
    x, tokens = _input(scale), scale.tokens
    module = build_attention(choice, scale.sizes, dropout=0.0)
    if not choice.can("padding"):
        tokens = Tokens.whole(scale.length)
    layer = LayerContext(tokens, causal=choice.can("causal-only"))
    return _case(module, lambda: module(x, layer), x)


def _pe(choice: Choice, scale: Scale) -> Case:
    """The slots for embeddings, queries and scores."""
    sizes, positions = scale.sizes, scale.tokens.positions
    attention = Fused(sizes.dim, sizes.heads)
    module = build_position(choice, sizes, attention)
    x = _input(scale)
    q = torch.randn(scale.batch, sizes.heads, scale.length, attention.head_dim, requires_grad=True)

    def forward() -> Tensor:
        parts: list[Tensor | None] = [module.embed(x, positions), module.rotate(q, positions)]
        parts += [
            module.bias(positions, positions),
            module.content_bias(q, q, positions, positions, None),
        ]
        return torch.cat([part.reshape(-1) for part in parts if part is not None])

    return _case(module, forward, x, q)


def _norm(choice: Choice, scale: Scale) -> Case:
    x, module = _input(scale), build_norm(choice, scale.sizes.dim)
    return _case(module, lambda: module(x), x)


def _ffn(choice: Choice, scale: Scale) -> Case:
    x, module = _input(scale), choice.build(scale.sizes.dim, scale.sizes.ffn_dim, 0.0)
    if module is None:
        raise NothingToMeasure("it builds no network")
    layer = LayerContext(scale.tokens)
    return _case(module, lambda: module(x, layer), x)


def _block(choice: Choice, scale: Scale) -> Case:
    """With fused attention, GELU and layer norms."""
    x, sizes = _input(scale), scale.sizes
    module = choice.build(
        Fused(sizes.dim, sizes.heads),
        GELU(sizes.dim, sizes.ffn_dim),
        lambda: LayerNorm(sizes.dim),
        dropout=0.0,
        offered={"make_ffn": lambda: GELU(sizes.dim, sizes.ffn_dim)},
    )
    layer = LayerContext(scale.tokens)
    return _case(module, lambda: module(x, layer), x)


def _pool(choice: Choice, scale: Scale) -> Case:
    x, module = _input(scale), choice.build(scale.sizes.dim)
    reads = module.reads if module.reads is not None else slice(None)
    attention_mask = scale.tokens.attention_mask
    assert attention_mask is not None
    return _case(module, lambda: module(x[:, reads], attention_mask[:, reads]), x)


def _baseline(choice: Choice, scale: Scale) -> Case:
    """A whole classifier on ids; baselines fitted to texts have no forward pass of tensors."""
    if not choice.can("tokens"):
        raise NothingToMeasure("it is fitted, and computes no gradients")
    more: dict[str, Any] = {}
    if choice.can("vocabulary"):
        more["vocabulary"] = [f"piece{number}" for number in range(VOCAB_SIZE)]
    module = choice.build(
        vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=scale.sizes, dropout=0.0, **more
    )
    ids, tokens = torch.randint(1, VOCAB_SIZE, (scale.batch, scale.length)), scale.tokens
    return _case(module, lambda: module(ids, tokens))
