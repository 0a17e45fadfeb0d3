"""Texts given on the command line, in a file, or through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from zoo.errors import ZooError


def source_options(what: str) -> Callable[[Any], Any]:
    """Add ``--input`` and ``--text-column``; the command gets ``source`` and ``text_column``.

    what: the name of one text.
    """

    def decorate(command: Any) -> Any:
        file = click.option(
            "--input",
            "source",
            metavar="FILE",
            help=f"A {what} per line, or a column of CSV, TSV or JSON lines; - for stdin.  "
            "[default: stdin, if it is a pipe]",
        )
        column = click.option(
            "--text-column", metavar="NAME", help=f"Column of each {what}.  [default: text]"
        )
        return file(column(command))

    return decorate


def given_texts(
    texts: Sequence[str], source: str | None, column: str | None, what: str = "text"
) -> Iterable[str]:
    """The texts given, or those of the source; stdin where it is a pipe and nothing is given.

    what: how an error names one. Raises ZooError for an empty one, by its number or line.
    """
    from zoo.inference.text_files import PIPE, read_texts

    if texts and source is not None:
        raise ZooError(f"{what}s on the command line and --input: use one of the two")
    if column is not None and source in (None, PIPE):
        raise ZooError("--text-column is for --input FILE")
    if texts:
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                raise ZooError(f"{what} {number} is empty: there is nothing in it to read")
        return texts
    if source is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise ZooError(f"no {what}: give one, or --input FILE, or a pipe")
        source = PIPE
    return read_texts(source, column or "text")


def refuse_no_texts(count: int, source: str | None, what: str = "text") -> None:
    """ZooError where a source contained no text."""
    if not count:
        raise ZooError(f"{'stdin' if source in (None, '-') else source} contains no {what}")
