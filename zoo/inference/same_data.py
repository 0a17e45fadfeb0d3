"""Whether a saved model was trained on given texts, as far as its card tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from zoo.config.reading import Division
from zoo.data.sources.load_data import load_texts
from zoo.errors import ZooError
from zoo.inference.card import Card
from zoo.registry import Registry
from zoo.sweep.repeat_command import values_in
from zoo.tasks.base import Task
from zoo.tasks.encoder_task import EncoderTask


def trained_on_warning(
    card: Card, task: Task, data: str, split: str, given: Mapping[str, Any], registry: Registry
) -> str:
    """A line where a split of the data, or ``all``, has texts of the model's training; else empty.

    given: options of how the data are read. Copies of the texts in other data are not known.
    """
    of_all_data = not card.metrics.get("scored", "test")
    if not (of_all_data or split in ("train", "all")):
        return ""
    if not _same_data(card, task, data, given, registry):
        return ""
    which = "these texts" if of_all_data or split == "train" else "some of these texts"
    return f"warning: the model was trained on {which}; its scores say little of new ones"


def _same_data(
    card: Card, task: Task, data: str, given: Mapping[str, Any], registry: Registry
) -> bool:
    """Whether these data, divided as for the training, are those of the training."""
    reading = {name: value for name, value in given.items() if name not in Division.model_fields}
    try:
        # The card has the name of a test file, and the command its path.
        known = dict(card.task_options)
        if path := next(values_in(card.command, "--test"), ""):
            known["test"] = path
        options: Any = task.options.model_validate({**known, **reading})
        found: Any
        if isinstance(task, EncoderTask):
            found, _ = task.read(data, options, registry)
            found = found if options.keep_duplicates else found.without_duplicates()
        else:
            keep = options.keep_duplicates
            found, _ = load_texts(registry, data, options.reader(), keep_duplicates=keep)
    except (ZooError, ValidationError):
        return False
    return bool(found.fingerprint == card.data["fingerprint"])
