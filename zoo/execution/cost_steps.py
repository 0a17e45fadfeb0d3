"""The steps of a cost job, each a call in a worker process."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from zoo.config.sizes import Sizes
from zoo.execution.base import CostMember, JobSetup
from zoo.execution.machine import environment
from zoo.execution.open_setup import build_model, find_baseline, find_estimator, open_setup
from zoo.measure import turns
from zoo.measure.memory import peaks_of
from zoo.measure.timing import EstimatorTiming, ModelTiming, measure_matrix_rate
from zoo.measure.turns import PHASES, TURN_SECONDS, Pair
from zoo.tasks.base import TaskSetup
from zoo.training.device import resolve

SEED = 0  # of the weights and of the batches
SMALLEST_LENGTH = 8  # tokens of the first steps where examples are made up
MOST_COMPILED = 1000


def describe(setup: JobSetup) -> dict[str, Any]:
    """The environment of this machine."""
    return environment(resolve(setup.execution))


def matrix_rate(setup: JobSetup) -> float:
    """The rate of a matrix product at the run's precision, in FLOP/s."""
    return measure_matrix_rate(resolve(setup.execution))


def memory(setup: JobSetup, member: CostMember) -> tuple[dict[str, dict[str, Any]], Any]:
    """Peak memory of each phase, in a process that has done nothing else.

    And what a baseline chose on its training texts, as a model that is not fitted; None where there
    is nothing, or it cannot be sent: then every process chooses anew.
    """
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
        chosen = getattr(estimator.model, "chosen", lambda: None)()
        with contextlib.suppress(Exception):  # a plug-in's pickling may raise anything
            ForkingPickler.dumps(chosen)
            return peaks, chosen
        return peaks, None
    small = _opened(setup, member, _small(member, opened.sizes))
    peaks = peaks_of(
        device=resolve(setup.execution).device,
        first=lambda: _timing(setup, small, member, first=True).small_steps(),
        set_up=lambda: _timing(setup, opened, member),
        phases=("inference", "training"),  # training leaves gradients and the optimizer's state
    )
    return peaks, None


def prepare(
    state: dict[str, Any], setup: JobSetup, place: int, member: CostMember, chosen: Any = None
) -> dict[str, Any]:
    """Build what is measured, beside what is there, and return what is known before timing.

    place: by which ``block`` knows it. chosen: of a baseline, as ``memory`` returns it.
    """
    if setup.execution.compile:  # models of one class count as versions of one function
        torch._dynamo.config.recompile_limit = MOST_COMPILED
        torch._dynamo.config.accumulated_recompile_limit = MOST_COMPILED
    opened = _opened(setup, member)
    estimator = find_estimator(opened, member.model)
    if estimator is not None:
        if chosen is not None:
            estimator.factory = functools.partial(copy.deepcopy, chosen)
        timing: ModelTiming | EstimatorTiming = EstimatorTiming(estimator)
    else:
        timing = _timing(setup, opened, member)
    found = timing.prepare()
    if setup.execution.compile and "step_seconds" in found:
        beyond = found["first_step_seconds"] - found["step_seconds"]
        found["compile_seconds"] = max(0.0, beyond)
    state.setdefault("works", {})[place] = timing.works()
    state["synchronise"] = resolve(setup.execution).synchronise
    gc.freeze()  # or a collection within a turn would look at all of torch
    return found


def block(
    state: dict[str, Any], number: int, places: Sequence[int], threads: int = 0
) -> Iterator[tuple[str, int, Pair | None]]:
    """A turn of each phase for each of these, in random order, on batch ``number``.

    Yields the phase and the place of what begins its turn, with None, and of what has ended it,
    with the seconds of a step. threads: so many instead of the process's own, for the phases that
    are throughput.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    for phase in PHASES if threads else TURN_SECONDS:
        works = {place: state["works"][place].get(phase) for place in places}
        able = {place: work for place, work in works.items() if work is not None}
        for place, pair in turns.block(able, number, TURN_SECONDS[phase], state["synchronise"]):
            yield phase, place, pair
    torch.set_num_threads(before)


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
