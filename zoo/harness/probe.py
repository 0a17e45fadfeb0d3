"""What one subject costs: timed steps on real batches, with nothing beside them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from zoo.data.batches import Batch, Split
from zoo.data.encode import Encoded
from zoo.harness.device import Runtime
from zoo.harness.settings import Training
from zoo.harness.trainer import Trainer

MOST_BATCHES = 8
LATENCY_TEXTS = 10
WARM_SECONDS, WARM_STEPS, STABLE = 3.0, 12, 0.1


class TorchProbe:
    """A model, and the real batches it is measured on: the same for every subject of a run."""

    def __init__(
        self, model: nn.Module, train: Split, training: Training, runtime: Runtime, seed: int
    ) -> None:
        self.model, self.runtime = model, runtime
        self.trainer = Trainer(model, train, training, runtime, seed)
        batches = list(train.shuffled(training.batch_size, seed, epoch=0))
        whole = [b for b in batches if len(b.labels) == training.batch_size] or batches
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

    def exercise(self, phase: str) -> None:
        """The loop whose peak memory is wanted, the largest batch first."""
        step = self._train if phase == "training" else self._infer
        for batch in [self.largest, *self.batches[:3]]:
            step(batch)
        self.runtime.synchronise()

    def _train(self, batch: Batch) -> None:
        self.model.train()
        self.trainer.train_step(batch)

    @torch.inference_mode()
    def _infer(self, batch: Batch) -> None:
        self.model.eval()
        with self.runtime.autocast():
            self.model(batch.ids, batch.tokens)

    def _seconds(self, work: Callable[[Batch], None], batch: Batch) -> float:
        self.runtime.synchronise()
        start = time.perf_counter()
        work(batch)
        self.runtime.synchronise()
        return time.perf_counter() - start

    def _count(self, batch: Batch) -> tuple[int, list[str]]:
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


class TextProbe:
    """A baseline that learns from raw texts; its tokens are counted as the zoo's tokenizer does."""

    def __init__(self, factory: Callable[[], Any], encoded: Encoded) -> None:
        self.factory, self.corpus = factory, encoded.corpus()
        self.train_tokens = int(encoded.split("train").offsets[-1])
        self.test_tokens = int(encoded.split("test").offsets[-1])
        self.model: Any = None

    def prepare(self) -> dict[str, Any]:
        """Fit once, so that the rounds find everything warm."""
        start = time.perf_counter()
        self._fit()
        return {
            "params": getattr(self.model, "parameters", None),
            "first_step_seconds": time.perf_counter() - start,
            "kernels": [],
            "batches": [[self.train_tokens, self.train_tokens]],
            "infer_batches": [[self.test_tokens, self.test_tokens]],
        }

    def warm_up(self) -> float:
        """Fit and predict once; a round is one step, whatever the seconds returned."""
        return _timed(self._fit) + _timed(lambda: self.model.predict(self.corpus.test_texts))

    def round(self, steps: int) -> dict[str, Any]:
        """Seconds of one fit, of one prediction of the test split, and of single texts."""
        singles = self.corpus.test_texts[:LATENCY_TEXTS]
        return {
            "train": [_timed(self._fit)],
            "infer": [_timed(lambda: self.model.predict(self.corpus.test_texts))],
            "latency": [_timed(functools.partial(self.model.predict, [text])) for text in singles],
        }

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is wanted."""
        if phase == "inference":
            self.model.predict(self.corpus.test_texts)
        else:
            self._fit()

    def fitted(self) -> TextProbe:
        """The same, ready to predict."""
        self._fit()
        return self

    def _fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.corpus.train_texts, self.corpus.train_labels)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
