"""The contract of a task: what is learned, from which data, and how the result is scored.

A task is declared like any component: ``@part("task", "tag")`` above its class.
Planning and reporting import it, so its module must not import torch; methods that need torch
import it themselves.
"""

from __future__ import annotations

import contextlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel

from zoo.config.metric_description import MetricDescription
from zoo.config.reading import part_of
from zoo.config.settings import NO_PRETRAINING, Pretraining, Training
from zoo.config.sizes import Options, Sizes
from zoo.data.sources.corpus import DataSet, labels_in
from zoo.data.sources.load_data import HUB, find_registered, no_such_data
from zoo.errors import ZooError, counted, listed
from zoo.registry import CAPABILITIES, Choice, Registry

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batches import EncodedSplit
    from zoo.data.token_arrays import EncodedData
    from zoo.models.text_model import TextModel
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime

D = TypeVar("D", bound=DataSet)
TRAIN, TEST, VALIDATION = "train", "test", "validation"
OF_MODELS = {"dropout", "attention_dropout", "embedding_std"}  # the training settings of builders
SAMPLE_SCORES = 32  # at most, of a text, in sample_scores
Rows = tuple[np.ndarray, np.ndarray]  # of the training split: to train on, and to score


class TaskOptions(Options):
    """Base of a task's own options; the command line and records are made from its fields.

    Every field needs a default and a description.
    """


@dataclass(frozen=True)
class Loaded:
    """Data as a task loaded them. description: for records, with ``name`` and ``fingerprint``.

    A description's ``remarks`` are sentences for the notes under every table. notices: lines for
    the user. conditions: those of ``Task.baseline_rows`` that are true of these data.
    """

    encoded: EncodedData
    description: dict[str, Any]
    notices: list[str] = field(default_factory=list)
    conditions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TaskSetup:
    """A task with everything that a piece of work needs.

    options: the task's own. vocab_size: of the data that a model is for. labels: of its outputs,
    those that are trained. data: None where only a model is built, as when a saved one is loaded.
    pretraining: what encoders begin with. registry: of the components that a job names; empty where
    a saved model is loaded. solved_at: the score from which on the task counts as solved.
    """

    task: Task
    options: Any
    sizes: Sizes
    training: Training
    vocab_size: int
    labels: list[str]
    data: Any = None
    pretraining: Pretraining = NO_PRETRAINING
    registry: Registry = field(default_factory=Registry)
    solved_at: float | None = None

    @property
    def scored_labels(self) -> list[str]:
        """The labels of the data: behind those of the outputs the ones that train lacks."""
        names: list[str] = self.labels if self.data is None else self.data.label_names
        return names


@dataclass(frozen=True)
class Evaluation:
    """What a model gave on scored examples.

    outputs: what metrics are computed from. details: further entries of a record's metrics:
    ``examples`` (how many were scored) and, where each is right or wrong, ``errors`` (a list per
    wrong example, its index first); ``effective_examples``: metric to the number of independent
    examples that would tell as much of it, where examples are not independent. groups: of data
    whose texts have groups, the outputs of each group's examples, in the order in which groups
    first appear, with ``examples``, how many.
    """

    outputs: Mapping[str, Any]
    details: dict[str, Any]
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def values(self, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, Any]]:
        """Every metric by name, of all examples, and of each group, with ``examples``."""

        def of(outputs: Mapping[str, Any]) -> dict[str, float]:
            return {metric.description.name: metric.of(outputs) for metric in metrics}

        groups = {name: {"examples": o["examples"], **of(o)} for name, o in self.groups.items()}
        return of(self.outputs), groups


@dataclass(frozen=True)
class Metric:
    """A registered metric: its description, and its value from the outputs of an evaluation.

    applies: whether data with these labels have such a value; records of others lack it.
    """

    description: MetricDescription
    compute: Callable[[Mapping[str, Any]], float]
    applies: Callable[[Sequence[str]], bool] = lambda labels: True

    def of(self, outputs: Mapping[str, Any]) -> float:
        """Its value; ValueError where that is no finite number, or not in the range described."""
        value, about = self.compute(outputs), self.description
        lowest = -math.inf if about.lowest is None else about.lowest
        highest = math.inf if about.highest is None else about.highest
        with contextlib.suppress(TypeError, ValueError):
            if math.isfinite(number := float(value)) and lowest <= number <= highest:
                return number
        raise ValueError(
            f"metric '{about.name}' gave {value!r:.40}, not a number from {lowest:g} to {highest:g}"
        )


class Estimator(NamedTuple):
    """A baseline that is fitted outside the training loop.

    factory: makes the model that is fitted. training: the arguments of its ``fit``. score: the
    evaluation of a fitted model.
    """

    factory: Callable[[], Any]
    training: tuple[Any, ...]
    score: Callable[[Any], Evaluation]

    def fit(self) -> Any:
        """A model fitted from scratch."""
        model = self.factory()
        model.fit(*self.training)
        return model


class Task(ABC):
    """One task. Methods after ``load`` run where jobs run, and may import torch.

    options: the pydantic model of the task's own options. reads: the capabilities of the registered
    data that it takes; it is the task of data that declare the first. reads_rows: the model of what
    reads its files; options that are fields of it only say how data are read. needs: axis to the
    capabilities that a component there must declare. metrics: names of registered metrics; the
    first that applies to the data ranks rows. baselines: a baseline fits if it declares one of
    these capabilities. defaults: shared options whose default differs for this task. unused: axes
    and shared options that have no effect, and why; giving one is an error. builder: the function
    that builds the model of a cell, text_model_class: the class of the trained model with its
    tokenizer, both as ``package.module:name``. model_name: what a model of it is called.
    scored_split: the split that is scored. commands: those that take a saved model of the task.
    pipeline_tag: the Hugging Face Hub's name of what its models do, such as
    ``text-classification``; empty where it has none.
    """

    options: ClassVar[type[TaskOptions]] = TaskOptions
    reads: ClassVar[tuple[str, ...]] = ()
    reads_rows: ClassVar[type[BaseModel]] = TaskOptions
    needs: ClassVar[Mapping[str, frozenset[str]]] = {}
    metrics: ClassVar[tuple[str, ...]]
    baselines: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}
    unused: ClassVar[Mapping[str, str]] = {}
    builder: ClassVar[str]
    text_model_class: ClassVar[str]
    model_name: ClassVar[str] = "a model"
    scored_split: ClassVar[str] = TEST
    commands: ClassVar[tuple[str, ...]] = ("predict",)
    pipeline_tag: ClassVar[str] = ""

    def needs_of(self, options: Any) -> Mapping[str, frozenset[str]]:
        """``needs``, and what these options of the task need besides."""
        return self.needs

    def no_pretraining(self, options: Any) -> str | None:
        """Why its models begin with no pretrained encoder (``--init``); None where they do."""
        return f"{self.model_name} has no encoder that is pretrained"

    def accepts(self, baseline: Any) -> bool:
        """Whether a baseline (component or choice) can be compared with models of this task."""
        return any(map(baseline.can, self.baselines))

    def is_estimator(self, baseline: Any) -> bool:
        """Whether a baseline (component or choice) is an Estimator, not trained like a cell."""
        return self.accepts(baseline) and not baseline.can("tokens")

    def baseline_rows(self, asked_for: Sequence[Choice]) -> list[tuple[Choice, str]]:
        """The baselines of a table where these were asked for, each with its condition.

        A condition is a few words, such as "some texts are cut": the row is there only where
        ``Loaded.conditions`` has them; "": always.
        """
        return [(choice, "") for choice in asked_for]

    def metric_choices(self, registry: Registry) -> list[Choice]:
        """The task's metrics among those registered; ZooError where one is missing."""
        return [registry.choose("metric", name) for name in self.metrics]

    def metrics_from(self, registry: Registry, labels: Sequence[str]) -> list[Metric]:
        """The task's metrics that apply to data with these labels, built."""
        metrics = [choice.build() for choice in self.metric_choices(registry)]
        return [metric for metric in metrics if metric.applies(labels)]

    def reader(self, options: Any) -> Any:
        """What reads the task's files, made of its options."""
        return part_of(self.reads_rows, options)

    @abstractmethod
    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        """Load and encode the data of a request; None: the task's default data.

        Raises ZooError where they cannot be had or do not fit.
        """

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        """The untrained model of a cell; by default what ``builder`` returns."""
        shared = setup.training.model_dump(include=OF_MODELS)
        options = {"vocab_size": setup.vocab_size, "seed": seed, **shared}
        build = pkgutil.resolve_name(self.builder)
        model: nn.Module = build(cell, setup.sizes, **options, **self.model_options(setup))
        return model

    def model_options(self, setup: TaskSetup) -> dict[str, Any]:
        """What ``builder`` takes besides what every function of ``zoo.models.build`` does."""
        return {}

    def build_baseline(self, setup: TaskSetup, choice: Choice) -> Any:
        """A baseline that is a torch module and is trained like a cell."""
        raise ZooError(f"baseline '{choice}' cannot be trained for this task")

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        """A baseline that is fitted by itself; None for one that is trained like a cell."""
        return None

    @abstractmethod
    def split(
        self, setup: TaskSetup, names: Sequence[str], device: torch.device
    ) -> EncodedSplit[Any]:
        """The examples of these splits of the data as one, to train on."""

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[Any, Any]:
        """The examples to train on and those to score.

        ``setup.training.validation`` is the share of the training split to score instead of the
        scored split. By default a split must have ``subset``.
        """
        train: Any = self.split(setup, [TRAIN], device)
        if scored := self.scored_part(setup):
            return train, self.split(setup, [scored], device)
        rows, held_out = self.validation_rows(setup)
        return train.subset(rows), train.subset(held_out)

    def scored_part(self, setup: TaskSetup) -> str:
        """The split that is scored; empty where it is rows of train (``validation_rows``)."""
        if not setup.training.validation:
            return self.scored_split
        named = self.scored_split != VALIDATION and VALIDATION in setup.data.splits
        return VALIDATION if named else ""

    def validation_rows(self, setup: TaskSetup) -> Rows:
        """Rows of the training split to train on, and rows to hold out."""
        raise ZooError("--validation: this task holds nothing out")

    def full_length_split(
        self, setup: TaskSetup, examples: int, device: torch.device
    ) -> EncodedSplit[Any]:
        """Made-up examples of ``max_length`` tokens, for costs at several lengths."""
        raise ZooError("several lengths: this task makes no examples of full length")

    def loss(self, setup: TaskSetup, model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch (scalar, nats) and how many of its items were right.

        By default it is the cross-entropy of ``batch.targets``.
        """
        from zoo.tasks.passes import token_loss

        logits, smoothing = self.forward(model, batch), setup.training.label_smoothing
        return token_loss(logits, batch.targets, batch.items, smoothing)

    def forward(self, model: nn.Module, batch: Any) -> Any:
        """One inference pass over a batch."""
        return model(batch.ids, batch.tokens)

    @abstractmethod
    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Any, runtime: Runtime
    ) -> Evaluation:
        """The outputs of a model on a split, from which metrics are computed."""

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Scores (texts, at most 32) for made-up texts of token ids.

        A saved model is compared by them with what it was when it was saved. By default they are
        those of a text or, where each of its tokens has some, those at the last one.
        """
        from zoo.data.batches import at_last_token, padded

        scores: Tensor = model(*padded(ids, next(model.parameters()).device))
        return (scores if scores.ndim == 2 else at_last_token(scores, ids))[:, :SAMPLE_SCORES]

    def text_model(self, setup: TaskSetup, model: nn.Module, tokenizer: Tokenizer) -> TextModel:
        """The trained model with its tokenizer: what ``zoo.load`` returns."""
        kind: type[TextModel] = pkgutil.resolve_name(self.text_model_class)
        return kind(model, tokenizer, setup.sizes.max_length, setup.labels)


def deduplicated(data: D, notices: list[str], *, keep: bool) -> tuple[D, int]:
    """The data without train texts that are scored, and how many are in both.

    keep: leave them where they are. What was done becomes a notice; of validation texts too.
    """
    duplicates = data.duplicates
    both = f"{counted(duplicates, 'scored text')} also in the training split"
    if TEST in data.splits:
        for other, name, what in ((TRAIN, "training", "training"), (TEST, "test", VALIDATION)):
            if copies := data.copies(VALIDATION, other):
                effect = "kept" if keep else f"dropped from {what}"
                texts = counted(copies, "validation text")
                notices.append(f"{texts} also in the {name} split: {effect}")
    try:
        clean = data if keep else data.without_duplicates()
    except ZooError as error:
        hint = "; --keep-duplicates trains on them too" if data.labels else ""
        raise ZooError(f"{error}: {both}{hint}") from error
    if duplicates:
        lost = sorted(labels_in(data.train) - labels_in(clean.train))
        notices.append(f"{both}: {'kept' if keep else 'dropped from training'}")
        if lost:
            names = listed(f"'{data.label_names[label]}'" for label in lost)
            notices[-1] += f", and with them the last training text of {names}"
    return clean, duplicates


def loaded(source: DataSet, encoded: EncodedData, notices: list[str], **about: Any) -> Loaded:
    """Data from their source, and encoded, with a remark on what reading left out or changed.

    about: further entries of the description.
    """
    reading = source.notes.get("reading")
    description = {
        "name": source.name,
        "fingerprint": source.fingerprint,
        "vocab_size": encoded.vocab_size,
        "notes": source.notes,
        "remarks": [f"Reading the data: {reading}."] if reading else [],
        **about,
    }
    return Loaded(encoded, description, notices)


def find_task(registry: Registry, name: str) -> Task:
    """The registered task of that name; ZooError where there is none, or it is not a Task."""
    choice = registry.choose("task", name)
    task = choice.build()
    if isinstance(task, Task):
        return task
    built = f"built a {type(task).__name__}, not a zoo.tasks.base.Task"
    raise ZooError(f"task '{choice}' of {choice.component.owner} {built}")


def task_for(registry: Registry, spec: str | None) -> str | None:
    """The name of the task that reads the registered data of a spec, the zoo's own tasks first.

    None where the spec is a path, names Hub data or is None, and where no task reads the data.
    """
    choice = find_registered(registry, spec)
    for label in registry.labels("task") if choice else ():
        with contextlib.suppress(ZooError):  # a broken plug-in reads nothing
            reads = find_task(registry, label).reads
            if choice and reads and choice.can(reads[0]):
                return label
    return None


def refuse_data(registry: Registry, task: Task, task_name: str, spec: str | None) -> None:
    """ZooError where a spec names data that do not exist, or that the task does not read.

    Nothing is read or looked up. A task that reads no registered data has specs of its own, which
    are not known here.
    """
    choice, pairs = find_registered(registry, spec), task.reads == ("pairs",)
    if choice is None:
        if spec is None or not task.reads or (spec.startswith(HUB) and not pairs):
            return
        if not spec.strip() or not Path(spec.strip()).expanduser().exists():
            raise no_such_data(registry, spec.strip(), pairs=pairs)
    elif not any(map(choice.can, task.reads)):
        content = next(filter(choice.can, CAPABILITIES["data"]), "nothing that it declares")
        reader = task_for(registry, spec)
        raise ZooError(
            f"data '{choice}' of {choice.component.owner} holds {content}, which "
            f"{f'--task {reader}' if reader else 'no task here'} reads; {task_name} reads "
            f"{' and '.join(task.reads) or 'no registered data'}"
        )
