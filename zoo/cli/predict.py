"""``zoo predict``: what a kept model says of texts, as they stream by."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from zoo.cli.model import model_options, open_classifier, tell_limits
from zoo.cli.options import load_zoo
from zoo.cli.texts import given_texts
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.models.text_classifier import Prediction

Writer = Callable[[Iterable["Prediction"], list[str]], None]
DIGITS = 6  # of a probability; float32 knows no more


@click.command()
@model_options
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--input",
    "source",
    metavar="FILE",
    help="A text per line, or a column of CSV, TSV or JSON lines; - for stdin.",
)
@click.option("--text-column", metavar="NAME", help="Column of the texts (default: text).")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "jsonl"]),
    default="table",
    show_default=True,
    help="How to print: csv and jsonl hold the probability of every class.",
)
@click.option("--batch-size", type=click.IntRange(min=1), default=64, show_default=True)
def predict(
    directory: str,
    device: str | None,
    allow_changed: bool,
    plugins: tuple[str, ...],
    texts: tuple[str, ...],
    source: str | None,
    text_column: str | None,
    form: str,
    batch_size: int,
) -> None:
    """Print the class of every text, and how probable it is.

    \b
    zoo predict model "the striker scored twice" "shares fell"
    zoo predict model --input articles.csv --text-column body --format jsonl
    cat lines.txt | zoo predict model

    Texts are read, predicted and printed a batch at a time, so there may be any number of them.
    A text longer than the model is read as far as it goes, as in training, and a word it does not
    know counts as unknown: a note says so. A text from the command line of which it knows nothing
    at all is refused; in a file its row says so.
    """
    given = given_texts(texts, source, text_column)
    model = open_classifier(directory, device, allow_changed, load_zoo(plugins).registry)
    seen = cut = unknown = 0

    def counted() -> Iterator[Prediction]:
        nonlocal seen, cut, unknown
        stream = model.stream(given, batch_size)
        # A text from the command line that says nothing is refused before anything is printed.
        for prediction in _refuse_unknown(stream) if texts else stream:
            seen += 1
            cut += prediction.cut > 0
            unknown += prediction.unknown > 0
            yield prediction

    _WRITERS[form](counted(), model.labels)
    if not seen:
        raise ZooError(f"{'stdin' if source in (None, '-') else source} holds no text")
    tell_limits(cut, unknown, seen, model.max_length)


def _refuse_unknown(predictions: Iterable[Prediction]) -> list[Prediction]:
    """All of them; ZooError for a text of which the model knows no token."""
    every = list(predictions)
    for number, prediction in enumerate(every, start=1):
        if prediction.nothing_known:
            raise ZooError(f"text {number} is unknown to the model, every token of it")
    return every


def _table(predictions: Iterable[Prediction], labels: list[str]) -> None:
    width = max(len("label"), *map(len, labels))
    for number, prediction in enumerate(predictions):
        if not number:
            click.secho(f"{'label':<{width}}  probability  text", bold=True)
        text = "".join(c if c.isprintable() else " " for c in prediction.text)
        note = "  (all unknown to the model)" if prediction.nothing_known else ""
        click.echo(f"{prediction.label:<{width}}  {prediction.probability:>11.3f}  {text}{note}")


def _csv(predictions: Iterable[Prediction], labels: list[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    shares = [f"p({label})" for label in labels]
    for number, p in enumerate(predictions):
        if not number:
            writer.writerow(["text", "label", "probability", "tokens", "cut", "unknown", *shares])
        each = [f"{share:.{DIGITS}f}" for share in p.probabilities.values()]
        most = f"{p.probability:.{DIGITS}f}"
        writer.writerow([p.text, p.label, most, p.tokens, p.cut, p.unknown, *each])


def _jsonl(predictions: Iterable[Prediction], labels: list[str]) -> None:
    for p in predictions:
        row = {
            "text": p.text,
            "label": p.label,
            "probability": round(p.probability, DIGITS),
            "probabilities": {name: round(p.probabilities[name], DIGITS) for name in labels},
            "tokens": p.tokens,
            "cut": p.cut,
            "unknown": p.unknown,
        }
        click.echo(json.dumps(row, ensure_ascii=False))


_WRITERS: dict[str, Writer] = {"table": _table, "csv": _csv, "jsonl": _jsonl}
