"""The contract of a tracker. No torch here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker shows as one run: the training of a model with a seed, or a model's cost.

    name: such as ``fused+rope seed 0`` or ``fused+rope cost``. group: of all runs of one command
    on one data set. directory: for the files of a tracker that writes any; ``zoo bench`` writes
    its results there too. config: task, data, components, sizes and settings by the names of their
    options, and ``phase``: train, tune or cost; plain values.
    """

    name: str
    group: str
    directory: Path
    config: Mapping[str, Any]


class Tracker(ABC):
    """Shows one run; a new one is built for each, and several may be open at once.

    Registered as ``register("tracker", name, factory, ...)``; it is built with its registered
    parameters alone. It runs in a process of its own, so that it may raise, print, or take long.
    """

    @abstractmethod
    def start(self, run: TrackedRun) -> None:
        """The run begins."""

    @abstractmethod
    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers by name after so many epochs; steps increase."""

    @abstractmethod
    def end(self, status: str, values: Mapping[str, float]) -> None:
        """The run is over, with these results.

        status: ``ok``, or how the job failed (oom, timeout, crashed, diverged, lost), or
        ``interrupted``. values: empty where there are none.
        """
