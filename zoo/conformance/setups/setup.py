"""What every set-up offers: the component built in a known state, and cases to call it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.conformance.check import CheckFailed, CheckSettings, CheckSkipped
from zoo.models.seeding import seeded
from zoo.registry import Choice

# All different, √(DIM / HEADS) from HEADS too, so that one used in place of another shows.
BATCH, DIM, HEADS, HIDDEN, MAX_LENGTH = 3, 16, 2, 40, 600
JITTER = 0.1


@dataclass(frozen=True)
class Case:
    """One way to call a component.

    inputs: what gradients are taken of. call(module, *inputs) gives the output, which must have
    that shape. fixed: the other tensors that the call reads (mask, positions).
    """

    name: str
    inputs: tuple[Tensor, ...]
    call: Callable[..., Tensor]
    shape: tuple[int, ...]
    fixed: tuple[Tensor, ...] = ()

    def __call__(self, module: nn.Module) -> Tensor:
        """The component's output for this case's inputs."""
        return self.call(module, *self.inputs)


class Setup:
    """Builds one choice as its contract says.

    passes: names of the arguments that the contract passes to the factory. contract: the type
    that the factory must give. files: the single-file plug-ins in use.
    """

    passes: ClassVar[tuple[str, ...]] = ()
    contract: ClassVar[Any] = object

    def __init__(self, choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> None:
        self.choice, self.settings, self.files = choice, settings, files

    def can(self, *capabilities: str) -> bool:
        """Whether the choice declares all of these."""
        return self.choice.can(*capabilities)

    def make(self, dropout: float = 0.0) -> Any:
        """Call the factory with the contract's arguments."""
        return self.choice.build()


class ModuleSetup(Setup, ABC):
    """For the kinds whose components are torch modules."""

    takes_dropout: ClassVar[bool] = False
    # Whether training without dropout is deterministic.
    quiet_training: ClassVar[bool] = True

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """Every way of calling that the declared capabilities allow.

        texts: which examples of the batch; each has the same values whichever are taken.
        """
        return self._cases(self.generator(seed), dtype, length, texts)

    @abstractmethod
    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        """The cases, with inputs from the generator."""

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: bool = True,
    ) -> Any:
        """The component in evaluation mode, its weights drawn from the seed.

        jitter: add noise to every weight, so that no check passes only because a weight is
        initialised to zero or one. Raises CheckSkipped where the factory gives None and may.
        """
        with seeded(self.settings.seed + seed, "checks/build"):
            module = self.make(dropout)
            if module is None and type(None) in getattr(self.contract, "__args__", ()):
                raise CheckSkipped("it builds nothing, which its kind allows")
            if not isinstance(module, self.contract):
                raise CheckFailed(f"the factory gives a {type(module).__name__}: see 'contract'")
            if jitter:
                perturb(module)
        return module.to(dtype).eval()

    def generator(self, seed: int) -> torch.Generator:
        """The random generator of all inputs."""
        return torch.Generator().manual_seed(1000 * self.settings.seed + seed + 1)


def perturb(module: nn.Module) -> None:
    """Add noise to every parameter."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(JITTER * torch.randn(parameter.shape))


def normal(generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers; the same ones, rounded, in every dtype."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def padded_mask(length: int) -> Tensor:
    """The attention mask (B, L) of a full text, one of about half, and one of a single token."""
    lengths = torch.tensor([length, (length + 1) // 2, 1])
    return torch.arange(length) < lengths[:, None]


def padded_tokens(length: int, texts: slice = slice(None)) -> Tokens:
    """Tokens with ``padded_mask``."""
    return Tokens(padded_mask(length)[texts], torch.arange(length))


def token_tensors(tokens: Tokens) -> tuple[Tensor, ...]:
    """The mask, where there is one, and the positions."""
    mask = tokens.attention_mask
    return (tokens.positions,) if mask is None else (mask, tokens.positions)
