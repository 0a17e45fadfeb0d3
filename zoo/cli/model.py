"""What the commands that take a saved model share. No torch until a model is loaded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import load_zoo, plugin_option, several
from zoo.cli.request_options import field_options
from zoo.config.reading import Reading
from zoo.errors import ZooError
from zoo.registry import Registry


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
            offered = ", ".join(f"zoo {name}" for name in task.commands) or "Transformers (zoo-hf)"
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

        device = resolve(Execution.model_validate({"device": self.device})).device
        changed, place = self.allow_changed, Path(self.directory)
        return load_from(place, self.registry, device=device, allow_changed=changed)


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
    """Where texts come from, as a command line gives it. what: the name of one text.

    reading: options of how the file is read.
    """

    file: str | None
    reading: Mapping[str, Any]
    what: str

    def texts(self, given: Sequence[str]) -> list[Any]:
        """The texts given, or those of the file; stdin where it is a pipe and nothing is given.

        Notices go to stderr. Raises ZooError for a file without any text, and one that cannot be
        read.
        """
        from zoo.config.request import validated
        from zoo.data.sources.row_reader import UnlabelledTexts
        from zoo.data.sources.tables import PIPE

        reader = validated(UnlabelledTexts, self.reading)
        if given:
            if self.file is not None or self.reading:
                raise ZooError(
                    f"{self.what}s on the command line and --input, or how it is read: use one of "
                    "the two"
                )
            return list(given)
        if self.file is None and sys.stdin.isatty():
            raise ZooError(f"no {self.what}: give one, or --input FILE, or a pipe")
        examples, notices = reader.examples(Path(self.file or PIPE).expanduser())
        notes(notices)
        return list(examples.texts)


def source_options(what: str) -> Callable[[Any], Any]:
    """Add ``--input``, ``--text-column``, and how a file is read; the command gets a ``Source``.

    what: the name of one text.
    """

    def add(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_source(source: str | None, **rest: Any) -> Any:
            values = {n: rest.pop(n) for n in (*Reading.model_fields, "text_column")}
            reading = {n: value for n, value in values.items() if value is not None}
            return command(source=Source(source, reading, what), **rest)

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


def notes(notices: Sequence[str]) -> None:
    """Say them on stderr."""
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


def limits(cut: int, unknown: int, max_length: int) -> None:
    """Say on stderr how many texts were cut or have unknown words."""
    long = f"longer than the model's {max_length} tokens; the rest was not read"
    notes([f"texts {long}: {cut:d}"] if cut else [])
    notes([f"texts with words the model does not know: {unknown:d}"] if unknown else [])
