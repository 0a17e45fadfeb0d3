"""In the worker: a training step and an inference step of one cell on full, made-up texts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import Documents
from zoo.execution.base import Setting
from zoo.measure.memory import peak_of
from zoo.measure.scaling import Job, Point
from zoo.models.build import build_ensemble
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.tasks.classifying import classification_loss
from zoo.train.device import resolve
from zoo.train.trainer import Trainer

CLASSES = 5
LEAST = 8  # tokens
WARM_SECONDS, WARM_STEPS, STABLE = 1.0, 8, 0.1


def measure(state: dict[str, Any], registry: Registry, setting: Setting, job: Job) -> Any:
    """What the job asks for: seconds of a step once ``prepare``d, a round's seconds, or memory."""
    if job.what == "prepare":
        state["steps"] = Steps(registry, setting, job.point)
        return state["steps"].warm_up()
    if job.what == "round":
        return state["steps"].round(job.steps)
    return peak_of(
        device=resolve(setting.execution).device,
        first=lambda: Steps(registry, setting, _smallest(job.point)).exercise(job.what),
        set_up=lambda: Steps(registry, setting, job.point),
        phase=job.what,
    )


class Steps:
    """A cell, and one batch of texts that are as long as it takes: nothing is padded."""

    def __init__(self, registry: Registry, setting: Setting, point: Point) -> None:
        self.runtime = resolve(setting.execution)
        self.model = build_ensemble(
            Cell.parse(registry, dict(point.subject.cell)),
            point.sizes,
            vocab_size=point.sizes.vocab_size,
            classes=CLASSES,
            seed=0,
            dropout=setting.training.dropout,
            attention_dropout=setting.training.attention_dropout,
            embedding_std=setting.training.embedding_std,
            read_last=setting.read_last,
        ).to(self.runtime.device)
        if setting.execution.compile:
            self.model.compile(dynamic=True)
        texts = Split(_texts(point), self.runtime.device)
        self.batch = texts.batch(np.arange(point.batch))
        self.trainer = Trainer(
            self.model, texts, classification_loss, setting.training, self.runtime, seed=0
        )

    def warm_up(self) -> float:
        """Train and infer until training takes the same time twice; seconds of both steps."""
        before, end = self._seconds(self._train), time.perf_counter() + WARM_SECONDS
        for _ in range(WARM_STEPS):
            now = self._seconds(self._train)
            if abs(now - before) < STABLE * before or time.perf_counter() > end:
                break
            before = now
        return now + self._seconds(self._infer)

    def round(self, steps: int) -> dict[str, list[float]]:
        """Seconds of each of some steps of training and of inference, once warm."""
        self.warm_up()
        return {
            "train": [self._seconds(self._train) for _ in range(steps)],
            "infer": [self._seconds(self._infer) for _ in range(steps)],
        }

    def exercise(self, phase: str) -> None:
        """The loop whose peak memory is wanted; the optimizer's state is there from its second."""
        for _ in range(2):
            self._train() if phase == "training" else self._infer()
        self.runtime.synchronise()

    def _train(self) -> None:
        self.model.train()
        self.trainer.train_step(self.batch)

    @torch.inference_mode()
    def _infer(self) -> None:
        self.model.eval()
        with self.runtime.autocast():
            self.model(self.batch.ids, self.batch.tokens)

    def _seconds(self, work: Callable[[], None]) -> float:
        self.runtime.synchronise()
        start = time.perf_counter()
        work()
        self.runtime.synchronise()
        return time.perf_counter() - start


def _smallest(point: Point) -> Point:
    """The same cell with next to nothing to do."""
    least = {"max_length": min(LEAST, point.sizes.max_length), "layers": 1}
    return replace(point, sizes=point.sizes.model_copy(update=least), batch=1)


def _texts(point: Point) -> Documents:
    """As many texts of random ids as a batch holds."""
    draw, length = np.random.default_rng(0), point.sizes.max_length
    return Documents(
        ids=draw.integers(1, point.sizes.vocab_size, point.batch * length).astype(np.int32),
        offsets=np.arange(point.batch + 1, dtype=np.int64) * length,
        labels=draw.integers(0, CLASSES, point.batch),
    )
