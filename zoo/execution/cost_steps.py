"""What cost jobs time and measure: the steps of one model, and calls of a worker process."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from zoo.config.sizes import Sizes
from zoo.execution.base import CostMember, JobSetup
from zoo.execution.open_setup import build_model, open_setup
from zoo.measure import turns
from zoo.measure.memory import peaks_of
from zoo.measure.turns import LATENCY, PHASES, TURN_SECONDS, Pair, Work
from zoo.tasks.base import TaskSetup
from zoo.training.device import resolve
from zoo.training.trainer import Trainer

SEED = 0  # of the weights and of the batches
SMALLEST_LENGTH = 8  # tokens of the first steps where examples are made up
MOST_COMPILED = 1000
MAX_BATCHES = 8
LATENCY_TEXTS = 10
# The models of this process by their place: what is timed, and what waits for the device.
_prepared: dict[int, tuple[Mapping[str, Work], Callable[[], object]]] = {}


def memory(setup: JobSetup, member: CostMember) -> dict[str, dict[str, Any]]:
    """Measure the peak memory of each phase of a model, in a process that does nothing else."""
    opened, small = _opened(setup, member), _opened(setup, member, _small(member, setup.sizes))
    return peaks_of(
        resolve(setup.execution).device,
        first=lambda: _Model(setup, small, member).small_steps(),
        set_up=lambda: _Model(setup, opened, member).exercise,
    )


def prepare(setup: JobSetup, place: int, member: CostMember) -> dict[str, Any]:
    """Build what is measured, beside what is there, and return what is known before timing.

    place: by which ``block`` knows it.
    """
    if setup.execution.compile:  # models of one class count as versions of one function
        torch._dynamo.config.recompile_limit = MOST_COMPILED
        torch._dynamo.config.accumulated_recompile_limit = MOST_COMPILED
    timing = _Model(setup, _opened(setup, member), member)
    properties = timing.prepare()
    _prepared[place] = timing.works(), resolve(setup.execution).synchronise
    gc.freeze()  # or a collection within a turn would look at all of torch
    return properties


def block(number: int, places: Sequence[int]) -> Iterator[tuple[str, int, Pair | None]]:
    """A turn of each phase for each of these, in random order, on batch ``number``.

    Yields the phase and the place of what begins its turn, with None, and of what has ended it,
    with the seconds of a step.
    """
    _, synchronise = _prepared[places[0]]
    for phase, least in TURN_SECONDS.items():
        works = {place: _prepared[place][0].get(phase) for place in places}
        able = {place: work for place, work in works.items() if work is not None}
        for place, pair in turns.block(able, number, least, synchronise):
            yield phase, place, pair


def _opened(setup: JobSetup, member: CostMember, sizes: Sizes | None = None) -> TaskSetup:
    """What a member is measured with: its own training settings, where it has any."""
    own = member.training or setup.training
    return open_setup(replace(setup, training=own, sizes=sizes or setup.sizes))


def _small(member: CostMember, sizes: Sizes) -> Sizes:
    """The sizes of the steps that load what a process loads once."""
    if "baseline" in member.model:  # a baseline may be of one size alone
        return sizes
    # As many layers as it takes for every component of a pattern to be there.
    changes = {"layers": max(map(len, member.model.values()))}
    if member.full_length:
        changes["max_length"] = min(SMALLEST_LENGTH, sizes.max_length)
    return sizes.model_copy(update=changes)


class _Model:
    """A model and the batches it is measured on, the same for every model of a run.

    alike: the examples are made up and all alike: one batch stands for all, and latency is not
    measured.
    """

    def __init__(self, setup: JobSetup, opened: TaskSetup, member: CostMember) -> None:
        self.runtime = runtime = resolve(setup.execution)
        self.model = build_model(opened, member.model, SEED).to(runtime.device)
        if setup.execution.compile:
            self.model.compile(dynamic=True)
        task, training, examples = opened.task, opened.training, member.full_length
        self.forward, self.alike = task.forward, bool(examples)
        if self.alike:
            train = task.full_length_split(opened, examples, runtime.device)
            training = training.model_copy(update={"batch_size": examples})
        else:
            train = task.split(opened, ["train"], runtime.device)
        loss = functools.partial(task.loss, opened)
        self.trainer = Trainer(self.model, train, loss, training, runtime, SEED)
        alike_lengths = training.batching == "length"
        batches = list(train.shuffled(training.batch_size, SEED, 0, by_length=alike_lengths))
        full = [b for b in batches if len(b.rows) == training.batch_size] or batches
        # Spread over the lengths, so that few batches represent all.
        full.sort(key=lambda b: b.padded_tokens)
        picks = np.linspace(0, len(full) - 1, min(MAX_BATCHES, len(full))).round().astype(int)
        order = np.random.default_rng(SEED).permutation(len(picks))
        self.batches = [full[picks[i]] for i in order][: 1 if self.alike else None]
        self.largest = full[-1]
        by_length = np.argsort(train.lengths, kind="stable")
        spots = np.linspace(0, len(by_length) - 1, 1 if self.alike else LATENCY_TEXTS)
        self.singles = [train.batch(by_length[[spot]]) for spot in spots.round().astype(int)]

    def prepare(self) -> dict[str, Any]:
        """Compile, and count: parameters, the tokens of each batch."""
        self._train(self.batches[0])
        for batch in [self.batches[0], *self.singles]:
            self._infer(batch)
        return {
            "params": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "batches": [[b.real_tokens, b.padded_tokens] for b in self.batches],
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
