"""The errors a user can cause, and how they are worded."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ZooError(Exception):
    """Something the user asked for cannot be had; the message is one line that says what can."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class WriteError(ZooError):
    """A result cannot be written, because the disk is full, say: exit status 1, not bad usage."""


class ComponentError(ZooError):
    """A component itself is broken: its cells fail, naming its owner, and the others go on."""


class DivergedError(Exception):
    """The training loss, or a score of a trained model, became NaN or infinite."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """A clause naming the nearest match and the whole list: ``"; did you mean 'rope'? …"``."""
    known = list(choices)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"; did you mean '{close[0]}'?" if close else "."
    return f"{hint} There is: {', '.join(known) or 'none'}"


def one_line(error: BaseException) -> str:
    """An exception as one line: its type and the whole of its message."""
    words = "".join(c if c.isprintable() else " " for c in str(error)).split()
    text = " ".join(words)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
