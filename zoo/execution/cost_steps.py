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
# The examples of this process, which models with the same batches share.
_examples: dict[tuple[int, str, int], _Examples] = {}


def memory(setup: JobSetup, member: CostMember) -> dict[str, dict[str, Any]]:
    """Measure the peak memory of each phase of a model, in a process that does nothing else."""
    opened, small = _opened(setup, member), _opened(setup, member, _small(member, setup.sizes))
    device = resolve(setup.execution).device
    return peaks_of(
        device,
        first=lambda: _Model(
            setup, small, member, _Examples(small, member.full_length, device)
        ).small_steps(),
        load=lambda: _Examples(opened, member.full_length, device),
        set_up=lambda examples: _Model(setup, opened, member, examples).exercise,
    )


def prepare(setup: JobSetup, place: int, member: CostMember) -> dict[str, Any]:
    """Build what is measured, beside what is there, and return what is known before timing.

    place: by which ``block`` knows it.
    """
    if setup.execution.compile:  # models of one class count as versions of one function
        torch._dynamo.config.recompile_limit = MOST_COMPILED
        torch._dynamo.config.accumulated_recompile_limit = MOST_COMPILED
    runtime, opened = resolve(setup.execution), _opened(setup, member)
    runtime.release()  # what one that failed has left
    batches = opened.training.batch_size, opened.training.batching, member.full_length
    if batches not in _examples:
        _examples[batches] = _Examples(opened, member.full_length, runtime.device)
    timing = _Model(setup, opened, member, _examples[batches])
    properties = timing.prepare()
    runtime.release()  # each model finds as much as a model alone
    _prepared[place] = timing.works(), runtime.synchronise
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


class _Examples:
    """What a model is measured on, on the device: the same for every model of a run.

    full_length: of a ``CostMember``. alike: the examples are made up and all alike: one batch
    stands for all, and latency is not measured.
    """

    def __init__(self, opened: TaskSetup, full_length: int, device: torch.device) -> None:
        task, training = opened.task, opened.training
        self.alike = bool(full_length)
        if self.alike:
            self.split = task.full_length_split(opened, full_length, device)
        else:
            self.split = task.split(opened, ["train"], device)
        self.batch_size, lengths = full_length or training.batch_size, self.split.lengths
        alike_lengths = training.batching == "length"
        shuffled = self.split.shuffled(self.batch_size, SEED, 0, by_length=alike_lengths)
        batches = list(shuffled)
        full = [b for b in batches if len(b.rows) == self.batch_size] or batches
        # Spread over the lengths, so that few batches represent all.
        full.sort(key=lambda b: b.padded_tokens)
        picks = np.linspace(0, len(full) - 1, min(MAX_BATCHES, len(full))).round().astype(int)
        order = np.random.default_rng(SEED).permutation(len(picks))
        self.batches = [full[picks[i]] for i in order][: 1 if self.alike else None]
        self.largest = full[-1]
        by_length = np.argsort(lengths, kind="stable")
        spots = np.linspace(0, len(by_length) - 1, 1 if self.alike else LATENCY_TEXTS)
        self.singles = [self.split.batch(by_length[[spot]]) for spot in spots.round().astype(int)]


class _Model:
    """A model and what it is measured on."""

    def __init__(
        self, setup: JobSetup, opened: TaskSetup, member: CostMember, examples: _Examples
    ) -> None:
        self.runtime, self.examples = resolve(setup.execution), examples
        self.model = build_model(opened, member.model, SEED).to(self.runtime.device)
        if setup.execution.compile:
            self.model.compile(dynamic=True)
        self.forward = opened.task.forward
        loss = functools.partial(opened.task.loss, opened)
        training = opened.training.model_copy(update={"batch_size": examples.batch_size})
        self.trainer = Trainer(self.model, examples.split, loss, training, self.runtime, SEED)

    def prepare(self) -> dict[str, Any]:
        """Compile, and count: parameters, the tokens of each batch.

        On a GPU every shape is run once: libraries choose a kernel for each, and memory for a new
        one is asked of the driver, which waits for the device.
        """
        batches, singles = self.examples.batches, self.examples.singles
        warm = batches if self.runtime.device.type == "cuda" else batches[:1]
        for batch in warm:
            self._train(batch)
        for batch in [*warm, *singles]:
            self._infer(batch)
        return {
            "params": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "batches": [[b.real_tokens, b.padded_tokens] for b in batches],
            "attention_kernels": self.trainer.attention_kernels or "",
        }

    def works(self) -> dict[str, Work]:
        """What is timed, by phase: a step on the batch, or an inference on the text, of a number.

        One after another they are the batches that all models of a run take.
        """
        batches, singles = self.examples.batches, self.examples.singles

        def answer(number: int) -> None:
            """A text alone, up to the time when its answer is there."""
            self._infer(singles[number % len(singles)])
            self.runtime.synchronise()

        phases = {
            "train": lambda number: self._train(batches[number % len(batches)]),
            "infer": lambda number: self._infer(batches[number % len(batches)]),
            LATENCY: answer,
        }
        alike = self.examples.alike
        return {phase: work for phase, work in phases.items() if phase in PHASES or not alike}

    def small_steps(self) -> None:
        """Two of each phase on the shortest text; the second has the optimizer's state."""
        for step in (self._infer, self._train) * 2:
            step(self.examples.singles[0])
        self.runtime.synchronise()

    def exercise(self, phase: str) -> None:
        """The work whose peak memory is measured.

        The largest batch comes second: the first step makes the optimizer's state.
        """
        step = self._train if phase == "training" else self._infer
        for batch in (self.examples.batches[0], self.examples.largest):
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
