"""The steps of a cost job, each a call in a worker process, and the job that measures memory."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from zoo.config.sizes import Sizes
from zoo.execution.base import CostMember, JobSetup, Limits, MemoryJob, Result, Step
from zoo.execution.machine import environment
from zoo.execution.open_setup import build_model, find_baseline, find_estimator, open_setup
from zoo.measure import turns
from zoo.measure.memory import peaks_of
from zoo.measure.timing import EstimatorTiming, ModelTiming
from zoo.measure.turns import TURN_SECONDS, Pair, Work
from zoo.tasks.base import TaskSetup
from zoo.training.device import resolve

SEED = 0  # of the weights and of the batches
SMALLEST_LENGTH = 8  # tokens of the first steps where examples are made up
MOST_COMPILED = 1000
# The models of this process by their place: what is timed, and what waits for the device.
_prepared: dict[int, tuple[Mapping[str, Work], Callable[[], object]]] = {}


def describe(setup: JobSetup) -> dict[str, Any]:
    """The environment of this machine."""
    return environment(resolve(setup.execution))


def memory(job: MemoryJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Measure the peak memory of each phase of a model or baseline."""
    setup, member = job.setup, job.member
    opened = _opened(setup, member)
    estimator = find_estimator(opened, member.model)
    baseline = find_baseline(opened, member.model)
    if estimator is not None and baseline is not None:
        peaks = peaks_of(
            device=torch.device("cpu"),
            first=baseline.component.resolve,
            set_up=EstimatorTiming(estimator).prepared,
            phases=("inference", "training"),
        )
    else:
        small = _opened(setup, member, _small(member, opened.sizes))
        peaks = peaks_of(
            device=resolve(setup.execution).device,
            first=lambda: _timing(setup, small, member, first=True).small_steps(),
            set_up=lambda: _timing(setup, opened, member),
            phases=("inference", "training"),  # training leaves gradients and optimizer's state
        )
    yield Result(samples={"memory": peaks})


def prepare(setup: JobSetup, place: int, member: CostMember) -> dict[str, Any]:
    """Build what is measured, beside what is there, and return what is known before timing.

    place: by which ``block`` knows it.
    """
    if setup.execution.compile:  # models of one class count as versions of one function
        torch._dynamo.config.recompile_limit = MOST_COMPILED
        torch._dynamo.config.accumulated_recompile_limit = MOST_COMPILED
    opened = _opened(setup, member)
    estimator = find_estimator(opened, member.model)
    if estimator is not None:
        timing: ModelTiming | EstimatorTiming = EstimatorTiming(estimator)
    else:
        timing = _timing(setup, opened, member)
    properties = timing.prepare()
    if setup.execution.compile and "step_seconds" in properties:
        beyond = properties["first_step_seconds"] - properties["step_seconds"]
        properties["compile_seconds"] = max(0.0, beyond)
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
    """What a member is measured with: its own sizes and training settings, where it has any."""
    own = replace(setup, training=member.training or setup.training)
    return open_setup(own, sizes or member.sizes)


def _timing(
    setup: JobSetup, opened: TaskSetup, member: CostMember, *, first: bool = False
) -> ModelTiming:
    """The model of a member on its batches; first: as little work as possible."""
    runtime = resolve(setup.execution)
    model = build_model(opened, member.model, SEED).to(runtime.device)
    if setup.execution.compile:
        model.compile(dynamic=True)
    training = opened.training
    if member.full_length:
        examples = 1 if first else member.full_length
        train = opened.task.full_length_split(opened, examples, runtime.device)
        training = training.model_copy(update={"batch_size": examples})
    else:
        train = opened.task.split(opened, ["train"], runtime.device)
    return ModelTiming(
        model,
        train,
        functools.partial(opened.task.loss, opened),
        opened.task.forward,
        training,
        runtime,
        SEED,
        alike=bool(member.full_length),
    )


def _small(member: CostMember, sizes: Sizes) -> Sizes:
    """The sizes of the steps that load what a process loads once."""
    if "baseline" in member.model:  # a baseline may be of one size alone
        return sizes
    # As many layers as it takes for every component of a pattern to be there.
    changes = {"layers": max(map(len, member.model.values()))}
    if member.full_length:
        changes["max_length"] = min(SMALLEST_LENGTH, sizes.max_length)
    return sizes.model_copy(update=changes)
