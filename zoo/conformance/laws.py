"""What holds of every metric, task, executor and tracker."""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zoo.components.attention.base import Attention
from zoo.config.request import Request
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import must, trying
from zoo.conformance.check import check
from zoo.conformance.elsewhere import environment, own_plugin
from zoo.conformance.models import PLAIN_PARTS
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, perturb
from zoo.data.sources.corpus import IGNORED, Corpus, Examples, TaggedCorpus
from zoo.errors import ZooError
from zoo.execution.base import (
    Advanced,
    Ended,
    Executor,
    InspectJob,
    JobSetup,
    Limits,
    Notice,
    Started,
    TrainJob,
)
from zoo.files import scratch_directory
from zoo.registry import CAPABILITIES, Register
from zoo.registry.cell import Cell
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.tasks.base import Metric, Task, TaskSetup
from zoo.tracking import TrackedRun, Tracker, TrackerThread
from zoo.training.device import resolve
from zoo.training.trainer import Trainer

CELL = {**PLAIN_PARTS, "pe": "rope", "pool": "mean"}
# Small data of each sort that a task may read; more is scored than one batch of an evaluation.
DATA = {
    "text-labels": "checked-texts",
    "token-labels": "checked-tags",
    "pairs": "copy(train=80, test=150)",
    "text": "newswire(train=12, test=6)",
}


def tagged_texts() -> TaggedCorpus:
    """Texts of many lengths that lean to one of three tags; the word w0 has none."""
    draw, texts = np.random.default_rng(0), list[list[str]]()
    for lean in np.arange(230) % 3:
        numbers = draw.integers(30, size=draw.integers(3, 13))
        texts.append([f"w{n - n % 3 + lean if draw.random() < 0.6 else n}" for n in numbers])
    tags = [[int(word[1:]) % 3 if word != "w0" else IGNORED for word in text] for text in texts]
    splits = {"train": Examples(texts[:80], tags[:80]), "test": Examples(texts[80:], tags[80:])}
    return TaggedCorpus("checked-tags", splits, ["A", "B", "C"])


def classed_texts() -> Corpus:
    """The same texts, each with its most frequent tag."""
    splits = {
        name: Examples(list(map(" ".join, texts)), [max(range(3), key=t.count) for t in tags])
        for name, (texts, tags, _) in tagged_texts().splits.items()
    }
    return Corpus("checked-texts", splits, ["A", "B", "C"])


_PROGRAM = """
import sys
from zoo.registry.loading import load

load(sys.argv[2:]).registry.choose("task", sys.argv[1]).build()
sys.exit("it imports torch, which slows down planning" if "torch" in sys.modules else 0)
"""


def _made(part: Part, kind: type[Any]) -> Any:
    """What the factory builds, of its kind; CheckFailed where it gives something else."""
    made = part.make()
    what = f"the factory gives a {type(made).__name__}, no {kind.__name__}"
    must(isinstance(made, kind), what)
    return made


# Made-up examples: their classes or tags, of unequal sizes, and by how much a wrong answer is off.
EXAMPLES, MANY = 61, 40  # a prime number, so that no share of them is a round number
_DRAW = np.random.default_rng(0)
CLASS_OF = np.sort(_DRAW.integers(4, size=EXAMPLES))[_DRAW.permutation(EXAMPLES)]
OFF = _DRAW.integers(100, size=EXAMPLES)
TAG_NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]
TAGS_OF = [_DRAW.integers(5, size=_DRAW.integers(1, 7)) for _ in range(EXAMPLES)]


def _classes(classes: int, right: np.ndarray, rows: np.ndarray, more: int) -> dict[str, Any]:
    """Outputs of classification for these rows; more: how many classes are nowhere."""
    labels = CLASS_OF % classes
    wrong = (labels + 1 + OFF % (classes - 1)) % classes
    predicted = np.where(right, labels, wrong)
    return {"labels": labels[rows], "predicted": predicted[rows], "classes": classes + more}


def _tags(right: np.ndarray, rows: np.ndarray, more: int) -> dict[str, Any]:
    """Outputs of tagging: texts that are right or wrong as a whole."""
    names = [*TAG_NAMES, *["B-Z"] * more]
    labels = [TAGS_OF[row] for row in rows]
    predicted = [
        tags if right[row] else (tags + 1 + OFF[row] % 4) % 5
        for row, tags in zip(rows, labels, strict=True)
    ]
    flat, answered = np.concatenate(labels), np.concatenate(predicted)
    return {
        "labels": flat,
        "predicted": answered,
        "lengths": list(map(len, labels)),
        "names": names,
        "classes": len(names),
        "right_tokens": int((flat == answered).sum()),
        "tokens": len(flat),
    }


def _counts(right: np.ndarray, rows: np.ndarray, more: int) -> dict[str, Any]:
    """Outputs of models of text and of pairs: the more are right, the fewer nats there are."""
    total, wrong = len(rows), int((~right[rows]).sum())
    return {
        "nats": 3.1 * wrong,
        "bytes": 4 * total,
        "tokens": 5 * total,
        "right_tokens": 5 * (total - wrong),
        "pairs": total,
        "wrong": wrong,
    }


Outputs = Callable[[np.ndarray, np.ndarray, int], dict[str, Any]]
# What the zoo's tasks give, and the labels of their data.
OUTPUTS: dict[str, tuple[Outputs, list[str]]] = {
    "four classes": (functools.partial(_classes, 4), list("abcd")),
    "two classes": (functools.partial(_classes, 2), ["no", "yes"]),
    "tags": (_tags, TAG_NAMES),
    "counts": (_counts, []),
}


@check("laws", "metric")
def metric(part: Part) -> None:
    """Perfect is best, worse is not better, and neither order nor number of examples matters."""
    made = _made(part, Metric)
    expected, own = part.choice.component.name.replace("-", "_"), made.description.name
    must(own == expected, f"the description's name is '{own}' instead of '{expected}'")
    computed = False
    for name, (outputs, labels) in OUTPUTS.items():
        applies = made.applies(labels)
        must(isinstance(applies, bool), f"applies gives {applies!r:.40}, no bool")
        rows = np.arange(EXAMPLES)
        some = outputs(rows % 2 == 0, rows, 0)
        with trying(f"outputs of {name}"):
            try:
                if not applies or made.compute(some) is None:
                    continue
            except KeyError as error:
                if error.args[0] in some:
                    raise
                continue  # it is of another task
            _metric_laws(made, outputs, labels)
        computed = True
    if not computed:
        tasks = [component.resolve() for component in load(part.files).registry.components("task")]
        named = any(part.choice.component.name in getattr(each, "metrics", ()) for each in tasks)
        must(named, "no task gives the outputs that it reads")
        raise CheckSkipped("no task of the zoo gives the outputs that it reads")


def _metric_laws(made: Any, outputs: Outputs, labels: Sequence[str]) -> None:
    about, rows = made.description, np.arange(EXAMPLES)

    def value(right: np.ndarray, rows: np.ndarray = rows, more: int = 0) -> float:
        given = outputs(right, rows, more)
        before = copy.deepcopy(given)
        raw = made.compute(given)
        must(type(raw) in (float, int), f"compute gives a {type(raw).__name__}, no plain float")
        for name, entry in given.items():
            must(np.array_equal(entry, before[name]), f"compute changes the outputs' '{name}'")
        return float(made.of(given))  # in the range that it describes

    levels = [rows % 7 < n for n in (7, 5, 3, 0)]
    values = [value(right) for right in levels]
    steps = [about.better(more - less) for more, less in itertools.pairwise(values)]
    what = f"with all, 5/7, 3/7 and none right it is {', '.join(f'{v:.4g}' for v in values)}"
    must(values[0] != values[-1], f"{what}: nothing depends on the predictions")
    sign = "higher" if about.higher_is_better else "lower"
    must(min(steps) >= -1e-9, f"{what}, but {sign} is said to be better")
    best = about.highest if about.higher_is_better else about.lowest
    if about.highest is not None and best is not None:
        must(abs(values[0] - best) < 1e-9, f"{what}; perfect must be {best:g}, the best there is")
    order = np.random.default_rng(0).permutation(EXAMPLES)
    for right, expected in zip(levels, values, strict=True):
        value(right, rows[:3])  # few examples too are in range
        others = {
            "in another order": value(right, order),
            f"each {MANY} times": value(right, np.tile(rows, MANY)),
            "computed again": value(right),
        }
        if made.applies([*labels, "B-Z"]):
            others["with a class that is nowhere"] = value(right, more=1)
        if about.paired:
            given = outputs(right, rows, 0)
            tokens = given["right_tokens"] / given["tokens"] if "tokens" in given else expected
            if abs(tokens - expected) > 1e-9 or "tokens" not in given:
                others["by the mean of examples, which `paired` says it is"] = float(right.mean())
        for how, other in others.items():
            off = abs(other - expected) > 1e-9 * (1 + abs(expected))
            must(not off, f"{expected:.6g}, and {other:.6g} {how}")
    rounded = any(v % 1 for v in values) and all(v == round(v, 3) for v in values)
    must(not rounded, f"{what}: it is rounded, which is the report's business (`digits`)")


@check("laws", "task")
def task(part: Part) -> None:
    """It is a Task that imports no torch; a small model of it learns, and is scored alike."""
    made = _made(part, Task)
    registry = load(part.files).registry
    with trying("a request with its options and defaults"):
        make_request({"task": str(part.choice)}, registry)
    fields = made.options.model_fields.items()
    bare = [name for name, field in fields if not field.description]
    must(not bare, f"options without a description: {', '.join(bare)}")
    kinds = {**dict(made.needs), "data": made.reads, "baseline": made.baselines}
    for kind, names in kinds.items():
        must(kind in CAPABILITIES, f"needs names {kind!r}, which is no axis")
        unknown = sorted(set(names) - set(CAPABILITIES[kind]))
        must(not unknown, f"no {kind} can declare {', '.join(map(repr, unknown))}")
    must(bool(made.metrics), "it names no metrics")
    with trying("metrics"):
        made.metric_choices(registry)
    _no_torch(part)
    if made.reads and type(made).load is not Task.load:
        own = Register(part.choice.component.owner)
        own("data", DATA["token-labels"], tagged_texts, summary="", capabilities=["token-labels"])
        own("data", DATA["text-labels"], classed_texts, summary="", capabilities=["text-labels"])
        registry.admit(own)
        _TinyRun(made, DATA[made.reads[0]], registry).check()


def _no_torch(part: Part) -> None:
    """Planning imports a task, and must not wait for torch."""
    files, plugins = own_plugin(part.choice, part.files)
    command = [sys.executable, "-c", _PROGRAM, str(part.choice), *files]
    env = environment(ZOO_PLUGINS=plugins)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    # Where it is not found, this process alone has registered it.
    missing = re.search("no task '|ZOO_PLUGINS names", done.stderr)
    said = "".join(done.stderr.splitlines()[-1:])
    must(not done.returncode or bool(missing), f"in a new process: {said}")


def _json(what: str, values: Any) -> None:
    """A record has them: values of NumPy become lists."""
    with trying(f"{what}, as JSON"):
        json.dumps(values, default=lambda value: value.tolist(), allow_nan=False)


class _TinyRun:
    """A small model of a task on small data, from loading to scores."""

    wrong: set[int]  # rows of the last evaluation that are not right

    def __init__(self, made: Any, spec: str, registry: Any) -> None:
        self.made, self.registry, self.options = made, registry, made.options()
        self.sizes = Sizes(dim=16, layers=1, heads=2, ffn_dim=32, max_length=32, vocab_size=300)
        with trying(f"loading {spec}"):
            loaded = made.load(spec, self.options, self.sizes, registry)
        _json("the description", loaded.description)
        self.data = loaded.encoded
        self.training = Training(epochs=6, batch_size=8, lr=0.01, dropout=0.0)
        self.runtime, self.device = resolve(Execution(device="cpu")), torch.device("cpu")
        self.metrics = made.metrics_from(registry, self.data.label_names)
        must(bool(self.metrics), "no metric of it applies to the data")

    def setup(self, **settings: Any) -> Any:
        """The task with its data, and these settings of the training."""
        data, training = self.data, self.training.model_copy(update=settings)
        names = data.vocab_size, data.label_names, data
        return TaskSetup(
            self.made, self.options, self.sizes, training, *names, registry=self.registry
        )

    def build(self, seed: int = 0, **settings: Any) -> Any:
        """The model of CELL."""
        with trying("a small model"):
            return self.made.build(self.setup(**settings), Cell.parse(self.registry, CELL), seed)

    def splits(self, **settings: Any) -> tuple[Any, Any]:
        """What is trained on and what is scored, which have no example in common."""
        with trying("its splits"):
            train, scored = self.made.splits(self.setup(**settings), self.device)
        rows, others = (
            {tuple(batch.ids.flatten().tolist()) for batch in split.ordered(1)}
            for split in (train, scored)
        )
        what = ", ".join(f"{name}={value}" for name, value in settings.items()) or "to score"
        must(bool(others), f"{what}: holds out nothing")
        shared = rows & others
        must(not shared, f"{what}: {len(shared)} held-out examples are also trained on")
        return train, scored

    def scores(self, model: Any, split: Any) -> np.ndarray:
        """The metrics of a model, which an evaluation leaves as it was."""
        before = {name: value.clone() for name, value in model.state_dict().items()}
        with trying("an evaluation"):
            evaluation = self.made.evaluate(self.setup(), model, split, self.runtime)
            values = [metric.of(evaluation.outputs) for metric in self.metrics]
        _json("details", evaluation.details)
        changed = [n for n, v in model.state_dict().items() if not torch.equal(v, before[n])]
        must(not changed, f"an evaluation changes {', '.join(changed[:3])}")
        examples, errors = (evaluation.details.get(n) for n in ("examples", "errors"))
        self.wrong = {row for row, *_ in errors or ()}
        must(type(examples) is int and examples > 0, f"details: examples is {examples!r}")
        for metric, value in zip(self.metrics, values, strict=True):
            if metric.description.paired and errors is not None:
                what = f"{metric.description.name} is {value:.4g}, with {len(errors)} `errors`"
                right = abs(len(errors) - (1 - value) * examples) < 0.5
                must(right, f"{what} in {examples} examples")
        return np.array(values)

    def check(self) -> None:
        """Loss falls, scores rise; neither order, batch nor mode changes a score."""
        held_out = [self.splits(validation=0.25)[1] for _ in range(2)]
        first, again = ([b.ids.tolist() for b in split.ordered(8)] for split in held_out)
        must(first == again, "validation=0.25: other examples are held out each time")
        models = map(self.build, (0, 0, 1))
        weights = [torch.cat([p.flatten() for p in m.parameters()]) for m in models]
        alike = [torch.equal(weights[0], other) for other in weights[1:]]
        must(alike == [True, False], "its initial weights do not follow from the seed")
        small = self.sizes
        for name in ("dim", "layers", "ffn_dim"):
            self.sizes = small.model_copy(update={name: 2 * getattr(small, name)})
            count = sum(p.numel() for p in self.build().parameters())
            _acts(self.made, name, count != len(weights[0]))
        self.sizes = small
        (train, scored), setup, model = self.splits(), self.setup(), self.build()
        _loss_of_each(self.made, setup, model, train)
        if self.made.no_pretraining(self.options) is None:
            texts = self.data.corpus().splits[self.made.scored_split].texts
            known = {text if isinstance(text, str) else " ".join(text) for text in texts}
            both = known & {*self.made.texts_to_pretrain(setup)}
            must(not both, f"{len(both)} texts of --init pretrain are scored")
        loss = functools.partial(self.made.loss, setup)
        trainer = Trainer(model, train, loss, setup.training, self.runtime, 0)
        before = self.scores(model, train)
        losses = [trainer.run_epoch()["loss"] for _ in range(setup.training.epochs)]
        what = f"in {len(losses)} epochs the loss goes from {losses[0]:.4g} to {losses[-1]:.4g}"
        must(losses[-1] < losses[0], what)
        after = self.scores(model, train)
        directions = [metric.description.direction for metric in self.metrics]
        better = ((after - before) * directions)[after != before]
        must(
            len(better) > 0 and better[0] > 0,
            f"{what}, and the scores of what it is trained on from {before} to {after}",
        )
        model = self.build(dropout=0.5)
        pair = [loss(model.train(), train.batch(np.arange(2)))[0] for _ in range(2)]
        _acts(self.made, "dropout", not torch.equal(*pair))
        perturb(model, 0.5)  # so that its answers are of all kinds
        expected = self.scores(model.eval(), scored)
        moved = wrong = self.wrong
        outcomes = {"in training mode, with dropout,": self.scores(model.train(), scored)}
        if hasattr(scored, "subset"):
            rows = np.arange(len(scored))
            shuffled = np.random.default_rng(0).permutation(rows)
            outcomes["in another order"] = self.scores(model, scored.subset(shuffled))
            moved = {int(shuffled[row]) for row in self.wrong}
            halves = np.array_split(rows, 2)
            parts = [self.scores(model, scored.subset(half)) for half in halves]
            mean = np.average(parts, axis=0, weights=list(map(len, halves)))
            paired = [metric.description.paired for metric in self.metrics]
            outcomes["by halves"] = np.where(paired, mean, expected)
        for how, other in outcomes.items():
            what = f"{how} the scores are {other.tolist()}, not {expected.tolist()}"
            must(np.allclose(other, expected), what)
        must(moved == wrong, "in another order of the texts, `errors` has rows of other texts")


def _acts(made: Any, option: str, differs: bool) -> None:
    what = f"{option} changes nothing: use it, or name it in `unused`"
    must(differs or option in made.unused, what)


def _loss_of_each(made: Any, setup: Any, model: Any, train: Any) -> None:
    """The mean loss of a batch is that of its examples, whatever their padding."""
    lengths = np.asarray(train.lengths)
    rows = np.array([int(lengths.argmax()), int(lengths.argmin())])
    losses, items, needed = [], [], set[str]()

    def note(module: Any, args: Any) -> None:
        needed.update(["causal"] * args[1].causal)
        needed.update(["padding"] * (args[1].tokens.attention_mask is not None))

    model.eval()
    handles = [
        module.register_forward_pre_hook(note)
        for module in model.modules()
        if isinstance(module, Attention)
    ]
    smoothing = setup.training.model_copy(update={"label_smoothing": 0.3})
    with torch.no_grad(), trying("the loss of a batch"):
        for batch in map(train.batch, (rows, rows, rows[:1], rows[1:])):
            value, _ = made.loss(setup, model, batch)
            must(value.dim() == 0, f"the loss has shape {tuple(value.shape)}, not that of a number")
            losses.append(float(value))
            items.append(batch.items)
        many = train.batch(np.arange(min(16, len(train))))
        right = float(made.loss(setup, model, many)[1])
        counted = right.is_integer() and 0 <= right <= many.items
        must(counted, f"the loss says that {right:g} of {many.items} items are right")
        smooth = made.loss(replace(setup, training=smoothing), model, train.batch(rows))[0]
    for handle in handles:
        handle.remove()
    unnamed = sorted(needed - {*made.needs_of(setup.options).get("attention", ())})
    must(not unnamed, f"it calls the attention with {', '.join(unnamed)}, which `needs` must name")
    both, again, *apart = losses
    if both != again or items[0] != items[1] or items[0] == 0:
        return  # what is predicted is drawn anew
    _acts(made, "label_smoothing", float(smooth) != both)
    # The mean over items, or over texts.
    means = np.average(apart, weights=items[2:]), np.mean(apart)
    must(
        min(abs(mean - both) for mean in means) < 1e-4 * (1 + abs(both)),
        f"a batch of two has a loss of {both:.6g}, its examples alone one of {means[0]:.6g} on "
        "average: padding counts",
    )


@check("laws", "tracker")
def tracker(part: Part) -> None:
    """It shows runs that ended well, or failed with no results, and each stays shown."""
    _made(part, Tracker)  # also where its library is not installed
    config = {"phase": "train", "attention": "fused", "dim": 16, "lr": 0.5, "compile": False}
    curve = [{"loss": 2.5}, {"loss": 1.25}]
    with scratch_directory() as folder, contextlib.chdir(folder):
        first = TrackedRun("fused+rope seed 0", "bench", Path(folder) / "runs", config, curve=curve)
        first = replace(first, values={"accuracy": 0.8125, "params": 1234.0})
        tuned = replace(first, config={**config, "phase": "tune"}, values={"accuracy": 0.6875})
        failed = replace(first, name="naive+rope seed 1", status="oom", curve=(), values={})
        thread, shown = TrackerThread(part.choice), set[str]()
        for run in (first, failed, tuned, replace(first, name="naive+none seed 2", group="other")):
            thread.show(run)
            thread.wait()
            # An error of a library's own at once, such as that nobody has logged in.
            away = run is first and not hasattr(builtins, (thread.failure or "").split(":")[0])
            if thread.failure and (away or thread.failure.endswith("is not installed")):
                raise CheckSkipped(f"it cannot show runs here: {thread.failure}")
            what = f"shown a run with status '{run.status}', {len(run.values)} values"
            must(thread.failure is None, f"{what}: {thread.failure}")
            written = _written(Path(folder))
            marks = {mark for mark in (first.name, "0.8125", failed.name) if mark in written}
            gone = ", ".join(sorted(shown - marks))
            must(not gone, f"{what}: what it wrote of another run is gone ({gone})")
            shown = marks
        unsaid = first.name in shown and failed.name not in shown
        must(not unsaid, "a run that failed is not shown")


def _written(folder: Path) -> str:
    """Names and texts of all files."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(f"{path}\n{path.read_text('utf-8', 'replace')}" for path in files)


class Alone(InspectJob):
    """A job beside which no other may run."""

    alone = True


@check("laws", "executor")
def executor(part: Part) -> None:
    """It starts and ends every job once, also one that fails, and keeps to limits."""
    request, execution = Request(), Execution(device="cpu")
    setup = JobSetup(request.task, {}, request.sizes, request.training, execution)
    jobs = [
        TrainJob(setup, "a training of no model, which must fail", "job-0"),
        InspectJob(setup, "a job", "job-1"),
        Alone(setup, "a job that runs alone", "job-2"),
    ]
    try:
        made = _made(part, Executor)
        made.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    try:
        limits = Limits(jobs=1, threads=1)
        own = made.default_limits(limits)
        must((own.jobs, own.threads) == (1, 1), f"asked for one job and thread, it takes {own}")
        with scratch_directory() as directory:
            _exchange(jobs, made.run(jobs, limits=limits, directory=directory))
            run = made.run(jobs[:1], limits=limits, directory=directory)
            must(hasattr(run, "close"), f"run gives a {type(run).__name__}, no generator")
            with trying("closed after the first event"):
                next(run)
                run.close()
    finally:
        made.close()


def _exchange(jobs: Sequence[Any], events: Any) -> None:
    """What an executor says of the jobs, one of which must fail."""
    seen = [event for event in events if not isinstance(event, Notice)]
    for job in jobs:
        kinds = [type(event) for event in seen if event.job == job]
        for kind in (Started, Ended):
            count = kinds.count(kind)
            must(count == 1, f"{job.name}: {count} {kind.__name__} events, not 1")
        must(kinds[0] is Started and kinds[-1] is Ended, f"{job.name}: events out of order")
    order = [type(event) for event in seen if not isinstance(event, Advanced)]
    must(order == [Started, Ended] * len(jobs), "jobs=1, and two jobs run at once")
    for job, result in ((event.job, event.result) for event in seen if isinstance(event, Ended)):
        what = f"{job.name}: {result.status}: {result.reason}"
        if isinstance(job, TrainJob):
            must(result.status not in ("ok", "skipped") and bool(result.reason), what)
        else:
            must(result.status == "ok", what)
            must(bool(result.environment.get("device")), f"{job.name}: no environment")
