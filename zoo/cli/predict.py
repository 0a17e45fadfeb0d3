"""``zoo predict``: what a saved model predicts for texts, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from zoo.cli.model import (
    SavedModel,
    given_texts,
    model_options,
    report_limits,
    source_options,
)
from zoo.cli.prediction_formats import FILL_WRITERS, TAG_WRITERS, TEXT_WRITERS
from zoo.errors import ZooError

CONLL = ".conll"


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
    help="How to print: csv and jsonl hold the probability of every class, or of each tag.",
)
def predict(
    saved: SavedModel,
    texts: tuple[str, ...],
    source: str | None,
    text_column: str | None,
    form: str,
    batch_size: int,
    **reading: Any,
) -> None:
    """Print what the model predicts for every text: the class, a tag for each token, or its masks.

    \b
    zoo predict model "the striker scored twice" "shares fell"
    zoo predict model --input articles.csv --text-column title,body --format jsonl
    zoo predict model --input train.csv --no-header --text-column 2,3
    cat lines.txt | zoo predict model
    zoo predict tagger --input sentences.conll
    zoo predict encoder "the striker [MASK] twice"

    Texts are predicted and printed a batch at a time. Lines are read as they are needed, so there
    may be any number of them; a table is read whole.
    A text that is longer than the model is cut, as in training, and words may be unknown to the
    model: a note says so. A text on the command line whose tokens are all unknown is an error; in
    a file its row says so. For a tagger a file that ends in .conll holds a token in the first
    column of every line, and a blank line between two texts.
    """
    given: Iterable[str | Sequence[str]] = given_texts(texts, source, text_column, reading)
    model = saved.open("predict")

    from zoo.data.sources.text_file import data_suffix
    from zoo.models.mask_filler import MaskFiller
    from zoo.models.text_model import TextTagger

    is_tagger = isinstance(model, TextTagger)
    if source is not None and data_suffix(Path(source)) == CONLL:
        if not is_tagger:
            raise ZooError(f"--input {source}: CoNLL columns are for a model of tags")
        given = _conll_texts(Path(source), text_column, reading)
    seen = cut = unknown = 0

    def counted() -> Iterator[Any]:
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

    writers = TAG_WRITERS if is_tagger else TEXT_WRITERS
    (FILL_WRITERS if isinstance(model, MaskFiller) else writers)[form](counted())
    report_limits(cut, unknown, seen, model.max_length)


def _conll_texts(
    path: Path, text_column: str | None, reading: Mapping[str, Any]
) -> Iterator[list[str]]:
    from zoo.config.reading import Reading, TextReading, given_flags
    from zoo.data.sources.tables import usable
    from zoo.data.sources.tagged_texts import read_conll
    from zoo.sweep.make_request import validated

    how = validated(Reading, {name: value for name, value in reading.items() if value is not None})
    if text_column is not None:
        raise ZooError("--text-column is for tables; the tokens of a CoNLL file are its column 1")
    for name, flag in given_flags(how).items():
        if name not in TextReading.model_fields:
            raise ZooError(f"{flag} is for tables, and {path} has CoNLL columns")
    notices: list[str] = []
    rows = read_conll(path, how.encoding, notices)

    def first_columns(_: str, lines: list[list[str]]) -> list[str]:
        return [columns[0] for columns in lines]

    texts = list(usable(str(path), rows, first_columns, how.drop_bad_rows, notices))
    for notice in notices:
        click.echo(f"note: {notice}", err=True)
    if not texts:
        raise ZooError(f"{path} contains no text")
    return iter(texts)
