"""Text classification that is ranked by macro F1."""

from __future__ import annotations

from zoo.registry.declarations import part
from zoo.tasks.classify import Classify


@part("task", "my-task")
class MyTask(Classify):
    """Text classification that is ranked by macro F1.

    A subclass can also have other ``options`` (a pydantic model, whose fields are options of the
    command line), and its own ``loss`` and ``evaluate``. Planning imports this file, so torch is
    imported for types alone, or within a method.
    """

    metrics = ("macro_f1", "accuracy")  # the first ranks the rows
