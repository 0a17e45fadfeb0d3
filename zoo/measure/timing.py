"""What one model costs: timed steps on batches, with nothing else running; the machine's rate."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from zoo.config.settings import Training
from zoo.tasks.base import Estimator
from zoo.training.device import Runtime
from zoo.training.trainer import Loss, Trainer

MAX_BATCHES = 8
MAX_STEPS = 20  # of one round on made-up batches, which are all alike
LATENCY_TEXTS = 10
WARM_SECONDS, WARM_STEPS, STABLE = 3.0, 12, 0.1
TURN_SECONDS = 1.0  # most time of warming up again, in a process that has waited for its turn


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
        self.batches = [full[picks[i]] for i in order]
        self.largest = full[-1]
        by_length = np.argsort(train.lengths, kind="stable")
        spots = np.linspace(0, len(by_length) - 1, 1 if alike else LATENCY_TEXTS)
        self.singles = [train.batch(by_length[[spot]]) for spot in spots.round().astype(int)]

    def prepare(self) -> dict[str, Any]:
        """Compile, and count: parameters, FLOPs, kernels, the tokens of each batch."""
        first = self._seconds(self._train, self.batches[0])
        with FlopCounterMode(display=False) as counter, _Kernels() as kernels:
            self._train(self.batches[0])
        flops = counter.get_total_flops()
        return {
            "params": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "first_step_seconds": first,
            "flops_per_token": flops / self.batches[0].padded_tokens if flops else None,
            "kernels": sorted(kernels.names),
            "batches": [[b.real_tokens, b.padded_tokens] for b in self.batches],
            "latency_tokens": [b.real_tokens for b in self.singles],
        }

    def warm_up(self) -> float:
        """Seconds of a warm step."""
        return self._warm_up(alike=3, seconds=WARM_SECONDS)

    def _warm_up(self, alike: int, seconds: float) -> float:
        """Step until so many steps in a row take the same time, and return it in seconds.

        A process that has waited for its turn has cold caches and a low clock and, on some
        machines, has lost its pages: a first step was seen to take 40 times a steady one. Where
        nothing of this happens, two steps agree at once.
        """
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < WARM_STEPS and (len(times) < alike or time.perf_counter() < end):
            times.append(self._seconds(self._train, self.batches[0]))
            last = times[-alike:]
            if len(last) == alike and max(last) - min(last) < STABLE * min(last):
                break
        for batch in [self.batches[0], *self.singles]:
            self._infer(batch)
        return float(np.median(times[-alike:]))

    def round(self, steps: int) -> dict[str, Any]:
        """Seconds of each training step, inference batch and single text, once warm."""
        self._warm_up(alike=2, seconds=TURN_SECONDS)
        same = [self.batches[0]] * min(steps, MAX_STEPS)
        batches = same if self.alike else self.batches[:steps]
        return {
            "train": [self._seconds(self._train, b) for b in batches],
            "infer": [self._seconds(self._infer, b) for b in batches],
            "latency": [] if self.alike else [self._seconds(self._infer, b) for b in self.singles],
        }

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

    def _seconds(self, work: Callable[[Any], None], batch: Any) -> float:
        self.runtime.synchronise()
        start = time.perf_counter()
        work(batch)
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
    """A baseline that fits itself: a round is one fit and one pass over the scored examples."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def prepare(self) -> dict[str, Any]:
        """Fit once, so that the rounds start warm; parameters and tokens.

        What a baseline chooses on its training texts, it chooses here: the rounds time one fit.
        """
        one = self.estimator
        seconds = _timed(one.fit)
        if chosen := getattr(one.model, "chosen", None):
            one.factory = chosen
        return {
            "first_step_seconds": seconds,
            "params": getattr(one.model, "parameters", None),
            "kernels": [],
            "batches": [[one.train_tokens] * 2],
            "infer_batches": [[one.scored_tokens] * 2],
        }

    def prepared(self) -> EstimatorTiming:
        """The same, fitted once."""
        self.prepare()
        return self

    def warm_up(self) -> None:
        """It has been fitted; a round has no steps."""

    def round(self, steps: int) -> dict[str, Any]:
        """Seconds of one fit, of one pass over the scored examples, and of single texts."""
        return {
            "train": [_timed(self.estimator.fit)],
            "infer": [_timed(self._predict)],
            "latency": [
                _timed(functools.partial(self._predict, [text]))
                for text in self.estimator.inputs[:LATENCY_TEXTS]
            ],
        }

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is measured."""
        (self._predict if phase == "inference" else self.estimator.fit)()

    def _predict(self, inputs: Sequence[Any] | None = None) -> None:
        """Predict these inputs; None: everything that is scored."""
        one = self.estimator
        for _ in one.answers(one.model, one.inputs if inputs is None else inputs):
            pass


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_matrix_rate(runtime: Runtime, rounds: int = 7, size: int = 0) -> float:
    """FLOP/s of a large square product at the runtime's precision: the median of some rounds.

    size: of the matrices; 0: large enough for the device.
    """
    size = size or (8192 if runtime.device.type == "cuda" else 1024)
    dtype = torch.bfloat16 if runtime.precision == "bf16" else torch.float32
    a = torch.randn(size, size, device=runtime.device, dtype=dtype)
    b = torch.randn(size, size, device=runtime.device, dtype=dtype)
    rates = []
    for _ in range(rounds + 2):
        runtime.synchronise()
        start = time.perf_counter()
        for _ in range(4):
            a @ b
        runtime.synchronise()
        rates.append(4 * 2 * size**3 / (time.perf_counter() - start))
    return statistics.median(rates[2:])
