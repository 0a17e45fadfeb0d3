"""What a worker can be told to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from zoo import plugins
from zoo.data.batches import Split
from zoo.data.encode import Encoded
from zoo.errors import ComponentError, ZooError
from zoo.harness import checkpoint
from zoo.harness.device import Runtime, describe, resolve
from zoo.harness.jobs import Probe, Setting, Subject, Trial
from zoo.harness.memory import peak_of
from zoo.harness.probe import TextProbe, TorchProbe
from zoo.harness.rate import measure_matrix_rate
from zoo.harness.trainer import Trainer, predict, score
from zoo.harness.witness import testify
from zoo.models.build import build_classifier
from zoo.models.cell import Cell
from zoo.models.seeding import derive, seeded
from zoo.registry import Registry

Report = Callable[[Any], None]
EVALUATION_BATCH = 128


def _registry(setting: Setting) -> Registry:
    if setting.plugin_selection is None:
        os.environ.pop("ZOO_PLUGINS", None)
    else:
        os.environ["ZOO_PLUGINS"] = setting.plugin_selection
    return plugins.load(setting.plugin_files).registry


def build(
    registry: Registry, subject: Subject, setting: Setting, encoded: Encoded, seed: int
) -> nn.Module:
    """The torch module of a cell or of a baseline that declares ``tokens``."""
    if subject.baseline:
        choice = registry.choose("baseline", subject.baseline)
        told = {"vocabulary": encoded.vocabulary()} if choice.can("vocabulary") else {}
        with seeded(seed, "baseline"):
            module = choice.build(
                vocab_size=encoded.vocab_size,
                classes=len(encoded.label_names),
                sizes=setting.sizes,
                dropout=setting.training.dropout,
                **told,
            )
        if not isinstance(module, nn.Module):
            raise ZooError(
                f"baseline '{choice}' of {choice.component.owner} built a "
                f"{type(module).__name__}, not a torch.nn.Module"
            )
        return module
    return build_classifier(
        Cell.parse(registry, dict(subject.cell)),
        setting.sizes,
        vocab_size=encoded.vocab_size,
        classes=len(encoded.label_names),
        seed=seed,
        dropout=setting.training.dropout,
        attention_dropout=setting.training.attention_dropout,
        read_last=setting.read_last,
    )


def _learns_from_texts(registry: Registry, subject: Subject) -> bool:
    return bool(subject.baseline) and registry.choose("baseline", subject.baseline).can("texts")


def describe_machine(_: dict[str, Any], setting: Setting, __: Report) -> dict[str, Any]:
    """Resolve device and precision, and tell what the machine is."""
    return describe(resolve(setting.execution))


def try_building(_: dict[str, Any], work: tuple[Setting, list[Subject]], __: Report) -> None:
    """Build subjects once; ZooError where a component refuses the values it was given.

    A component that is itself broken stops nobody else: its own rows will say so.
    """
    setting, subjects = work
    registry, encoded = _registry(setting), Encoded.open(setting.data)
    for subject in subjects:
        try:
            build(registry, subject, setting, encoded, seed=0)
        except ComponentError:
            continue
        except (ValueError, TypeError, RuntimeError) as error:
            raise ZooError(f"{subject.name} cannot be built: {error}") from error


def run_trial(_: dict[str, Any], trial: Trial, report: Report) -> dict[str, Any]:
    """Train and score one subject with one seed."""
    registry = _registry(trial.setting)
    encoded = Encoded.open(trial.setting.data)
    if _learns_from_texts(registry, trial.subject):
        return _text_trial(registry, trial, encoded)
    return _torch_trial(registry, trial, encoded, report)


def _splits(encoded: Encoded, trial: Trial, device: torch.device) -> tuple[Split, Split]:
    """The split to train on and the split to score."""
    train, share = Split(encoded.split("train"), device), trial.setting.training.validation
    if not share:
        return train, Split(encoded.split("test"), device)
    fit, held = validation_rows(train.labels.cpu().numpy(), share)
    return train.subset(fit), train.subset(held)


def validation_rows(labels: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows held out: stratified, and the same for every cell and seed."""
    from sklearn.model_selection import train_test_split

    fit, held = train_test_split(
        np.arange(len(labels)), test_size=share, random_state=0, stratify=np.asarray(labels)
    )
    return np.sort(fit), np.sort(held)


def _torch_trial(
    registry: Registry, trial: Trial, encoded: Encoded, report: Report
) -> dict[str, Any]:
    runtime = resolve(trial.setting.execution)
    model = build(registry, trial.subject, trial.setting, encoded, trial.seed).to(runtime.device)
    params = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if trial.setting.execution.compile:
        model.compile(dynamic=True)
    train, scored = _splits(encoded, trial, runtime.device)
    trainer = Trainer(model, train, trial.setting.training, runtime, trial.seed)
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
    scores = predict(model, scored, EVALUATION_BATCH, runtime)
    seconds = time.perf_counter() - start
    labels = scored.labels.cpu().numpy()
    result: dict[str, Any] = {
        "metrics": {
            "params": params,
            "train_seconds": sum(row["seconds"] for row in curve),
            "evaluate_seconds": seconds,
            "scored": "validation" if trial.setting.training.validation else "test",
            **score(scores.argmax(axis=1), labels, len(encoded.label_names)),
        },
        "curve": curve,
    }
    if trial.weights:
        result["witness"] = testify(model, encoded.vocab_size, encoded.max_length)
        checkpoint.write(Path(trial.weights), model.state_dict())
    return result


def _text_trial(registry: Registry, trial: Trial, encoded: Encoded) -> dict[str, Any]:
    """Fit and score a baseline that learns from raw texts, on the same documents."""
    corpus, share = encoded.corpus(), trial.setting.training.validation
    texts, labels = corpus.train_texts, np.array(corpus.train_labels)
    if share:
        fit, held = validation_rows(labels, share)
        scored_texts, scored_labels = [texts[i] for i in held], labels[held]
        texts, labels = [texts[i] for i in fit], labels[fit]
    else:
        scored_texts, scored_labels = corpus.test_texts, np.array(corpus.test_labels)
    np.random.seed(derive(trial.seed, "baseline") % 2**32)  # scikit-learn's default generator
    model = registry.choose("baseline", trial.subject.baseline).build()
    start = time.perf_counter()
    model.fit(texts, labels.tolist())
    seconds = time.perf_counter() - start
    predicted = np.array(model.predict(scored_texts))
    return {
        "metrics": {
            "params": getattr(model, "parameters", None),
            "train_seconds": seconds,
            "scored": "validation" if share else "test",
            **score(predicted, scored_labels, len(encoded.label_names)),
        },
        "curve": [],
    }


def prepare_probe(state: dict[str, Any], probe: Probe, _: Report) -> dict[str, Any]:
    """Build what is to be measured, warm it up, and say what is known before timing."""
    registry, encoded = _registry(probe.setting), Encoded.open(probe.setting.data)
    if _learns_from_texts(registry, probe.subject):
        choice = registry.choose("baseline", probe.subject.baseline)
        state["probe"] = TextProbe(choice.build, encoded)
        facts: dict[str, Any] = state["probe"].prepare()
        return facts
    state["probe"] = measured = _torch_probe(registry, probe, encoded)
    return measured.prepare()


def _torch_probe(registry: Registry, probe: Probe, encoded: Encoded) -> TorchProbe:
    runtime: Runtime = resolve(probe.setting.execution)
    model = build(registry, probe.subject, probe.setting, encoded, probe.seed).to(runtime.device)
    if probe.setting.execution.compile:
        model.compile(dynamic=True)
    train = Split(encoded.split("train"), runtime.device)
    return TorchProbe(model, train, probe.setting.training, runtime, probe.seed)


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
    registry, encoded = _registry(probe.setting), Encoded.open(probe.setting.data)
    device = resolve(probe.setting.execution).device
    if _learns_from_texts(registry, probe.subject):
        choice = registry.choose("baseline", probe.subject.baseline)
        texts = TextProbe(choice.build, encoded)
        ready = texts.fitted if phase == "inference" else lambda: texts
        return peak_of(device=torch.device("cpu"), set_up=ready, phase=phase)
    return peak_of(
        device=device, set_up=lambda: _torch_probe(registry, probe, encoded), phase=phase
    )


def matrix_rate(_: dict[str, Any], setting: Setting, __: Report) -> float:
    """What this machine's matrix product does at the run's precision, in FLOP/s."""
    return measure_matrix_rate(resolve(setting.execution))


COMMANDS: dict[str, Callable[[dict[str, Any], Any, Report], Any]] = {
    "describe": describe_machine,
    "try": try_building,
    "trial": run_trial,
    "prepare": prepare_probe,
    "warm-up": probe_warm_up,
    "round": probe_round,
    "memory": probe_memory,
    "matrix-rate": matrix_rate,
}
