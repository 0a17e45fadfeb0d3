"""What one subject costs: timed steps on real batches, with nothing beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from zoo.config.settings import Training
from zoo.tasks.learner import Fitting, Items, Learner, Rows
from zoo.train.device import Runtime
from zoo.train.trainer import Trainer

MOST_BATCHES = 8
LATENCY_TEXTS = 10
WARM_SECONDS, WARM_STEPS, STABLE = 3.0, 12, 0.1


class TorchProbe:
    """A model, and the real batches it is measured on: the same for every subject of a run."""

    def __init__(
        self,
        model: nn.Module,
        train: Rows,
        learner: Learner,
        training: Training,
        runtime: Runtime,
        seed: int,
    ) -> None:
        self.model, self.learner, self.runtime = model, learner, runtime
        self.trainer = Trainer(model, train, learner.loss, training, runtime, seed)
        batches = list(train.shuffled(training.batch_size, seed, epoch=0))
        whole = [b for b in batches if len(b.rows) == training.batch_size] or batches
        # Spread over the lengths, so that few batches stand for all.
        whole.sort(key=lambda b: b.padded_tokens)
        picks = np.linspace(0, len(whole) - 1, min(MOST_BATCHES, len(whole))).round().astype(int)
        order = np.random.default_rng(seed).permutation(len(picks))
        self.batches = [whole[picks[i]] for i in order]
        self.largest = whole[-1]
        by_length = np.argsort(train.lengths, kind="stable")
        spots = np.linspace(0, len(by_length) - 1, LATENCY_TEXTS).round().astype(int)
        self.singles = [train.batch(by_length[[spot]]) for spot in spots]

    def prepare(self) -> dict[str, Any]:
        """Compile, warm up until steps are steady, and tell params, FLOPs and kernels."""
        first = self._seconds(self._train, self.batches[0])
        steady = self.warm_up()
        flops, kernels = self._count(self.batches[0])
        return {
            "params": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "first_step_seconds": first,
            "compile_seconds": max(0.0, first - steady),
            "flops_per_token": flops / self.batches[0].padded_tokens if flops else None,
            "kernels": kernels,
            "batches": [[b.real_tokens, b.padded_tokens] for b in self.batches],
            "latency_tokens": [b.real_tokens for b in self.singles],
        }

    def warm_up(self) -> float:
        """Step until three steps in a row take the same time, and return it in seconds.

        A process that has waited for its turn finds its caches cold, its clock low and, on some
        machines, its pages gone: without this a first step was seen to take 40 times a steady one.
        """
        times: list[float] = []
        end = time.perf_counter() + WARM_SECONDS
        while len(times) < WARM_STEPS and (len(times) < 3 or time.perf_counter() < end):
            times.append(self._seconds(self._train, self.batches[0]))
            last = times[-3:]
            if len(last) == 3 and max(last) - min(last) < STABLE * min(last):
                break
        for batch in [self.batches[0], *self.singles]:
            self._infer(batch)
        return float(np.median(times[-3:]))

    def round(self, steps: int) -> dict[str, Any]:
        """Seconds of each training step, each inference batch, and each single text, once warm."""
        self.warm_up()
        batches = self.batches[:steps]
        return {
            "train": [self._seconds(self._train, b) for b in batches],
            "infer": [self._seconds(self._infer, b) for b in batches],
            "latency": [self._seconds(self._infer, b) for b in self.singles],
        }

    def begin(self, phase: str) -> None:
        """Two steps on the shortest text: the second has what the optimizer's first one made."""
        for _ in range(2):
            self._step(phase)(self.singles[0])
        self.runtime.synchronise()

    def exercise(self, phase: str) -> None:
        """The loop whose peak memory is wanted, the largest batch first."""
        step = self._step(phase)
        for batch in [self.largest, *self.batches[:3]]:
            step(batch)
        self.runtime.synchronise()

    def _step(self, phase: str) -> Callable[[Items], None]:
        return self._train if phase == "training" else self._infer

    def _train(self, batch: Items) -> None:
        self.model.train()
        self.trainer.train_step(batch)

    @torch.inference_mode()
    def _infer(self, batch: Items) -> None:
        self.model.eval()
        with self.runtime.autocast():
            self.learner.run(self.model, batch)

    def _seconds(self, work: Callable[[Items], None], batch: Items) -> float:
        self.runtime.synchronise()
        start = time.perf_counter()
        work(batch)
        self.runtime.synchronise()
        return time.perf_counter() - start

    def _count(self, batch: Items) -> tuple[int, list[str]]:
        """FLOPs of a training step, and the attention kernels that ran in it."""
        if self.model._compiled_call_impl is not None:
            return 0, ["torch.compile"]  # counting would have to run it uncompiled
        counter: Any = FlopCounterMode(display=False)
        kernels = _Kernels()
        with counter, kernels:
            self._train(batch)
        return counter.get_total_flops(), sorted(kernels.names)


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


class FittingProbe:
    """A baseline that learns by itself: a round is one fit, and one pass over what is scored."""

    def __init__(self, fitting: Fitting) -> None:
        self.fitting = fitting

    def prepare(self) -> dict[str, Any]:
        """Fit once, so that the rounds find everything warm."""
        seconds, one = _timed(self.fitting.fit), self.fitting
        return {
            "params": getattr(one.model, "parameters", None),
            "first_step_seconds": seconds,
            "kernels": [],
            "batches": [[one.train_tokens, one.train_tokens]],
            "infer_batches": [[one.infer_tokens, one.infer_tokens]],
        }

    def warm_up(self) -> float:
        """Fit and infer once; a round is one step, whatever the seconds returned."""
        return _timed(self.fitting.fit) + _timed(self.fitting.infer)

    def round(self, steps: int) -> dict[str, Any]:
        """Seconds of one fit, of one pass over what is scored, and of single texts."""
        return {
            "train": [_timed(self.fitting.fit)],
            "infer": [_timed(self.fitting.infer)],
            "latency": [_timed(single) for single in self.fitting.singles()],
        }

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is wanted."""
        (self.fitting.infer if phase == "inference" else self.fitting.fit)()

    def fitted(self) -> FittingProbe:
        """The same, ready to infer."""
        self.fitting.fit()
        return self


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
