"""A saved model: its card, and its directory, which is written whole or not at all.

Torch is imported where a model is loaded.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError

from zoo import __version__
from zoo.config.metric_description import MetricDescription
from zoo.config.places import refuse_unwritable
from zoo.config.request import first_error, validated
from zoo.config.settings import NO_PRETRAINING, Pretraining, Training
from zoo.config.sizes import Sizes
from zoo.data.cache import file_digest
from zoo.data.tokenizer import CLS, MASK, PAD, UNK
from zoo.errors import ZooError, one_line
from zoo.files import draft_directory, scratch_directory, writing
from zoo.registry import Choice, Registry, loading
from zoo.registry.cell import Cell
from zoo.tasks.base import Task, TaskSetup, find_task

if TYPE_CHECKING:
    import torch

    from zoo.models.text_model import TextModel

SCHEMA_VERSION: Final = 3
FORMAT: Final = "encoder-zoo model"
MODEL_TYPE: Final = "encoder-zoo"
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"  # for Transformers; the zoo does not read it


class SampleOutputs(BaseModel):
    """Token ids of made-up texts, and the trained model's scores (texts, n) for them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[list[Annotated[list[NonNegativeInt], Field(min_length=1)]], Field(min_length=1)]
    scores: list[list[float]]


class Card(BaseModel):
    """A saved model, as ``config.json`` holds it.

    model_type: by it Transformers finds the classes of the plug-in zoo-hf. parts: for each axis the
    components of its pattern, each as ``distribution:name(param=value)``. versions: of the
    distributions that these and the task are from. labels: names of the classes, where the task has
    classes. class_shares: of each among the training texts, where a text has one class. files:
    SHA-256 of the weights and the tokenizer. data, metrics, metric_descriptions: as in the
    training's record; a model of all the data has no score among its metrics, and ``scored`` there
    is empty. key: of the training's record in a bench. command: trains and scores this model again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    format: Literal["encoder-zoo model"] = FORMAT
    model_type: Literal["encoder-zoo"] = MODEL_TYPE
    schema_version: Literal[3] = SCHEMA_VERSION
    zoo: str = __version__
    task: str
    task_options: dict[str, Any]
    cell: str
    parts: dict[str, list[str]]
    versions: dict[str, str]
    labels: list[str]
    class_shares: tuple[float, ...] = ()
    vocab_size: PositiveInt
    sizes: Sizes
    training: Training
    pretraining: Pretraining = NO_PRETRAINING
    seed: NonNegativeInt
    data: dict[str, Any]
    metrics: dict[str, Any]
    metric_descriptions: tuple[MetricDescription, ...]
    sample_outputs: SampleOutputs
    key: str
    command: str
    saved: str = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    )
    files: dict[str, str] = {}

    def find_task(self, registry: Registry) -> Task:
        """The task of the model; ZooError where it is missing."""
        try:
            return find_task(registry, self.task)
        except ZooError as error:
            raise self._missing(error) from error

    def setup(self, registry: Registry) -> TaskSetup:
        """What the task builds the model from; ZooError where it lacks the task or its options."""
        task = self.find_task(registry)
        options = validated(task.options, self.task_options)
        return TaskSetup(task, options, self.sizes, self.training, self.vocab_size, self.labels)

    def find_cell(self, registry: Registry) -> Cell:
        """The components of the model as registered here; ZooError where one is missing."""
        try:
            return Cell(
                {
                    axis: tuple(registry.choose(axis, part) for part in parts)
                    for axis, parts in self.parts.items()
                }
            )
        except ZooError as error:
            raise self._missing(error) from error

    @property
    def distributions(self) -> str:
        """The distributions that it was trained with, in words."""
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())

    def _missing(self, error: ZooError) -> ZooError:
        """What is missing, and what has it."""
        return ZooError(
            f"{error}; it was trained with {self.distributions}: install what is missing, or name "
            "a plug-in file with --plugin (plugins=[...])"
        )


def full_name(choice: Choice) -> str:
    """A choice as ``distribution:name(param=value)``."""
    return str(choice.spec._replace(name=choice.component.full_name))


def versions_of(choices: tuple[Choice, ...]) -> dict[str, str]:
    """The distributions that components are from, with their versions."""
    owners = (choice.component.owner for choice in choices)
    return {owner.distribution: owner.version for owner in owners}


def refuse_taken(directory: Path) -> None:
    """ZooError where something is there, or the directory cannot be made."""
    if os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        raise ZooError(f"{directory} exists already; choose another directory")
    refuse_unwritable(directory)


@contextlib.contextmanager
def draft(final: Path) -> Iterator[Path]:
    """An empty directory that is renamed to the final one when the block ends without error.

    If the block raises, nothing is left. Raises ZooError where the directory exists, WriteError
    where it cannot be written.
    """
    refuse_taken(final)
    final = final.absolute()
    with writing(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        with draft_directory(final) as directory:
            yield directory


def write(directory: Path, card: Card, weights: Path, tokenizer: Path) -> None:
    """Put the files of a model into a directory, the card last."""
    shutil.copyfile(weights, directory / WEIGHTS)
    shutil.copyfile(tokenizer, directory / TOKENIZER)
    words = json.loads(tokenizer.read_bytes())["model"]["vocab"]
    tokens = {"pad_token": PAD, "unk_token": UNK, "cls_token": CLS, "mask_token": MASK}
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": card.sizes.max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **{name: token for name, token in tokens.items() if token in words},
    }
    (directory / TOKENIZER_CONFIG).write_text(json.dumps(described, indent=1) + "\n")
    digests = {name: file_digest(directory / name) for name in (WEIGHTS, TOKENIZER)}
    whole = card.model_copy(update={"files": digests}).model_dump()
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
    (directory / CONFIG).write_text(text + "\n", encoding="utf-8")


def save(model: TextModel, directory: Path, labels: Sequence[str]) -> None:
    """Write a trained model anew, with these labels; ZooError where the directory exists."""
    from zoo.training.checkpoint import write_tensors

    card = model.card.model_copy(update={"labels": list(labels)})
    with draft(directory) as written, scratch_directory() as scratch:
        weights, tokenizer = scratch / WEIGHTS, scratch / TOKENIZER
        write_tensors(weights, model.model.state_dict())
        model.tokenizer.save(str(tokenizer))
        write(written, card, weights, tokenizer)


def read(directory: Path) -> Card:
    """The card of a saved model; ZooError where a file is missing, damaged or unknown."""
    if not directory.exists():
        raise ZooError(f"no directory '{directory}'; 'zoo train --save' makes one")
    file = directory / CONFIG
    try:
        card = Card.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise ZooError(f"{directory} holds no model: {CONFIG}: {error.strerror}") from error
    except ValidationError as error:
        raise ZooError(f"{file} does not describe a model: {first_error(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ZooError(f"{file} cannot be read, it may be cut short: {error}") from error
    for name in (WEIGHTS, TOKENIZER):
        if not (directory / name).is_file():
            raise ZooError(f"{directory} is incomplete: {name} is missing")
        if file_digest(directory / name) != card.files.get(name):
            raise ZooError(
                f"{directory / name} is damaged, or not the file that was saved with {CONFIG}"
            )
    return card


def load(
    directory: str | Path,
    *,
    plugins: str | Path | Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """The model that ``zoo train --save`` wrote, in float32, ready to predict or to generate.

    plugins: single-file plug-ins that it was trained with. allow_changed: load it also where it
    gives other outputs than when it was saved, because components have changed. Only code of
    registered components runs. Raises ZooError where the directory holds no intact model, or
    components are missing or have changed.
    """
    registry = loading.load(plugins).registry
    return load_from(Path(directory), registry, device=device, allow_changed=allow_changed)


def load_from(
    directory: Path,
    registry: Registry,
    *,
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """As ``load``, with the components of a registry."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from zoo.training.checkpoint import same_outputs

    card = read(directory)
    try:
        setup, cell = card.setup(registry), card.find_cell(registry)
        model = setup.task.build(setup, cell, card.seed)
        model.load_state_dict(load_file(directory / WEIGHTS))
        tokenizer = Tokenizer.from_file(str(directory / TOKENIZER))
        saved = card.sample_outputs.model_dump()
        if not allow_changed and not same_outputs(model, setup.task.sample_scores, saved):
            raise ZooError(
                "gives other outputs here than when it was saved; it was trained with "
                f"{card.distributions}; --allow-changed (allow_changed=True) loads it anyway"
            )
        text_model = setup.task.text_model(setup, model, tokenizer)
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    except Exception as error:  # what torch, a library or a plug-in raises
        reason = f"cannot be built here, or its files do not match: {one_line(error)}"
        raise ZooError(f"{directory}: {reason}") from error
    text_model.card = card
    layers = range(1, card.sizes.layers + 1)
    text_model.layers_with_map = tuple(n for n in layers if cell.at("attention", n - 1).can("map"))
    return text_model.to(device).eval()
