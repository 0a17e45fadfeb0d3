"""The command that measures one cell at one value again."""

from __future__ import annotations

import shlex

from zoo.config.request import Request
from zoo.execution.base import Subject
from zoo.sweep.repeat_command import repeat_command


def scale_command(request: Request, subject: Subject, over: str, value: int) -> str:
    """``zoo scale`` with the options that give this point."""
    words = shlex.split(repeat_command(request, subject))
    words[1] = "scale"
    at = words.index("--baseline")
    del words[at : at + 2]
    if "--batch-size" not in words:  # left out where it is what ``zoo bench`` takes by default
        words += ["--batch-size", str(request.training.batch_size)]
    return shlex.join([*words, "--over", over, "--values", str(value)])
