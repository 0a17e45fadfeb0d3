"""What holds of every metric, task, executor and tracker."""

from __future__ import annotations

import copy
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from zoo.conformance.assertions import must, trying
from zoo.conformance.check import check
from zoo.conformance.elsewhere import environment, own_plugin
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.parts import Part
from zoo.errors import ZooError
from zoo.files import scratch_directory
from zoo.registry import AXES, CAPABILITIES

CELL = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "gelu",
    "block": "pre",
    "pool": "mean",
}
# Small data of each sort that a task may read.
DATA = {
    "text-labels": "newswire(train=40, test=20)",
    "token-labels": "recall(train=80, test=40, pairs=4, values=2)",
    "pairs": "copy(train=80, test=20)",
    "text": "newswire(train=12, test=6)",
}
_PROGRAM = """
import sys
from zoo.registry.loading import load

load(sys.argv[2:]).registry.choose("task", sys.argv[1]).build()
print("torch" in sys.modules)
"""
CLASSES, EXAMPLES = 4, 60
TAG_NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]
TAGS, WRONG = np.array([[1, 2, 0, 3], [0, 3, 4, 1], [3, 0, 1, 2]]), np.array([1, 3, 0, 1, 0])


def _made(part: Part, kind: type[Any]) -> Any:
    """What the factory builds, of its kind; CheckFailed where it gives something else."""
    made = part.make()
    what = f"the factory gives a {type(made).__name__}, no {kind.__name__}"
    must(isinstance(made, kind), what)
    return made


@check("laws", "metric")
def metric(part: Part) -> None:
    """Perfect is best, worse is not better, and neither order nor number of examples matters."""
    from zoo.config.metric_description import MetricDescription
    from zoo.tasks.base import Metric

    made = _made(part, Metric)
    what = f"description is a {type(made.description).__name__}, no MetricDescription"
    must(isinstance(made.description, MetricDescription), what)
    expected, own = part.choice.component.name.replace("-", "_"), made.description.name
    must(own == expected, f"the description's name is '{own}' instead of '{expected}'")
    must(callable(made.compute), f"compute is a {type(made.compute).__name__}, no function")
    applies = made.applies(["a", "b"])
    must(isinstance(applies, bool), f"applies gives {applies!r:.40}, no bool")
    computed = False
    for name, outputs in OUTPUTS.items():
        given = outputs(np.ones(EXAMPLES, dtype=bool), np.arange(EXAMPLES), 0)
        try:
            made.compute(given)
        except KeyError as error:
            if error.args[0] in given:
                raise
            continue  # it is of another task
        computed = True
        with trying(f"outputs of {name}"):
            _metric_laws(made, outputs)
    if not computed:
        raise CheckSkipped("no task of the zoo gives the outputs that it reads")


Outputs = Callable[[np.ndarray, np.ndarray, int], dict[str, Any]]


def _classes(right: np.ndarray, order: np.ndarray, absent: int) -> dict[str, Any]:
    """Outputs of classification, where these examples are right."""
    labels = np.arange(EXAMPLES) % CLASSES
    labels[:9] = 0  # classes of unequal size
    predicted = np.where(right, labels, (labels + 1) % CLASSES)
    return {"labels": labels[order], "predicted": predicted[order], "classes": CLASSES + absent}


def _tags(right: np.ndarray, order: np.ndarray, absent: int) -> dict[str, Any]:
    """Outputs of tagging: texts of four tokens, which are right or not as a whole."""
    labels = TAGS[order % len(TAGS)]
    predicted = np.where(right[order, None], labels, WRONG[labels])
    return {
        "labels": labels.reshape(-1),
        "predicted": predicted.reshape(-1),
        "lengths": np.full(len(order), TAGS.shape[1]),
        "names": [*TAG_NAMES, *["B-Z"] * absent],
        "classes": len(TAG_NAMES) + absent,
        "right_tokens": float((labels == predicted).sum()),
        "tokens": labels.size,
    }


def _counts(right: np.ndarray, order: np.ndarray, absent: int) -> dict[str, Any]:
    """Outputs of models of text and of pairs: the more are right, the fewer nats there are."""
    total, wrong = len(order), int((~right[order]).sum())
    return {
        "nats": 3.0 * wrong,
        "bytes": 4 * total,
        "tokens": 5 * total,
        "right_tokens": 5.0 * (total - wrong),
        "pairs": total,
        "wrong": wrong,
    }


OUTPUTS: dict[str, Outputs] = {"classes": _classes, "tags": _tags, "counts": _counts}


def _metric_laws(made: Any, outputs: Outputs) -> None:
    about, order = made.description, np.arange(EXAMPLES)

    def value(right: np.ndarray, order: np.ndarray = order, absent: int = 0) -> float:
        given = outputs(right, order, absent)
        before = copy.deepcopy(given)
        raw = made.compute(given)
        must(type(raw) in (float, int), f"compute gives a {type(raw).__name__}, no plain float")
        for name, entry in given.items():
            must(np.array_equal(entry, before[name]), f"compute changes the outputs' '{name}'")
        return float(made.of(given))

    # So many of ten groups of examples are right.
    levels = [np.arange(EXAMPLES) // 4 % 5 < n for n in (5, 4, 2, 0)]
    values = [value(right) for right in levels]
    steps = [about.better(more - less) for more, less in itertools.pairwise(values)]
    shown = ", ".join(f"{v:.4g}" for v in values)
    what = f"where all, 4/5, 2/5 and no examples are right, it is {shown}"
    must(values[0] != values[-1], f"{what}: nothing depends on the predictions")
    sign = "higher" if about.higher_is_better else "lower"
    must(min(steps) >= -1e-9, f"{what}, but {sign} is said to be better")
    best = about.highest if about.higher_is_better else about.lowest
    if about.highest is not None and best is not None:
        must(abs(values[0] - best) < 1e-9, f"{what}; perfect must be {best:g}, the best there is")
    shuffled = np.random.default_rng(0).permutation(EXAMPLES)
    for right, expected in zip(levels, values, strict=True):
        for how, other in (
            ("in another order", value(right, shuffled)),
            ("each twice", value(right, np.concatenate([order, order]))),
            ("with a class that is nowhere", value(right, absent=1)),
            ("by the mean of examples", right.mean() if about.paired else expected),
        ):
            must(abs(other - expected) < 1e-9, f"{expected:.6g}, and {other:.6g} {how}")


@check("laws", "task")
def task(part: Part) -> None:
    """It is a Task that imports no torch; a small model of it learns, and is scored alike."""
    from zoo.registry.loading import load
    from zoo.tasks.base import Task

    made = _made(part, Task)
    parts: list[Any] = [
        getattr(made, name, None) for name in ("options", "needs", "reads", "metrics")
    ]
    model, needed, reads, names = parts
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise CheckFailed(f"options is {model!r}, no subclass of pydantic.BaseModel")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    must(not required, f"options without a default: {', '.join(required)}")
    if not isinstance(needed, Mapping):
        raise CheckFailed(f"needs is {needed!r}, no mapping from axis to a set of capabilities")
    for name, value in (("reads", reads), ("metrics", names or None)):
        must(isinstance(value, tuple), f"{name} is {getattr(made, name)!r}, no tuple of names")
    for axis, capabilities in {**needed, "data": frozenset(reads)}.items():
        must(axis in (*AXES, "data"), f"needs names {axis!r}, which is no axis")
        own = type(capabilities).__name__
        must(isinstance(capabilities, set | frozenset), f"needs of {axis} are a {own}, no set")
        unknown = sorted(set(capabilities) - set(CAPABILITIES[axis]))
        must(not unknown, f"no {axis} can declare {', '.join(map(repr, unknown))}")
    registry = load(part.files).registry
    for name in names:
        try:
            registry.get("metric", name)
        except ZooError as error:
            raise CheckFailed(str(error)) from None
    _no_torch(part)
    if reads and type(made).load is not Task.load:
        _tiny_run(made, reads, registry)


def _no_torch(part: Part) -> None:
    """Planning imports a task, and must not wait for torch."""
    files, plugins = own_plugin(part.choice, part.files)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(part.choice), *files],
        capture_output=True,
        text=True,
        check=False,
        env=environment(ZOO_PLUGINS=plugins),
    )
    if re.search("no task '|ZOO_PLUGINS names", done.stderr):
        return  # this process alone has registered it
    must(not done.returncode, f"in a new process: {''.join(done.stderr.splitlines()[-1:])}")
    must(done.stdout.split()[-1:] == ["False"], "it imports torch, which slows down planning")


def _tiny_run(made: Any, reads: tuple[str, ...], registry: Any) -> None:
    """Loss falls; training and held-out rows differ; neither order nor batch changes a score."""
    import torch

    from zoo.config.settings import Execution, Training
    from zoo.config.sizes import Sizes
    from zoo.registry.cell import Cell
    from zoo.tasks.base import TaskSetup
    from zoo.training.device import resolve
    from zoo.training.trainer import Trainer

    sizes = Sizes(dim=16, layers=1, heads=2, ffn_dim=32, max_length=32, vocab_size=300)
    options = made.options()
    loaded = made.load(DATA[reads[0]], options, sizes, registry)
    encoded = loaded.encoded
    json.dumps(loaded.description)
    training = Training(epochs=4, batch_size=8, lr=0.01, dropout=0.0)

    def setup_of(**settings: Any) -> TaskSetup:
        changed = training.model_copy(update=settings)
        return TaskSetup(
            made,
            options,
            sizes,
            changed,
            encoded.vocab_size,
            encoded.label_names,
            encoded,
            registry=registry,
        )

    setup, device = setup_of(), torch.device("cpu")
    runtime = resolve(Execution(device="cpu"))
    with trying("a small model"):
        model = made.build(setup, Cell.parse(registry, CELL), 0)
        train, scored = made.splits(setup, device)
    rest, held_out = (_rows(split) for split in made.splits(setup_of(validation=0.25), device))
    must(bool(held_out), "with a share of train to hold out, it holds out nothing")
    shared = rest & held_out
    must(not shared, f"{len(shared)} held-out examples are also trained on")
    _loss_of_each(made, setup, model, train)
    trainer = Trainer(
        model, train, lambda m, batch: made.loss(setup, m, batch), setup.training, runtime, 0
    )
    losses = [trainer.run_epoch()["loss"] for _ in range(setup.training.epochs)]
    falls = losses[-1] < losses[0]
    must(falls, f"in {len(losses)} epochs the loss goes from {losses[0]:.4g} to {losses[-1]:.4g}")
    metrics = made.metrics_from(registry, encoded.label_names)
    must(bool(metrics), "no metric of it applies to the data")

    def scores(split: Any) -> np.ndarray:
        evaluation = made.evaluate(setup, model, split, runtime)
        json.dumps(evaluation.details)
        return np.array([metric.of(evaluation.outputs) for metric in metrics])

    with trying("an evaluation"):
        expected, rows = scores(scored), np.arange(len(scored))
        outcomes = {"evaluated twice": scores(scored)}
        if hasattr(scored, "subset"):
            outcomes["in another order"] = scores(scored.subset(rows[::-1].copy()))
            halves = np.array_split(rows, 2)
            parts = [scores(scored.subset(half)) for half in halves]
            mean = np.average(parts, axis=0, weights=list(map(len, halves)))
            paired = [metric.description.paired for metric in metrics]
            outcomes["by halves"] = np.where(paired, mean, expected)
        for how, other in outcomes.items():
            what = f"{how} the scores are {other.tolist()}, not {expected.tolist()}"
            must(np.allclose(other, expected), what)


def _rows(split: Any) -> set[tuple[int, ...]]:
    """What each example of a split is made of."""
    return {tuple(batch.ids.flatten().tolist()) for batch in split.ordered(1)}


def _loss_of_each(made: Any, setup: Any, model: Any, train: Any) -> None:
    """The mean loss of a batch is that of its examples, whatever their padding."""
    import torch

    lengths = np.asarray(train.lengths)
    rows = np.array([int(lengths.argmax()), int(lengths.argmin())])
    model.eval()
    losses, items = [], []
    with torch.no_grad(), trying("the loss of a batch"):
        for batch in map(train.batch, (rows, rows, rows[:1], rows[1:])):
            value, _ = made.loss(setup, model, batch)
            must(value.dim() == 0, f"the loss has shape {tuple(value.shape)}, not that of a number")
            losses.append(float(value))
            items.append(batch.items)
    both, again, *apart = losses
    if both != again or items[0] != items[1] or items[0] == 0:
        return  # what is predicted is drawn anew
    mean = sum(value * count for value, count in zip(apart, items[2:], strict=True)) / items[0]
    must(
        abs(mean - both) < 1e-4 * (1 + abs(mean)),
        f"a batch of two has a loss of {both:.6g}, its examples alone one of {mean:.6g} on "
        "average: padding counts",
    )


@check("laws", "tracker")
def tracker(part: Part) -> None:
    """The factory builds a zoo.tracking.Tracker, also where its library is not installed."""
    from zoo.tracking import Tracker

    _made(part, Tracker)


@check("laws", "executor")
def executor(part: Part) -> None:
    """An executor starts and ends every job once, and its result names the machine that ran it."""
    from zoo.config.request import Request
    from zoo.execution.base import Ended, Executor, InspectJob, JobSetup, Limits, Progress, Started

    request = Request()
    execution = request.execution.model_copy(update={"device": "cpu"})
    job_setup = JobSetup(request.task, {}, request.sizes, request.training, execution)
    jobs = [InspectJob(job_setup, f"job {number}", f"job-{number}") for number in range(2)]
    try:
        made = _made(part, Executor)
        made.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    try:
        with scratch_directory() as directory:
            run = made.run(jobs, limits=Limits(), directory=directory)
            seen = [event for event in run if isinstance(event, Started | Progress | Ended)]
    finally:
        made.close()
    for job in jobs:
        kinds = [type(event) for event in seen if event.job.key == job.key]
        for kind in (Started, Ended):
            count = kinds.count(kind)
            must(count == 1, f"{job.name}: {count} {kind.__name__} events, not 1")
        must(kinds[0] is Started and kinds[-1] is Ended, f"{job.name}: events out of order")
    for event in seen:
        if isinstance(event, Ended):
            result = event.result
            must(result.status == "ok", f"{event.job.name}: {result.status}: {result.reason}")
            must(bool(result.environment.get("device")), f"{event.job.name}: no environment")
