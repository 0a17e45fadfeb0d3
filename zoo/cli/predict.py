"""``zoo predict``: what a saved model predicts for texts, a batch at a time."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.model import (
    SavedModel,
    given_texts,
    model_options,
    report_limits,
    source_options,
)
from zoo.cli.table import printable
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.models.text_model import Prediction

Writer = Callable[[Iterable["Prediction"]], None]
DIGITS = 6  # of a probability; float32 knows no more


@click.command()
@source_options("text")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    default=64,
    show_default=True,
    help="Texts that are predicted at once.",
)
@model_options
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "jsonl"]),
    default="table",
    show_default=True,
    help="How to print: csv and jsonl hold the probability of every class.",
)
def predict(
    saved: SavedModel,
    texts: tuple[str, ...],
    source: str | None,
    text_column: str | None,
    form: str,
    batch_size: int,
) -> None:
    """Print what the model predicts for every text; of a classifier, the class.

    \b
    zoo predict model "the striker scored twice" "shares fell"
    zoo predict model --input articles.csv --text-column body --format jsonl
    cat lines.txt | zoo predict model

    Texts are read, predicted and printed a batch at a time, so there may be any number of them.
    A text that is longer than the model is cut, as in training, and words may be unknown to the
    model: a note says so. A text on the command line whose tokens are all unknown is an error; in
    a file its row says so.
    """
    given = given_texts(texts, source, text_column)
    model = saved.open("predict")
    seen = cut = unknown = 0

    def counted() -> Iterator[Prediction]:
        nonlocal seen, cut, unknown
        stream = model.stream(given, batch_size)
        if texts:  # an unknown one is an error before anything is printed
            stream = list(stream)
            for number, prediction in enumerate(stream, start=1):
                if prediction.all_unknown:
                    raise ZooError(f"every token of text {number} is unknown to the model")
        for prediction in stream:
            seen += 1
            cut += prediction.cut > 0
            unknown += prediction.unknown > 0
            yield prediction

    _WRITERS[form](counted())
    report_limits(cut, unknown, seen, model.max_length)


def _table(predictions: Iterable[Prediction]) -> None:
    width = 0
    for prediction in predictions:
        if not width:
            width = max(len("label"), len(prediction.label), *map(len, prediction.probabilities), 0)
            heading = "" if prediction.probability is None else "  probability"
            click.secho(f"{'label':<{width}}{heading}  text", bold=True)
        share = "" if prediction.probability is None else f"  {prediction.probability:>11.3f}"
        note = "  (every token is unknown to the model)" if prediction.all_unknown else ""
        click.echo(f"{prediction.label:<{width}}{share}  {printable(prediction.text)}{note}")


def _csv(predictions: Iterable[Prediction]) -> None:
    writer = None
    for prediction in predictions:
        row = _row(prediction)
        row |= {f"p({label})": share for label, share in row.pop("probabilities").items()}
        if writer is None:
            writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)


def _jsonl(predictions: Iterable[Prediction]) -> None:
    for prediction in predictions:
        click.echo(json.dumps(_row(prediction), ensure_ascii=False))


def _row(p: Prediction) -> dict[str, Any]:
    return {
        "text": p.text,
        "label": p.label,
        "probability": None if p.probability is None else round(p.probability, DIGITS),
        "tokens": p.tokens,
        "cut": p.cut,
        "unknown": p.unknown,
        "probabilities": {n: round(v, DIGITS) for n, v in p.probabilities.items()},
    }


_WRITERS: dict[str, Writer] = {"table": _table, "csv": _csv, "jsonl": _jsonl}
