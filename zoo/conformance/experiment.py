"""Checks of what an experiment has besides models: data sets, tasks, metrics, executors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.elsewhere import elsewhere, own_plugin
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.setup import Setup, other_values
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts
from zoo.errors import ZooError
from zoo.files import scratch_directory
from zoo.registry import AXES, CAPABILITIES

# Loading takes a while, and so does finding that the Hub cannot be reached.
_LOADED: dict[tuple[object, str], Any] = {}
# What a data set returns, by the capability that it declares.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
# The splits of each.
SPLITS = {
    Corpus: ("train", "test"),
    TaggedCorpus: ("train", "test"),
    Pairs: ("train", "test"),
    Texts: ("train", "validation"),
}
_PROGRAM = """
import sys
from zoo.registry.loading import load

load(sys.argv[2:]).registry.choose("task", sys.argv[1]).build()
print("torch" in sys.modules)
"""
# The share of a class's texts that have its label in them, where a label is written into texts.
WRITTEN, ELSEWHERE = 0.95, 0.05


class DataSetup(Setup, kind="data"):
    """Calls ``load(**parameters)``."""

    contract = Corpus

    def corpus(self) -> Any:
        """The data, loaded once a process; CheckSkipped where the data cannot be had here."""
        key = (self.choice.component.factory, str(self.choice))
        if key not in _LOADED:
            try:
                _LOADED[key] = self.make()
            except ZooError as error:
                _LOADED[key] = error
        loaded = _LOADED[key]
        if isinstance(loaded, ZooError):
            raise CheckSkipped(f"the data cannot be had here: {loaded}")
        return loaded


@check("data")
def holds(setup: DataSetup) -> None:
    """It declares by one capability what it holds, and returns the class that belongs to it."""
    declared = [held for held in CLASSES if setup.can(held)]
    must(len(declared) == 1, f"declares {' and '.join(declared) or 'none'} of {', '.join(CLASSES)}")
    loaded, expected = setup.corpus(), CLASSES[declared[0]]
    found = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(isinstance(loaded, expected), f"gives a {found}, not a zoo.data.{expected.__name__}")


@check("data")
def corpus(setup: DataSetup) -> None:
    """It has its splits, and labelled data have every class, or tag, in both."""
    loaded = setup.corpus()
    found = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(type(loaded) in SPLITS, f"gives a {found}, which is no class of zoo.data")
    for name in SPLITS[type(loaded)]:
        must(name in loaded.splits, f"has no {name} split")
    for split, labels in _labels(loaded):
        counts = Counter(labels)
        absent = [name for number, name in enumerate(loaded.label_names) if not counts[number]]
        must(not absent, f"no {split} document is {', '.join(map(repr, absent))}")


@check("data")
def leakage(setup: DataSetup) -> None:
    """At most a tenth of the test documents are also in the training split."""
    loaded = setup.corpus()
    if isinstance(loaded, Pairs):
        sources = set(loaded.train.texts)
        found = sum(source in sources for source in loaded.test.texts)
    else:
        found = loaded.duplicates
    total = len(loaded.splits[SPLITS[type(loaded)][1]].texts)
    # Some well-known sets have a few duplicates, which are dropped from train and reported.
    must(found <= 0.1 * total, f"{found} of {total} test documents are also in train")


def _labels(loaded: Any) -> list[tuple[str, list[int]]]:
    """The labels of each split that count; none of data without labels."""
    if isinstance(loaded, TaggedCorpus):
        return [
            (split, [tag for its_tags in tags for tag in its_tags if tag != IGNORED])
            for split, (_, tags, _) in loaded.splits.items()
        ]
    if isinstance(loaded, Corpus):
        return [(split, list(labels)) for split, (_, labels, _) in loaded.splits.items()]
    return []


@check("task")
def contract(setup: Setup) -> None:
    """It is a zoo.tasks.base.Task, whose options, needs, data and metrics can be had."""
    from zoo.registry.loading import load

    task = _made(setup)
    model, needed, reads, names = (
        getattr(task, name, None) for name in ("options", "needs", "reads", "metrics")
    )
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise CheckFailed(f"options is {model!r}, no subclass of pydantic.BaseModel")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    must(not required, f"options without a default: {', '.join(required)}")
    if not isinstance(needed, Mapping):
        raise CheckFailed(f"needs is {needed!r}, no mapping from axis to a set of capabilities")
    for axis, capabilities in needed.items():
        must(axis in AXES, f"needs names {axis!r}, which is no axis")
        found = type(capabilities).__name__
        must(isinstance(capabilities, set | frozenset), f"needs of {axis} are a {found}, no set")
        _can_be_declared(axis, capabilities)
    if not isinstance(reads, tuple):
        raise CheckFailed(f"reads is {reads!r}, no tuple of names")
    _can_be_declared("data", reads)
    if not (isinstance(names, tuple) and names):
        raise CheckFailed(f"metrics is {names!r}, no tuple of names")
    registry = load(setup.files).registry
    for name in names:
        try:
            registry.get("metric", name)
        except ZooError as error:
            raise CheckFailed(str(error)) from None


def _can_be_declared(kind: str, capabilities: Iterable[str]) -> None:
    unknown = sorted(set(capabilities) - set(CAPABILITIES[kind]))
    must(not unknown, f"no {kind} can declare {', '.join(map(repr, unknown))}")


@check("task")
def no_torch(setup: Setup) -> None:
    """Importing and building it does not import torch."""
    files, plugins = own_plugin(setup.choice, setup.files)  # another plug-in may import torch
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "ZOO_PLUGINS": plugins, "PYTHONPATH": path}
    command = [sys.executable, "-c", _PROGRAM, str(setup.choice), *files]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    must(done.returncode == 0, f"in a new process: {''.join(done.stderr.splitlines()[-1:])}")
    must(done.stdout.split()[-1:] == ["False"], "it imports torch, which slows down planning")


@check("metric", name="contract")
def metric_contract(setup: Setup) -> None:
    """It is a zoo.tasks.base.Metric: a description of the component's name, and a function."""
    from zoo.config.metric_description import MetricDescription

    metric = _made(setup)
    what = f"description is a {type(metric.description).__name__}, no MetricDescription"
    must(isinstance(metric.description, MetricDescription), what)
    expected, named = setup.choice.component.name.replace("-", "_"), metric.description.name
    must(named == expected, f"the description's name is '{named}' instead of '{expected}'")
    must(callable(metric.compute), f"compute is a {type(metric.compute).__name__}, no function")


def _made(setup: Setup) -> Any:
    """What the factory builds, of its kind; CheckFailed where it gives something else."""
    from zoo.execution.base import Executor
    from zoo.tasks.base import Metric, Task
    from zoo.tracking import Tracker

    kinds = {"task": Task, "metric": Metric, "executor": Executor, "tracker": Tracker}
    expected: Any = kinds[setup.choice.component.kind]
    try:
        made = setup.make()
    except ZooError as error:
        if expected is not Executor:
            raise
        raise CheckSkipped(f"it cannot run here: {error}") from None
    what = f"the factory gives a {type(made).__name__}, no {expected.__name__}"
    must(isinstance(made, expected), what)
    return made


@check("tracker", name="contract")
def tracker_contract(setup: Setup) -> None:
    """The factory builds a zoo.tracking.Tracker, also where its library is not installed."""
    _made(setup)


@check("executor")
def events(setup: Setup) -> None:
    """An executor starts and ends every job once, and its result names the machine that ran it."""
    from zoo.config.request import Request
    from zoo.execution.base import Ended, InspectJob, JobSetup, Limits, Progress, Started

    request = Request()
    execution = request.execution.model_copy(update={"device": "cpu"})
    job_setup = JobSetup(request.task, {}, request.sizes, request.training, execution)
    jobs = [InspectJob(job_setup, f"job {number}", f"job-{number}") for number in range(2)]
    executor = _made(setup)
    try:
        executor.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    try:
        with scratch_directory() as directory:
            run = executor.run(jobs, limits=Limits(), directory=directory)
            seen = [event for event in run if isinstance(event, Started | Progress | Ended)]
    finally:
        executor.close()
    for job in jobs:
        kinds = [type(event) for event in seen if event.job.key == job.key]
        must(kinds.count(Started) == 1, f"{job.name}: {kinds.count(Started)} Started events, not 1")
        must(kinds.count(Ended) == 1, f"{job.name}: {kinds.count(Ended)} Ended events, not 1")
        must(kinds[0] is Started and kinds[-1] is Ended, f"{job.name}: events out of order")
    for event in seen:
        if isinstance(event, Ended):
            result = event.result
            must(result.status == "ok", f"{event.job.name}: {result.status}: {result.reason}")
            must(bool(result.environment.get("device")), f"{event.job.name}: no environment")


@check("data")
def everywhere(setup: DataSetup) -> None:
    """Loaded again, or with another hash seed, folder and date, it gives the same documents."""
    loaded, again = setup.corpus(), setup.make()
    for part, split in loaded.splits.items():
        one, other = split.texts, again.splits[part].texts
        must(len(one) == len(other), f"loaded again: {len(other)} {part} texts, not {len(one)}")
        differing = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        what = f"{len(differing)} of {len(one)} {part} texts differ, the first at {differing[:1]}"
        must(not differing, f"loaded again: {what}")
    must(loaded.fingerprint == again.fingerprint, "loaded again: the fingerprints differ")
    found = elsewhere(setup.choice, setup.files, "zoo.conformance.elsewhere:fingerprint")
    what = "two processes with other hash seeds, folders, dates and random states load other data"
    must(len(found) == 1, f"{what}: sort sets, and draw from random.Random(seed)")


@check("data")
def parameters_act(setup: DataSetup) -> None:
    """Every parameter that is a number or a switch changes the data, or refuses other values."""
    plain = setup.corpus().fingerprint
    for name, default in setup.choice.component.parameters.items():
        ignored = False
        for value in other_values(default):
            other = setup.given(**{**setup.choice.given, name: value})
            try:
                ignored = other.make().fingerprint == plain
            except (ZooError, ValueError):
                continue
            if not ignored:
                break
        must(not ignored, f"'{name}' changes nothing: other values give the same documents")


@check("data", needs="text-labels")
def label_in_text(setup: DataSetup) -> None:
    """No text has its own label written into it."""
    loaded = setup.corpus()
    assert isinstance(loaded, Corpus)
    texts = [*loaded.train.texts, *loaded.test.texts]
    labels = [*loaded.train.targets, *loaded.test.targets]
    words = [set(re.findall(r"\w+", text.lower().replace("_", " "))) for text in texts]
    forms = {
        "name": [name.lower().replace("_", " ") for name in loaded.label_names],
        "number": [str(number) for number in range(len(loaded.label_names))],
    }
    for form, marks in forms.items():
        shares = [
            (_share(words, labels, number, mark, True), _share(words, labels, number, mark, False))
            for number, mark in enumerate(marks)
        ]
        written = all(own >= WRITTEN and others <= ELSEWHERE for own, others in shares)
        must(not written, f"nearly every text has the {form} of its class in it, and no other's")


def _share(words: list[set[str]], labels: list[int], number: int, mark: str, own: bool) -> float:
    """The share of the texts of a class, or of all others, that have all words of the mark."""
    wanted = set(re.findall(r"\w+", mark))
    of = [w for w, label in zip(words, labels, strict=True) if (label == number) == own]
    return sum(bool(wanted) and wanted <= found for found in of) / max(1, len(of))
