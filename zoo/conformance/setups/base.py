"""What every rig offers: the component built in a known state, and cases to call it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from zoo.conformance.base import CheckFailed, CheckSkipped, Settings
from zoo.models.seeding import seeded
from zoo.registry import Choice

# No two of them agree, nor does √(DIM / HEADS) with HEADS: one taken for another must show.
DIM, HEADS, HIDDEN, MAX_LENGTH = 16, 2, 40, 600
JITTER = 0.1


@dataclass(frozen=True)
class Case:
    """One way to call a component.

    inputs: what gradients are taken of. fixed: the tensors beside them (padding, positions), by
    name. call(module, *inputs) gives the output; shape is what the output must have.
    """

    name: str
    inputs: tuple[Tensor, ...]
    call: Callable[..., Tensor]
    shape: tuple[int, ...]
    fixed: tuple[Tensor, ...] = ()

    def __call__(self, module: nn.Module) -> Tensor:
        """The component's output for this case's inputs."""
        return self.call(module, *self.inputs)


class Rig(ABC):
    """Builds one choice and knows its contract.

    passes: the names of the arguments that the contract itself passes to the factory.
    """

    passes: ClassVar[tuple[str, ...]]

    def __init__(self, choice: Choice, settings: Settings) -> None:
        self.choice, self.settings = choice, settings

    @abstractmethod
    def make(self, dropout: float) -> Any:
        """Call the factory as the contract says."""

    @property
    @abstractmethod
    def contract(self) -> type:
        """What the factory must give."""


class ModuleRig(Rig):
    """For the kinds whose components are torch modules."""

    takes_dropout: ClassVar[bool] = False
    # Whether training is without chance unless dropout is asked for.
    quiet_training: ClassVar[bool] = True

    @abstractmethod
    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """Every way of calling that the declared capabilities allow.

        texts: which rows of the batch; their values do not hang on which are taken.
        """

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: bool = True,
    ) -> nn.Module:
        """The component in evaluation mode, its weights drawn from the seed.

        jitter: move every weight a little, so that no claim holds by the grace of a zero or a one
        that it starts with. Raises CheckSkipped where the choice stands for having no module.
        """
        with seeded(self.settings.seed + seed, "checks/build"):
            module: Any = self.make(dropout)
            if module is None and type(None) in _members(self.contract):
                raise CheckSkipped("it builds nothing, which its kind allows")
            if not isinstance(module, self.contract):
                raise CheckFailed(f"the factory gives a {type(module).__name__}: see 'contract'")
            assert isinstance(module, nn.Module)
            if jitter:
                shake(module)
        return module.to(dtype).eval()

    def generator(self, seed: int) -> torch.Generator:
        """The source of all inputs."""
        return torch.Generator().manual_seed(1000 * self.settings.seed + seed + 1)


def shake(module: nn.Module) -> None:
    """Move every parameter a little off where it starts."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(JITTER * torch.randn(parameter.shape))


def normal(generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers; the same ones, rounded, in every dtype."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def _members(contract: Any) -> tuple[type, ...]:
    return getattr(contract, "__args__", (contract,))
