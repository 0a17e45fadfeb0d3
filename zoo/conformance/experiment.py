"""Checks of what an experiment has besides models: data sets, tasks, metrics, executors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from zoo.conformance.assertions import must
from zoo.conformance.check import CheckFailed, CheckSkipped, check
from zoo.conformance.setup import Setup
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, CAPABILITIES, Choice

# Loading takes a while, and so does finding that the Hub cannot be reached.
_LOADED: dict[tuple[object, str], Any] = {}
# What a data set returns, by the capability that it declares.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
# The parts of each that must be lists.
PARTS = {
    Corpus: ("train_texts", "train_labels", "test_texts", "test_labels", "label_names"),
    TaggedCorpus: ("train_tokens", "train_tags", "test_tokens", "test_tags", "label_names"),
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
    """Its parts are lists, and labelled data have every class, or tag, in both splits."""
    loaded = setup.corpus()
    found = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(type(loaded) in PARTS, f"gives a {found}, which is no class of zoo.data")
    for name in PARTS[type(loaded)]:
        part, what = getattr(loaded, name), name.replace("_", " ")
        must(isinstance(part, list), f"{what} are a {type(part).__name__}, no list")
    for split, labels in _labels(loaded):
        counts = Counter(labels)
        absent = [name for number, name in enumerate(loaded.label_names) if not counts[number]]
        must(not absent, f"no {split} document is {', '.join(map(repr, absent))}")


@check("data")
def same_again(setup: DataSetup) -> None:
    """Loading it again gives the same documents in the same order."""
    loaded, again = setup.corpus(), setup.make()
    for part in PARTS[type(loaded)]:
        one, other = getattr(loaded, part), getattr(again, part)
        must(len(one) == len(other), f"{len(other)} {part} instead of {len(one)}")
        differing = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        what = f"{len(differing)} of {len(one)} {part} differ, the first at {differing[:1]}"
        must(not differing, what)
    must(loaded.fingerprint == again.fingerprint, "the fingerprints differ")


@check("data")
def leakage(setup: DataSetup) -> None:
    """At most a tenth of the test documents are also in the training split."""
    loaded = setup.corpus()
    if isinstance(loaded, Pairs):
        sources = {source for source, _ in loaded.train}
        found, total = sum(source in sources for source, _ in loaded.test), len(loaded.test)
    else:
        scored = next(part for part in PARTS[type(loaded)] if part.startswith(("test", "valid")))
        found, total = loaded.duplicates, len(getattr(loaded, scored))
    # Some well-known sets have a few duplicates, which are dropped from train and reported.
    must(found <= 0.1 * total, f"{found} of {total} test documents are also in train")


def _labels(loaded: Any) -> list[tuple[str, list[int]]]:
    """The labels of each split that count; none of data without labels."""
    if isinstance(loaded, TaggedCorpus):
        return [
            (split, [tag for its_tags in tags for tag in its_tags if tag != IGNORED])
            for split, _, tags in loaded.splits()
        ]
    if isinstance(loaded, Corpus):
        return [(split, labels) for split, _, labels in loaded.splits()]
    return []


@check("task")
def contract(setup: Setup) -> None:
    """The factory builds a zoo.tasks.base.Task without any argument."""
    _made(setup)


@check("task")
def options(setup: Setup) -> None:
    """Its options are a pydantic model, and every field has a default."""
    model = getattr(_made(setup), "options", None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise CheckFailed(f"options is {model!r}, no subclass of pydantic.BaseModel")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    must(not required, f"options without a default: {', '.join(required)}")


@check("task")
def needs(setup: Setup) -> None:
    """It needs, by axis, capabilities that components of that axis can declare."""
    needed = getattr(_made(setup), "needs", None)
    if not isinstance(needed, Mapping):
        raise CheckFailed(f"needs is {needed!r}, no mapping from axis to a set of capabilities")
    for axis, capabilities in needed.items():
        must(axis in AXES, f"needs names {axis!r}, which is no axis")
        found = type(capabilities).__name__
        must(isinstance(capabilities, set | frozenset), f"needs of {axis} are a {found}, no set")
        unknown = sorted(set(capabilities) - set(CAPABILITIES[axis]))
        must(not unknown, f"no {axis} can declare {', '.join(map(repr, unknown))}")


@check("task")
def reads(setup: Setup) -> None:
    """The data that it reads are named by capabilities that data can declare."""
    names = getattr(_made(setup), "reads", None)
    if not isinstance(names, tuple):
        raise CheckFailed(f"reads is {names!r}, no tuple of names")
    unknown = sorted(set(names) - set(CAPABILITIES["data"]))
    must(not unknown, f"no data can declare {', '.join(map(repr, unknown))}")


@check("task")
def metrics(setup: Setup) -> None:
    """It has at least one metric, and all its metrics are registered."""
    from zoo.registry.loading import load

    names = getattr(_made(setup), "metrics", None)
    must(isinstance(names, tuple) and bool(names), f"metrics is {names!r}, no tuple of names")
    registry = load(setup.files).registry
    for name in names or ():
        try:
            registry.get("metric", name)
        except ZooError as error:
            raise CheckFailed(str(error)) from None


@check("task")
def no_torch(setup: Setup) -> None:
    """Importing and building it does not import torch."""
    owner, file = setup.choice.component.owner, setup.choice.component.file()
    files = [file] if file and Path(file).name == owner.distribution else []
    others = files or owner.distribution == BUILT_IN
    environment = {
        **os.environ,
        "ZOO_PLUGINS": "" if others else owner.distribution,  # another plug-in may import torch
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", _PROGRAM, str(setup.choice), *files]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    must(done.returncode == 0, f"in a new process: {''.join(done.stderr.splitlines()[-1:])}")
    must(done.stdout.split()[-1:] == ["False"], "it imports torch, which slows down planning")


@check("metric", name="contract")
def metric_contract(setup: Setup) -> None:
    """The factory builds a zoo.tasks.base.Metric: a description, and a function of outputs."""
    from zoo.config.metric_description import MetricDescription

    metric = _made(setup)
    what = f"description is a {type(metric.description).__name__}, no MetricDescription"
    must(isinstance(metric.description, MetricDescription), what)
    must(callable(metric.compute), f"compute is a {type(metric.compute).__name__}, no function")


@check("metric")
def name(setup: Setup) -> None:
    """Its description has the component's name, with '_' in place of '-'."""
    expected, named = setup.choice.component.name.replace("-", "_"), _made(setup).description.name
    must(named == expected, f"the description's name is '{named}' instead of '{expected}'")


def _made(setup: Setup) -> Any:
    """The task or metric; CheckFailed where the factory gives something else."""
    from zoo.tasks.base import Metric, Task

    made, expected = setup.make(), {"task": Task, "metric": Metric}[setup.choice.component.kind]
    what = f"the factory gives a {type(made).__name__}, no {expected.__name__}"
    must(isinstance(made, expected), what)
    return made


def _executor(setup: Setup) -> Any:
    """The executor; CheckSkipped where it cannot run here, as without what it needs installed."""
    try:
        return setup.make()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None


@check("executor", name="contract")
def executor_contract(setup: Setup) -> None:
    """The factory builds a zoo.execution.base.Executor."""
    from zoo.execution.base import Executor

    executor = _executor(setup)
    must(isinstance(executor, Executor), f"it builds a {type(executor).__name__}, not an Executor")


@check("tracker", name="contract")
def tracker_contract(setup: Setup) -> None:
    """The factory builds a zoo.tracking.Tracker, also where its library is not installed."""
    from zoo.tracking import Tracker

    tracker = setup.make()
    must(isinstance(tracker, Tracker), f"it builds a {type(tracker).__name__}, not a Tracker")


@check("executor")
def events(setup: Setup) -> None:
    """Every job starts once and ends once, and its result names the machine that ran it."""
    from zoo.config.request import Request
    from zoo.execution.base import Ended, InspectJob, JobSetup, Limits, Progress, Started

    request = Request()
    execution = request.execution.model_copy(update={"device": "cpu"})
    job_setup = JobSetup(request.task, {}, request.sizes, request.training, execution)
    jobs = [InspectJob(job_setup, f"job {number}", f"job-{number}") for number in range(2)]
    executor = _executor(setup)
    try:
        executor.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    try:
        with tempfile.TemporaryDirectory() as directory:
            run = executor.run(jobs, limits=Limits(), directory=Path(directory))
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
    """With another hash seed, folder, date and random state it gives the same documents."""
    setup.corpus()
    found = setup.elsewhere("zoo.conformance.elsewhere:fingerprint")
    what = "two processes with other hash seeds, folders, dates and random states load other data"
    must(len(found) == 1, f"{what}: sort sets, and draw from random.Random(seed)")


@check("data")
def parameters_act(setup: DataSetup) -> None:
    """Every parameter that is a number or a switch changes the data, or refuses other values."""
    plain, component = setup.corpus().fingerprint, setup.choice.component
    for name, default in component.parameters.items():
        prints = []
        for value in _others(default):
            given = {**setup.choice.given, name: value}
            try:
                prints.append(Choice(component, setup.choice.label, given).build().fingerprint)
            except (ZooError, ValueError):
                continue
            if prints[-1] != plain:
                break
        ignored = bool(prints) and set(prints) == {plain}
        must(not ignored, f"'{name}' changes nothing: other values give the same documents")


def _others(default: object) -> Iterator[object]:
    """Other values of a parameter, near its default first."""
    if isinstance(default, bool):
        yield not default
    elif isinstance(default, int):
        yield from (default + 1, 2 * default + 1, max(1, default // 2))
    elif isinstance(default, float):
        yield from (default / 2, min(2 * default, (1 + default) / 2))


@check("data", needs="text-labels")
def label_in_text(setup: DataSetup) -> None:
    """No text has its own label written into it."""
    loaded = setup.corpus()
    assert isinstance(loaded, Corpus)
    texts = [*loaded.train_texts, *loaded.test_texts]
    labels = [*loaded.train_labels, *loaded.test_labels]
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
