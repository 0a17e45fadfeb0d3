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
from zoo.config.request import validated
from zoo.config.settings import Execution
from zoo.errors import ZooError
from zoo.registry import Registry


@dataclass(frozen=True)
class SavedModel:
    """A model's directory and how to load it, as a command line gives them."""

    directory: str
    device: str
    allow_changed: bool
    registry: Registry

    def open(self, command: str) -> Any:
        """The loaded model; ZooError where its task is not here, or does not offer this command."""
        from zoo.inference.saved_model import load_from, read

        place = Path(self.directory)
        card = read(place)  # before torch is imported, which takes seconds
        try:
            task = card.find_task(self.registry)
        except ZooError as error:
            raise ZooError(f"{self.directory}: {error}") from error
        if command not in task.commands:
            offered = ", ".join(f"zoo {name}" for name in task.commands) or "Transformers (zoo-hf)"
            what = f"{self.directory} holds {task.model_name}, which zoo {command} does not take"
            raise ZooError(f"{what}; it is for {offered}")

        from zoo.training.device import resolve

        device, changed = validated(Execution, {"device": self.device}), self.allow_changed
        return load_from(place, self.registry, device=resolve(device).device, allow_changed=changed)


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
            "--device", default="auto", show_default=True, help="Where to compute, as of zoo bench."
        ),
        click.option(
            "--allow-changed",
            is_flag=True,
            help="Load the model although it gives other outputs than when it was saved.",
        ),
        plugin_option,
    )(with_model)


def source_options(what: str) -> Callable[[Any], Any]:
    """Add ``--input``, ``--text-column``, and how a file is read, for ``read_texts``."""
    return several(
        click.option(
            "--input",
            "source",
            metavar="FILE",
            help=f"A {what} per line, a column of a table, or a directory with a {what} in each "
            "file; - for stdin.  [default: stdin, if it is a pipe]",
        ),
        click.option(
            "--text-column",
            metavar="NAMES",
            help=f"Column of each {what}; of several, as in title,body, the texts are joined.  "
            "[default: text]",
        ),
        field_options(Reading),
    )


def read_texts(
    what: str, texts: Sequence[str], source: str | None, options: Mapping[str, Any]
) -> list[Any]:
    """The texts on the command line, or those of a file, or of stdin where it is a pipe.

    what: the name of one text. options: how a file is read. Notices are said on stderr. Raises
    ZooError for a file without any text or that cannot be read.
    """
    from zoo.data.sources.row_reader import UnlabelledTexts
    from zoo.data.sources.tables import PIPE

    reading = {name: value for name, value in options.items() if value is not None}
    reader = validated(UnlabelledTexts, reading)
    if texts and (source is not None or reading):
        raise ZooError(
            f"{what}s on the command line and --input, or how it is read: use one of the two"
        )
    if texts:
        return list(texts)
    if source is None and sys.stdin.isatty():
        raise ZooError(f"no {what}: give one, or --input FILE, or a pipe")
    tables = reader.tables(Path(source or PIPE).expanduser())
    examples, notices = reader.examples(tables)
    notes(notices)
    return list(examples.texts)


def notes(notices: Sequence[str]) -> None:
    """Say them on stderr."""
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


def limits(cut: int, unknown: int, max_length: int) -> None:
    """Say on stderr how many texts were cut or have unknown words."""
    long = f"longer than the model's {max_length} tokens; the rest was not read"
    notes([f"texts {long}: {cut:d}"] if cut else [])
    notes([f"texts with words the model does not know: {unknown:d}"] if unknown else [])
