"""A task in one file."""

from zoo import part
from zoo.tasks.classify import Classify


@part("task", "my-fair")
class Fair(Classify):
    """Classification that is ranked by its worst class."""

    metrics = ("worst_class", "accuracy")
