"""What the commands that take a saved model share. No torch until a model is loaded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from zoo.cli.options import load_zoo, plugin_option, several
from zoo.cli.request_options import field_options
from zoo.config.reading import Reading, given_flags
from zoo.errors import ZooError
from zoo.registry import Registry

T = TypeVar("T")


@dataclass(frozen=True)
class SavedModel:
    """A model's directory and how to load it, as a command line gives them."""

    directory: str
    device: str
    allow_changed: bool
    registry: Registry

    def refuse_other_tasks(self, command: str) -> None:
        """ZooError where the model's task does not offer this command, or cannot be had."""
        from zoo.inference.saved_model import read

        directory = Path(self.directory)
        card = read(directory)  # before torch is imported, which takes seconds
        try:
            task = card.find_task(self.registry)
        except ZooError as error:
            raise ZooError(f"{directory}: {error}") from error
        if command not in task.commands:
            offered = ", ".join(f"zoo {name}" for name in task.commands)
            raise ZooError(
                f"{directory} holds {task.model_name}, which zoo {command} does not take; "
                f"it is for {offered}"
            )

    def open(self, command: str) -> Any:
        """The loaded model; ZooError where the model's task does not offer this command."""
        from zoo.config.settings import Execution

        self.refuse_other_tasks(command)

        from zoo.inference.saved_model import load_from
        from zoo.training.device import resolve

        runtime = resolve(Execution.model_validate({"device": self.device}))
        return load_from(
            Path(self.directory),
            self.registry,
            device=runtime.device,
            allow_changed=self.allow_changed,
        )


def model_options(command: Callable[..., Any]) -> Any:
    """Add DIR, ``--device``, ``--allow-changed`` and ``--plugin``.

    The command gets ``saved: SavedModel``.
    """

    @functools.wraps(command)
    def with_model(
        directory: str, device: str, allow_changed: bool, plugins: tuple[str, ...], **rest: Any
    ) -> Any:
        registry = load_zoo(plugins).registry
        return command(saved=SavedModel(directory, device, allow_changed, registry), **rest)

    return several(
        click.argument("directory", metavar="DIR"),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda", "mps"]),
            default="auto",
            show_default=True,
            help="Where to compute.",
        ),
        click.option(
            "--allow-changed",
            is_flag=True,
            help="Load the model although it gives other outputs than when it was saved.",
        ),
        plugin_option,
    )(with_model)


@dataclass(frozen=True)
class Source:
    """Where texts come from, as a command line gives it. what: the name of one text."""

    file: str | None
    column: str | None
    reading: Reading
    what: str

    def texts(self, given: Sequence[str]) -> Iterable[str]:
        """The texts given, or those of the file; stdin where it is a pipe and nothing is given.

        Raises ZooError for an empty one, by its number or line, and at the end of a file that
        contains none.
        """
        from zoo.data.sources.load_data import PIPE, read_texts

        if given and self.file is not None:
            raise ZooError(f"{self.what}s on the command line and --input: use one of the two")
        if self.column is not None and self.file in (None, PIPE):
            raise ZooError("--text-column is for --input FILE")
        if given and (flags := given_flags(self.reading)):
            raise ZooError(f"{' and '.join(flags.values())}: for --input FILE")
        for number, text in enumerate(given, start=1):
            if not text.strip():
                raise ZooError(f"{self.what} {number} is empty: there is nothing in it to read")
        if given:
            return given
        if self.file is None and (sys.stdin is None or sys.stdin.isatty()):
            raise ZooError(f"no {self.what}: give one, or --input FILE, or a pipe")
        file, column, notices = self.file or PIPE, self.column or "text", list[str]()
        return with_notices(read_texts(file, column, self.what, self.reading, notices), notices)


def with_notices(texts: Iterable[T], notices: list[str]) -> Iterator[T]:
    """The texts; what was left out is said on stderr, after the last."""
    yield from texts
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


def source_options(what: str) -> Callable[[Any], Any]:
    """Add ``--input``, ``--text-column``, and how a file is read; the command gets a ``Source``.

    what: the name of one text.
    """

    def add(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_source(source: str | None, text_column: str | None, **rest: Any) -> Any:
            from zoo.config.request import validated

            given = {n: rest.pop(n) for n in Reading.model_fields}
            reading = validated(Reading, {n: v for n, v in given.items() if v is not None})
            return command(source=Source(source, text_column, reading, what), **rest)

        return several(
            click.option(
                "--input",
                "source",
                metavar="FILE",
                help=f"A {what} per line, a column of a table, or a directory with a {what} in "
                "each file; - for stdin.  [default: stdin, if it is a pipe]",
            ),
            click.option(
                "--text-column",
                metavar="NAMES",
                help=f"Column of each {what}; of several, as in title,body, the texts are joined.  "
                "[default: text]",
            ),
            field_options(Reading),
        )(with_source)

    return add


def report_limits(cut: int, unknown: int, texts: int, max_length: int) -> None:
    """Say on stderr how many texts were cut or have unknown words."""
    for count, verbs, rest in (
        (cut, ("is", "are"), f"longer than the model's {max_length} tokens; the rest was not read"),
        (unknown, ("has", "have"), "words the model does not know"),
    ):
        if count:
            which = f"{count} of {texts} texts" if texts > 1 else "the text"
            verb = verbs[texts > 1 and count > 1]
            click.echo(f"note: {which} {verb} {rest}", err=True)
