"""What a worker does for a task: builds, learns, scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from zoo.config.settings import Training
from zoo.registry import Choice
from zoo.registry.cell import Cell
from zoo.train.device import Runtime

EVALUATION_BATCH = 128


class Items(Protocol):
    """A batch. items: answers that it asks for (texts, tokens); rows: where each row stands."""

    @property
    def rows(self) -> np.ndarray: ...  # noqa: D102
    @property
    def items(self) -> int: ...  # noqa: D102
    @property
    def real_tokens(self) -> int: ...  # noqa: D102
    @property
    def padded_tokens(self) -> int: ...  # noqa: D102


class Rows(Protocol):
    """A split on the device, in whatever rows the task learns from."""

    @property
    def lengths(self) -> np.ndarray: ...  # noqa: D102
    def __len__(self) -> int: ...
    def batch(self, rows: np.ndarray) -> Any: ...  # noqa: D102
    def shuffled(self, batch_size: int, seed: int, epoch: int) -> Iterator[Any]: ...  # noqa: D102


class Fitting(ABC):
    """A baseline that learns by itself, and not in the steps of the harness.

    train_tokens, infer_tokens: of what it learns from, and of what it is scored on.
    """

    train_tokens: int
    infer_tokens: int
    model: Any = None

    @abstractmethod
    def fit(self) -> None:
        """Learn anew."""

    @abstractmethod
    def infer(self) -> None:
        """Go over everything it is scored on."""

    @abstractmethod
    def singles(self) -> Sequence[Callable[[], object]]:
        """A few texts, each by itself."""

    @abstractmethod
    def score(self) -> dict[str, Any]:
        """Its metrics, once it is fitted."""


# Of a model and a batch: the mean loss (scalar, nats), and how many items the model had right.
Loss = Callable[[nn.Module, Any, Training], tuple[Tensor, Tensor]]


class Learner(ABC):
    """One task in a worker, on the encoded data of a setting."""

    encoded: Any
    scored = "test"  # what the split is called that is scored

    @abstractmethod
    def build(self, cell: Cell, seed: int) -> nn.Module:
        """The model of a cell."""

    @abstractmethod
    def build_baseline(self, choice: Choice) -> Any:
        """A baseline that the harness trains as it trains a cell."""

    @abstractmethod
    def fitting(self, choice: Choice, share: float) -> Fitting | None:
        """A baseline that learns by itself; None where the harness trains it.

        share: of the training part, held out and scored in place of what else would be.
        """

    @abstractmethod
    def training_rows(self, runtime: Runtime) -> Any:
        """What is learned from."""

    @abstractmethod
    def splits(self, runtime: Runtime, share: float) -> tuple[Any, Any]:
        """What is learned from, and what is scored; share: as in ``fitting``."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any, training: Training) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch (scalar, nats), and how many items the model had right."""

    @abstractmethod
    def run(self, model: nn.Module, batch: Any) -> object:
        """One pass of inference over a batch."""

    @abstractmethod
    def score(self, model: nn.Module, rows: Any, runtime: Runtime) -> dict[str, Any]:
        """The metrics of a trained model, by the names that the task's scores have."""

    @abstractmethod
    def answers(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """A row of scores for each of these made-up texts, by which a kept model is known again."""
