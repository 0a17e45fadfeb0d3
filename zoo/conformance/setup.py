"""What every set-up offers: the component built in a known state, and cases to call it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import EXACT
from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.conformance.reference import ReferenceEncoding
from zoo.models.seeding import seeded
from zoo.registry import Choice

# All different, √(DIM / HEADS) from HEADS too, so that one used in place of another shows.
BATCH, DIM, HEADS, HIDDEN, MAX_LENGTH = 3, 16, 2, 40, 600
# What every part of a layer is offered when it is built: the first layer, whose parts need nothing
# that an earlier one leaves.
PLACE = {"layer_index": 0, "layer_count": 4}
LAST = {**PLACE, "layer_index": PLACE["layer_count"] - 1}
JITTER, GARBAGE = 0.1, 100.0
LONG = 300  # tokens of a long text
# Tokens of a long text on both sides of the sizes that tables and kernels usually have.
SOME = [0, 63, 64, 127, 128, 255, 256, LONG - 1]


@dataclass(frozen=True)
class Case:
    """One way to call a component.

    inputs: what gradients are taken of. call(module, *inputs) gives the output, which must have
    that shape. fixed: the other tensors that the call reads (mask, positions).
    """

    name: str
    inputs: tuple[Tensor, ...]
    call: Callable[..., Tensor]
    shape: Sequence[int]
    fixed: tuple[Tensor, ...] = ()

    def __call__(self, module: nn.Module) -> Tensor:
        return self.call(module, *self.inputs)

    def leaves(self) -> tuple[Tensor, ...]:
        """Copies of the inputs; those of a floating dtype require a gradient."""
        return tuple(x.clone().requires_grad_(x.is_floating_point()) for x in self.inputs)


@dataclass(frozen=True)
class Draw:
    """Draws the inputs of cases: standard normal numbers for some texts of a batch.

    They are the same ones, rounded, in every dtype, and whichever texts are taken.
    """

    generator: torch.Generator
    dtype: torch.dtype
    texts: slice

    def __call__(self, *shape: int) -> Tensor:
        return self.placed(normal(self.generator, BATCH, *shape)[self.texts].to(self.dtype))

    def placed(self, drawn: Tensor) -> Tensor:
        """What was drawn on the CPU, on the device of all other tensors of the cases."""
        return drawn.to(torch.get_default_device())


class Setup:
    """Builds one choice as its contract says; a subclass is that of its ``kind``.

    passes: names of the arguments that the contract passes to the factory. contract: the type
    that the factory must give. files: the single-file plug-ins in use.
    """

    of_kind: ClassVar[dict[str, type[Setup]]] = {}
    passes: ClassVar[tuple[str, ...]] = ()
    contract: ClassVar[Any] = object

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            Setup.of_kind[kind] = cls

    def __init__(self, choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> None:
        self.choice, self.settings, self.files = choice, settings, files
        self.can = choice.can

    def make(self, dropout: float = 0.0) -> Any:
        """Call the factory with the contract's arguments."""
        return self.choice.build()

    def given(self, **parameters: Any) -> Self:
        """The same set-up with these parameters of the component, and defaults for the others."""
        choice = replace(self.choice, given=parameters)
        return type(self)(choice, self.settings, self.files)


class ModuleSetup(Setup, ABC):
    """For the kinds whose components are torch modules.

    dim, heads, hidden, place: what they are built with. lengths: of the texts that checks of
    padding and the future try. per_text: whether it gives one output a text, not one a token.
    tolerance: of two ways of computing the same. lonely: a hint, where tokens do not mix.
    """

    dim, heads, hidden = DIM, HEADS, HIDDEN
    place: Mapping[str, int] = PLACE
    lengths: ClassVar[tuple[int, ...]] = (6, LONG)
    per_text: ClassVar[bool] = False
    tolerance: ClassVar[float] = EXACT
    lonely = ""

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """What it gives for texts x whose tokens these are; more: of the layer's context."""
        raise NotImplementedError

    def fault(self, module: Any) -> str:
        """The likely cause of what fails; empty where it cannot be told."""
        return ""

    def text(self, length: int, seed: int = 0) -> Tensor:
        """A batch of texts, as ``call`` takes them."""
        return self.normal(BATCH, length, DIM, seed=seed)

    def dirty(self, x: Tensor, real: Tensor) -> list[tuple[Tensor, str]]:
        """The same texts with other padding, and what that is."""
        return [(with_garbage(x, real), "other values")]

    def padded_sides(self, module: Any) -> tuple[str, ...]:
        """Where padding may be."""
        return ("right",)

    @property
    def causal_or_not(self) -> tuple[bool, ...]:
        """The values of ``causal`` that it takes."""
        if self.can("causal-only"):
            return (True,)
        return (False, True) if self.can("causal") else (False,)

    def at(self, dim: int, heads: int, hidden: int = HIDDEN) -> Self:
        """The same set-up for components of other sizes."""
        other = type(self)(self.choice, self.settings, self.files)
        other.dim, other.heads, other.hidden = dim, heads, hidden
        return other

    @property
    def quiet_training(self) -> bool:
        """Whether training without dropout is deterministic."""
        return not self.can("random")

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
        device: str = "cpu",
    ) -> list[Case]:
        """Every way of calling that the declared capabilities allow.

        texts: which examples of the batch; each has the same values whichever are taken.
        device: of all tensors.
        """
        draw = Draw(self.generator(seed), dtype, texts)
        with torch.device(device):
            return self._cases(draw, length)

    @abstractmethod
    def _cases(self, draw: Draw, length: int) -> list[Case]: ...

    def case(
        self, name: str, x: Tensor, tokens: Tokens, shape: Sequence[int] = (), **options: Any
    ) -> Case:
        """``call`` with these arguments; shape: of the output, where it is not that of x."""

        def call(module: nn.Module, x: Tensor) -> Tensor:
            return self.call(module, x, tokens, **options)

        return Case(name, (x,), call, shape or x.shape, token_tensors(tokens))

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: float = JITTER,
    ) -> Any:
        """The component in evaluation mode, its weights drawn from the seed.

        jitter: the size of noise added to every weight, so that no check passes only because one is
        initialised to zero or one. Raises CheckSkipped where the factory gives None and may.
        """
        with seeded(self.settings.seed + seed, "checks/build"):
            module = self.make(dropout)
            if module is None and type(None) in getattr(self.contract, "__args__", ()):
                raise CheckSkipped("it builds nothing, which its kind allows")
            if not isinstance(module, self.contract):
                raise CheckFailed(f"the factory gives a {type(module).__name__}: see 'contract'")
            if jitter:
                perturb(module, jitter)
        return module.to(dtype).eval()

    def generator(self, seed: int = 0) -> torch.Generator:
        """The random generator of all inputs."""
        return torch.Generator().manual_seed(1000 * self.settings.seed + seed + 1)

    def normal(self, *shape: int, seed: int = 0) -> Tensor:
        """Standard normal numbers from a new generator."""
        return normal(self.generator(seed), *shape)


def first_layer(
    tokens: Tokens, position: PositionalEncoding | None = None, **more: Any
) -> LayerContext:
    """The context of the layer at PLACE, without an encoding unless one is given."""
    return LayerContext(
        tokens,
        position or ReferenceEncoding(),
        index=PLACE["layer_index"],
        count=PLACE["layer_count"],
        **more,
    )


def perturb(module: nn.Module, size: float = JITTER) -> None:
    """Add noise to every parameter."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(size * torch.randn(parameter.shape))


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers in float64."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")


def other_values(value: object) -> Iterator[float]:
    """Other values of a parameter, where it is a number or a switch."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (2 * value, value // 2, value + 1) if value else (1,)
    elif isinstance(value, float):
        yield from (value / 2, 2 * value) if value else (0.5,)


def padded_mask(length: int) -> Tensor:
    """The attention mask (B, L) of a full text, one of about half, and one of a single token."""
    return torch.arange(length) < torch.tensor([length, (length + 1) // 2, 1])[:, None]


def padded_tokens(length: int, texts: slice = slice(None)) -> Tokens:
    """Tokens with ``padded_mask``."""
    return Tokens(padded_mask(length)[texts], torch.arange(length))


def token_tensors(tokens: Tokens) -> tuple[Tensor, ...]:
    """The mask, where there is one, and the positions."""
    mask = tokens.attention_mask
    return (tokens.positions,) if mask is None else (mask, tokens.positions)


def unpadded(x: Tensor, real: Tensor) -> Iterator[tuple[int, Tensor]]:
    """The number of each text of x (B, L, ...), and its real tokens alone (1, n, ...)."""
    for text, kept in enumerate(real):
        yield text, x[text : text + 1, kept]


def with_garbage(x: Tensor, real: Tensor) -> Tensor:
    """The same real tokens, with large random values at padded positions."""
    return torch.where(real[..., None], x.detach(), GARBAGE * torch.randn_like(x))
