"""What a task is, apart from the arithmetic. No torch here: planning and refusing need none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from zoo.errors import ZooError
from zoo.tasks.score import CLASSIFY, Score, scores_of

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.execution.base import Setting
    from zoo.registry import Choice, Component, Registry
    from zoo.registry.cell import Task as TaskName
    from zoo.tasks.learner import Learner


class EncodedData(Protocol):
    """Data as token ids in a directory; what else is there only its task knows."""

    @property
    def directory(self) -> Path: ...  # noqa: D102
    @property
    def tokenizer_path(self) -> Path: ...  # noqa: D102
    @property
    def vocab_size(self) -> int: ...  # noqa: D102
    @property
    def label_names(self) -> list[str]: ...  # noqa: D102


class Task(ABC):
    """What every step from a request to records asks, instead of knowing the tasks.

    defaults: options whose values differ from a classifier's, by their flat names. ignored:
    options that would have no effect, and why. baselines: the capabilities of baselines that can
    stand beside, none where there is none. model: what a model of it is called.
    scored_on: what its scores are of.
    """

    name: ClassVar[TaskName]
    model: ClassVar[str]
    scored_on: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}
    ignored: ClassVar[Mapping[str, str]] = {}
    baselines: ClassVar[tuple[str, ...]] = ()

    @property
    def scores(self) -> tuple[Score, ...]:
        """What is reported, the score that rows are ranked by first."""
        return scores_of(self.name)

    def refuse(self, options: Iterable[str]) -> None:
        """ZooError for an option, given by name, that this task would ignore."""
        for option in options:
            if option in self.ignored:
                shown = {"read_last": "full-attention"}.get(option, option.replace("_", "-"))
                raise ZooError(
                    f"--{shown} has no meaning with --task {self.name}: {self.ignored[option]}"
                )

    def takes(self, baseline: Choice | Component) -> bool:
        """Whether a baseline can stand beside models of this task."""
        return any(baseline.can(capability) for capability in self.baselines)

    def config(self, request: Request) -> dict[str, Any]:
        """What a record's configuration says besides. Nothing of a classifier, as ever."""
        return {} if self.name == CLASSIFY else {"task": self.name}

    @abstractmethod
    def prepare(
        self, request: Request, registry: Registry
    ) -> tuple[EncodedData, dict[str, Any], list[str]]:
        """The data as token ids, what a record says of it, and notices for the user.

        Raises ZooError where they cannot be had or do not fit.
        """

    @abstractmethod
    def learner(self, setting: Setting) -> Learner:
        """What a worker needs: imports torch."""
