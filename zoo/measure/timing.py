"""What one model costs: the steps on batches that are timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from zoo.config.settings import Training
from zoo.measure.turns import LATENCY, PHASES, Work
from zoo.tasks.base import Estimator
from zoo.training.device import Runtime
from zoo.training.trainer import Loss, Trainer

MAX_BATCHES = 8
LATENCY_TEXTS = 10


class ModelTiming:
    """A model and the batches it is measured on, the same for every model of a run.

    train: the training examples, a Split. forward: one inference pass over a batch.
    alike: the examples are made up and all alike: one batch stands for all, and latency is not
    measured.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Any,
        loss: Loss,
        forward: Callable[[nn.Module, Any], object],
        training: Training,
        runtime: Runtime,
        seed: int,
        *,
        alike: bool = False,
    ) -> None:
        self.model, self.forward, self.runtime, self.alike = model, forward, runtime, alike
        self.trainer = Trainer(model, train, loss, training, runtime, seed)
        batches = list(
            train.shuffled(training.batch_size, seed, epoch=0, by_length=training.by_length)
        )
        full = [b for b in batches if len(b.rows) == training.batch_size] or batches
        # Spread over the lengths, so that few batches represent all.
        full.sort(key=lambda b: b.padded_tokens)
        picks = np.linspace(0, len(full) - 1, min(MAX_BATCHES, len(full))).round().astype(int)
        order = np.random.default_rng(seed).permutation(len(picks))
        self.batches = [full[picks[i]] for i in order][: 1 if alike else None]
        self.largest = full[-1]
        by_length = np.argsort(train.lengths, kind="stable")
        spots = np.linspace(0, len(by_length) - 1, 1 if alike else LATENCY_TEXTS)
        self.singles = [train.batch(by_length[[spot]]) for spot in spots.round().astype(int)]

    def prepare(self) -> dict[str, Any]:
        """Compile, and count: parameters, FLOPs, kernels, the tokens of each batch."""
        first, second = (self._seconds(self.batches[0]) for _ in range(2))
        with FlopCounterMode(display=False) as counter, _Kernels() as kernels:
            self._train(self.batches[0])
        flops = counter.get_total_flops()
        for batch in [self.batches[0], *self.singles]:
            self._infer(batch)
        return {
            "params": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "first_step_seconds": first,
            "step_seconds": second,
            "flops_per_token": flops / self.batches[0].padded_tokens if flops else None,
            "kernels": sorted(kernels.names),
            "batches": [[b.real_tokens, b.padded_tokens] for b in self.batches],
            "latency_tokens": [b.real_tokens for b in self.singles],
        }

    def works(self) -> dict[str, Work]:
        """What is timed, by phase: a step on the batch, or an inference on the text, of a number.

        One after another they are the batches that all models of a run take.
        """
        phases = {
            "train": lambda number: self._train(self.batches[number % len(self.batches)]),
            "infer": lambda number: self._infer(self.batches[number % len(self.batches)]),
            LATENCY: lambda number: self._infer(self.singles[number % len(self.singles)]),
        }
        return {phase: work for phase, work in phases.items() if phase in PHASES or not self.alike}

    def small_steps(self) -> None:
        """Two of each phase on the shortest text; the second has the optimizer's state."""
        for step in (self._infer, self._train) * 2:
            step(self.singles[0])
        self.runtime.synchronise()

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is measured.

        The largest batch comes second: the first step makes the optimizer's state.
        """
        step = self._train if phase == "training" else self._infer
        for batch in (self.batches[0], self.largest):
            step(batch)
        self.runtime.synchronise()

    def _train(self, batch: Any) -> None:
        self.model.train()
        self.trainer.train_step(batch)

    @torch.inference_mode()
    def _infer(self, batch: Any) -> None:
        self.model.eval()
        with self.runtime.autocast():
            self.forward(self.model, batch)

    def _seconds(self, batch: Any) -> float:
        """Of a training step."""
        self.runtime.synchronise()
        start = time.perf_counter()
        self._train(batch)
        self.runtime.synchronise()
        return time.perf_counter() - start


class _Kernels(TorchDispatchMode):
    """The names of the attention kernels that are called."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if "attention" in name or name in ("_softmax", "_safe_softmax"):
            self.names.add(name)
        return func(*args, **(kwargs or {}))


class EstimatorTiming:
    """A baseline that fits itself: its steps are a fit and a pass over the scored examples."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def prepare(self) -> dict[str, Any]:
        """Fit once, so that the turns start warm; parameters and tokens."""
        estimator = self.estimator
        start = time.perf_counter()
        estimator.fit()
        seconds = time.perf_counter() - start
        return {
            "first_step_seconds": seconds,
            "params": getattr(estimator.model, "parameters", None),
            "kernels": [],
            "batches": [[estimator.train_tokens] * 2],
            "infer_batches": [[estimator.scored_tokens] * 2],
        }

    def prepared(self) -> EstimatorTiming:
        """The same, fitted once."""
        self.prepare()
        return self

    def works(self) -> dict[str, Work]:
        """What is timed, by phase: a fit, a pass over the scored examples, and single texts."""
        texts = self.estimator.inputs[:LATENCY_TEXTS]
        return {
            "train": lambda _: self.estimator.fit(),
            "infer": lambda _: self._predict(self.estimator.inputs),
            LATENCY: lambda number: self._predict([texts[number % len(texts)]]),
        }

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is measured."""
        if phase == "inference":
            self._predict(self.estimator.inputs)
        else:
            self.estimator.fit()

    def _predict(self, inputs: Sequence[Any]) -> None:
        for _ in self.estimator.answers(self.estimator.model, inputs):
            pass
