"""The command that measures one cell at one value again."""

from __future__ import annotations

import shlex

from zoo.harness.command import repeat_command
from zoo.harness.jobs import Subject
from zoo.harness.request import Request


def scale_command(request: Request, subject: Subject, over: str, value: int) -> str:
    """``zoo scale`` with the options that give this point."""
    words = shlex.split(repeat_command(request, subject))
    words[1] = "scale"
    at = words.index("--baseline")
    del words[at : at + 2]
    if "--batch-size" not in words:  # left out where it is what ``zoo bench`` takes by default
        words += ["--batch-size", str(request.training.batch_size)]
    return shlex.join([*words, "--over", over, "--values", str(value)])
