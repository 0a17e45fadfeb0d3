"""What a worker can be told to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from zoo.errors import ComponentError, ZooError
from zoo.execution.base import Probe, Setting, Subject, Trial
from zoo.measure.matrix_rate import measure_matrix_rate
from zoo.measure.memory import peak_of
from zoo.measure.scaling import Job
from zoo.measure.timing import FittingProbe, TorchProbe
from zoo.models.seeding import derive, seeded
from zoo.registry import Registry, loading
from zoo.registry.cell import Cell
from zoo.tasks.catalog import find_task
from zoo.tasks.learner import Fitting, Learner
from zoo.train import checkpoint
from zoo.train.device import describe, resolve
from zoo.train.sample_outputs import sample_outputs
from zoo.train.trainer import Trainer

Report = Callable[[Any], None]


def _registry(setting: Setting) -> Registry:
    if setting.plugin_selection is None:
        os.environ.pop("ZOO_PLUGINS", None)
    else:
        os.environ["ZOO_PLUGINS"] = setting.plugin_selection
    return loading.load(setting.plugin_files).registry


def _learner(setting: Setting) -> Learner:
    return find_task(setting.task).learner(setting)


def build(registry: Registry, learner: Learner, subject: Subject, seed: int) -> nn.Module:
    """The torch module of a cell, or of a baseline that the harness trains."""
    if not subject.baseline:
        return learner.build(Cell.parse(registry, dict(subject.cell)), seed)
    choice = registry.choose("baseline", subject.baseline)
    with seeded(seed, "baseline"):
        module = learner.build_baseline(choice)
    if not isinstance(module, nn.Module):
        raise ZooError(
            f"baseline '{choice}' of {choice.component.owner} built a "
            f"{type(module).__name__}, not a torch.nn.Module"
        )
    return module


def _fitting(
    registry: Registry, learner: Learner, subject: Subject, share: float = 0.0
) -> Fitting | None:
    """A baseline that learns by itself; None for whatever the harness trains."""
    if not subject.baseline:
        return None
    return learner.fitting(registry.choose("baseline", subject.baseline), share)


def describe_machine(_: dict[str, Any], setting: Setting, __: Report) -> dict[str, Any]:
    """Resolve device and precision, and tell what the machine is."""
    return describe(resolve(setting.execution))


def try_building(_: dict[str, Any], work: tuple[Setting, list[Subject]], __: Report) -> None:
    """Build subjects once; ZooError where a component refuses the values it was given.

    A component that is itself broken stops nobody else: its own rows will say so.
    """
    setting, subjects = work
    registry, learner = _registry(setting), _learner(setting)
    for subject in subjects:
        if _fitting(registry, learner, subject) is not None:
            continue
        try:
            build(registry, learner, subject, seed=0)
        except ComponentError:
            continue
        except (ValueError, TypeError, RuntimeError) as error:
            raise ZooError(f"{subject.name} cannot be built: {error}") from error


def run_trial(_: dict[str, Any], trial: Trial, report: Report) -> dict[str, Any]:
    """Train and score one subject with one seed."""
    registry, learner = _registry(trial.setting), _learner(trial.setting)
    share = trial.setting.training.validation
    fitting = _fitting(registry, learner, trial.subject, share)
    if fitting is not None:
        return _fitted_trial(fitting, learner, trial)
    return _torch_trial(registry, learner, trial, report)


def _torch_trial(
    registry: Registry, learner: Learner, trial: Trial, report: Report
) -> dict[str, Any]:
    setting = trial.setting
    runtime = resolve(setting.execution)
    model = build(registry, learner, trial.subject, trial.seed).to(runtime.device)
    params = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if setting.execution.compile:
        model.compile(dynamic=True)
    train, scored = learner.splits(runtime, setting.training.validation)
    trainer = Trainer(model, train, learner.loss, setting.training, runtime, trial.seed)
    curve: list[dict[str, float]] = []
    if trial.checkpoint:
        curve = checkpoint.restore(Path(trial.checkpoint), trainer)
    while not trainer.finished:
        epoch = trainer.run_epoch()
        curve.append(vars(epoch))
        if trial.checkpoint and not trainer.finished:
            checkpoint.keep(Path(trial.checkpoint), trainer, curve)
        report({"epoch": epoch.number, "loss": epoch.loss})
    start = time.perf_counter()
    scores = learner.score(model, scored, runtime)
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {
        "metrics": {
            "params": params,
            "train_seconds": sum(row["seconds"] for row in curve),
            "evaluate_seconds": seconds,
            "scored": _scored(setting, learner),
            **scores,
        },
        "curve": curve,
    }
    if trial.weights:
        sizes = setting.sizes
        vocab_size = learner.encoded.vocab_size
        result["witness"] = sample_outputs(model, learner.answers, vocab_size, sizes.max_length)
        checkpoint.write(Path(trial.weights), model.state_dict())
    return result


def _fitted_trial(fitting: Fitting, learner: Learner, trial: Trial) -> dict[str, Any]:
    """Fit and score a baseline that learns by itself, on the same data."""
    np.random.seed(derive(trial.seed, "baseline") % 2**32)  # scikit-learn's default generator
    start = time.perf_counter()
    fitting.fit()
    seconds = time.perf_counter() - start
    return {
        "metrics": {
            "params": getattr(fitting.model, "parameters", None),
            "train_seconds": seconds,
            "scored": _scored(trial.setting, learner),
            **fitting.score(),
        },
        "curve": [],
    }


def _scored(setting: Setting, learner: Learner) -> str:
    return "validation" if setting.training.validation else learner.scored


def prepare_probe(state: dict[str, Any], probe: Probe, _: Report) -> dict[str, Any]:
    """Build what is to be measured, warm it up, and say what is known before timing."""
    state["probe"] = measured = _probe(probe)
    return measured.prepare()


def _probe(probe: Probe) -> TorchProbe | FittingProbe:
    registry, learner = _registry(probe.setting), _learner(probe.setting)
    fitting = _fitting(registry, learner, probe.subject)
    if fitting is not None:
        return FittingProbe(fitting)
    return _torch_probe(registry, learner, probe)


def _torch_probe(registry: Registry, learner: Learner, probe: Probe) -> TorchProbe:
    setting, runtime = probe.setting, resolve(probe.setting.execution)
    model = build(registry, learner, probe.subject, probe.seed).to(runtime.device)
    if setting.execution.compile:
        model.compile(dynamic=True)
    train = learner.training_rows(runtime)
    return TorchProbe(model, train, learner, setting.training, runtime, probe.seed)


def probe_warm_up(state: dict[str, Any], _: None, __: Report) -> float:
    """Seconds that one step of what was prepared takes, once it is warm."""
    seconds: float = state["probe"].warm_up()
    return seconds


def probe_round(state: dict[str, Any], steps: int, _: Report) -> dict[str, Any]:
    """One round of timed steps on what was prepared."""
    samples: dict[str, Any] = state["probe"].round(steps)
    return samples


def probe_memory(_: dict[str, Any], work: tuple[Probe, str], __: Report) -> dict[str, Any]:
    """Peak memory of ``training`` or ``inference``, in a worker that has done nothing else."""
    probe, phase = work
    registry, learner = _registry(probe.setting), _learner(probe.setting)
    device = resolve(probe.setting.execution).device
    fitting = _fitting(registry, learner, probe.subject)
    if fitting is not None:
        texts = FittingProbe(fitting)
        return peak_of(
            device=torch.device("cpu"),
            first=registry.choose("baseline", probe.subject.baseline).component.resolve,
            set_up=texts.fitted if phase == "inference" else lambda: texts,
            phase=phase,
        )
    small = probe
    if probe.subject.cell:  # a baseline may be of one size alone
        sizes = probe.setting.sizes.model_copy(update={"layers": 1})
        small = replace(probe, setting=replace(probe.setting, sizes=sizes))
    return peak_of(
        device=device,
        first=lambda: _torch_probe(registry, _learner(small.setting), small).begin(phase),
        set_up=lambda: _torch_probe(registry, learner, probe),
        phase=phase,
    )


def matrix_rate(_: dict[str, Any], setting: Setting, __: Report) -> float:
    """What this machine's matrix product does at the run's precision, in FLOP/s."""
    return measure_matrix_rate(resolve(setting.execution))


def scale(state: dict[str, Any], work: tuple[Setting, Job], _: Report) -> Any:
    """A piece of ``zoo scale``."""
    from zoo.measure.scale_step import measure

    setting, job = work
    return measure(state, _registry(setting), setting, job)


COMMANDS: dict[str, Callable[[dict[str, Any], Any, Report], Any]] = {
    "describe": describe_machine,
    "try": try_building,
    "trial": run_trial,
    "prepare": prepare_probe,
    "warm-up": probe_warm_up,
    "round": probe_round,
    "memory": probe_memory,
    "matrix-rate": matrix_rate,
    "scale": scale,
}
