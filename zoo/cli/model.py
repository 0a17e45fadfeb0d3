"""What the commands that take a saved model share. No torch until a model is loaded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import load_zoo, plugin_option, several
from zoo.cli.request_options import field_options
from zoo.config.reading import Reading, given_flags
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
        from zoo.inference.directory import read

        directory = Path(self.directory)
        card = read(directory)  # before torch is imported, which takes seconds
        try:
            task = card.find_task(self.registry, allow_changed=self.allow_changed)
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

        from zoo.inference.load import load_from
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
            help="Load the model although components have changed since it was trained.",
        ),
        plugin_option,
    )(with_model)


def source_options(what: str) -> Callable[[Any], Any]:
    """Add ``--input``, ``--text-column``, and how a file is read.

    The command gets ``source``, ``text_column`` and the fields of ``Reading``. what: the name of
    one text.
    """
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


def given_texts(
    texts: Sequence[str],
    source: str | None,
    column: str | None,
    reading: Mapping[str, Any],
    what: str = "text",
) -> Iterable[str]:
    """The texts given, or those of the source; stdin where it is a pipe and nothing is given.

    reading: the fields of ``Reading``, None where not given. what: how an error names one. Raises
    ZooError for an empty one, by its number or line, and at the end of a source that contains none.
    """
    from zoo.data.sources.load_data import PIPE
    from zoo.sweep.make_request import validated

    given = {name: value for name, value in reading.items() if value is not None}
    if texts and source is not None:
        raise ZooError(f"{what}s on the command line and --input: use one of the two")
    if column is not None and source in (None, PIPE):
        raise ZooError("--text-column is for --input FILE")
    how = validated(Reading, given)
    if texts and (flags := given_flags(how)):
        raise ZooError(f"{' and '.join(flags.values())}: for --input FILE")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise ZooError(f"{what} {number} is empty: there is nothing in it to read")
    if not texts and source is None and (sys.stdin is None or sys.stdin.isatty()):
        raise ZooError(f"no {what}: give one, or --input FILE, or a pipe")
    if texts:
        return texts
    return _told(PIPE if source is None else source, column or "text", what, how)


def _told(source: str, column: str, what: str, reading: Reading) -> Iterator[str]:
    """The texts of a source; what was guessed or left out is said on stderr, after the last."""
    from zoo.data.sources.load_data import read_texts

    notices: list[str] = []
    yield from read_texts(source, column, what, reading, notices)
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


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
