"""The errors a user can cause, and words that messages share."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import Any


class ZooError(Exception):
    """Something the user asked for cannot be had; the message is one line that says what can."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class DataError(ZooError):
    """Data that cannot be used as they are. problems: all that is wrong, a line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = [" ".join(problem.split()) for problem in problems]
        super().__init__("; ".join(self.problems))


class StoppedError(ZooError):
    """Work cannot go on, whatever was asked for; what is finished is kept: exit status 1."""


class WriteError(StoppedError):
    """A file cannot be written, because the disk is full, say."""


class ComponentError(ZooError):
    """A component itself is broken: its cells fail, naming its owner, and the others go on."""


class RefusedError(Exception):
    """A component refuses what it is built with: its cells are skipped, with this reason."""


class DivergedError(Exception):
    """The training loss, or a score of a trained model, became NaN or infinite."""


# Two words that are as alike as this are likely to be one with a typing error: "sim" and "sin".
LIKELY = 0.65


def close_match(word: str, choices: Iterable[str]) -> str | None:
    """The choice that a word is likely to be a misspelling of; None where there is none."""
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=LIKELY)), None)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A clause naming the likely match and the whole list: ``"; did you mean 'rope'? …"``."""
    known = list(choices)
    close = close_match(word, known)
    hint = f"; did you mean '{close}'?" if close else "."
    return f"{hint} There is: {', '.join(known) or 'none'}"


def one_line(error: BaseException) -> str:
    """An exception as one line: its type and the whole of its message."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - it is a plug-in's code that makes the text
        text = ""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def counted(count: Any, noun: str) -> str:
    """``1 effect``, ``3 effects``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(words: Iterable[str], most: int = sys.maxsize, link: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; of more than so many ``a, b and 3 more``.

    link: the word before the last.
    """
    every = list(words)
    more = [f"{len(every) - most} more"] * (len(every) > most)
    *others, last = [*every[:most], *more]
    return f"{', '.join(others)} {link} {last}" if others else last
