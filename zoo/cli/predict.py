"""``zoo predict``: what a saved model predicts for texts, printed a batch at a time."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.model import SavedModel, Source, model_options, report_limits, source_options, told
from zoo.cli.table import printable
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.models.text_model import FilledText, Prediction, TaggedText

CONLL = (".conll", ".conllu")
DIGITS = 6  # of a probability; float32 knows no more


@click.command()
@source_options("text")
@model_options
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "jsonl", "json"]),
    default="table",
    show_default=True,
    help="How to print: csv, jsonl and json (one array) hold the probability of every class, or of "
    "each tag.",
)
def predict(
    saved: SavedModel,
    texts: tuple[str, ...],
    source: Source,
    form: str,
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
    column of every line (in .conllu the second), and a blank line between two texts.
    """
    given: Iterable[str | Sequence[str]] = source.texts(texts)
    model = saved.open("predict")

    from zoo.data.sources.text_file import data_suffix
    from zoo.models.text_model import MaskFiller, TextTagger

    is_tagger = isinstance(model, TextTagger)
    if source.file is not None and data_suffix(Path(source.file)) in CONLL:
        if not is_tagger:
            raise ZooError(f"--input {source.file}: CoNLL columns are for a model of tags")
        given = _conll_texts(source, Path(source.file))
    counts = Counter[str]()

    def counted() -> Iterator[Any]:
        stream = model.stream(given)
        if texts:  # an unknown one is an error before anything is printed
            stream = list(stream)
            for number, prediction in enumerate(stream, start=1):
                if prediction.all_unknown:
                    raise ZooError(f"every token of text {number} is unknown to the model")
        for prediction in stream:
            counts.update(texts=1, cut=prediction.cut > 0, unknown=prediction.unknown > 0)
            yield prediction

    layout: Any = _TagLayout() if is_tagger else _TextLayout()
    _print(counted(), _FillLayout() if isinstance(model, MaskFiller) else layout, form)
    report_limits(counts["cut"], counts["unknown"], counts["texts"], model.max_length)


def _conll_texts(source: Source, path: Path) -> Iterator[list[str]]:
    from zoo.config.reading import TextReading, given_flags
    from zoo.data.sources.problems import usable
    from zoo.data.sources.tagged_texts import read_conll, usual_columns

    if source.column is not None:
        raise ZooError("--text-column is for tables; a CoNLL file has a column of tokens")
    for flag in given_flags(source.reading, besides=TextReading).values():
        raise ZooError(f"{flag} is for tables, and {path} has CoNLL columns")
    notices: list[str] = []
    rows = read_conll(path, source.reading, notices)

    def tokens(_: str, lines: list[list[str]]) -> list[str]:
        token = usual_columns(path, len(lines[0]))[0]
        return [columns[token] for columns in lines]

    texts = list(usable(str(path), rows, tokens, source.reading, notices))
    if not texts:
        raise ZooError(f"{path} contains no text")
    return told(texts, notices)


def _print(predictions: Iterable[Any], layout: Any, form: str) -> None:
    """Print each prediction as it comes, as a table, CSV, JSON lines or one JSON array."""
    numbered = enumerate(predictions, start=1)
    if form == "csv":
        writer = None
        for row in (row for number, p in numbered for row in layout.rows(number, p)):
            if writer is None:
                writer = csv.DictWriter(sys.stdout, [*row], lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
        return
    for number, prediction in numbered:
        if form == "table":
            layout.echo(number, prediction)
            continue
        between = "" if form == "jsonl" else "[" if number == 1 else ",\n"
        line = json.dumps(layout.json(prediction), ensure_ascii=False)
        click.echo(f"{between}{line}", nl=form == "jsonl")
    if form == "json":
        click.echo("]")


class _TextLayout:
    """A line for every text."""

    width = 0  # of the column of labels, by the first prediction

    def echo(self, number: int, p: Prediction) -> None:
        if number == 1:
            self.width = max(map(len, ["label", p.label, *p.probabilities]))
            heading = "" if p.probability is None else "  probability"
            click.secho(f"{'label':<{self.width}}{heading}  text", bold=True)
        share = "" if p.probability is None else f"  {p.probability:>11.3f}"
        note = "  (every token is unknown to the model)" if p.all_unknown else ""
        click.echo(f"{p.label:<{self.width}}{share}  {printable(p.text)}{note}")

    def rows(self, number: int, p: Prediction) -> Iterator[dict[str, Any]]:
        row = self.json(p)
        shares = row.pop("probabilities")
        yield row | {f"p({label})": share for label, share in shares.items()}

    def json(self, p: Prediction) -> dict[str, Any]:
        most = None if p.probability is None else round(p.probability, DIGITS)
        each = {label: round(share, DIGITS) for label, share in p.probabilities.items()}
        about = {"text": p.text, "label": p.label, "probability": most, "probabilities": each}
        return about | _counts(p)


class _TagLayout:
    """A line for every token with its tag, and an empty line between two texts."""

    def echo(self, number: int, p: TaggedText) -> None:
        shown = [printable(token) for token in p.tokens]
        widths = [max(map(len, column)) for column in (["token", *shown], ["tag", *p.tags])]
        if number == 1:
            click.secho(f"{'token':<{widths[0]}}  {'tag':<{widths[1]}}  probability", bold=True)
        else:
            click.echo()
        for token, tag, share in zip(shown, p.tags, p.probabilities, strict=True):
            click.echo(f"{token:<{widths[0]}}  {tag:<{widths[1]}}  {share:>11.3f}")

    def rows(self, number: int, p: TaggedText) -> Iterator[dict[str, Any]]:
        its = self.json(p)
        for row in zip(its["tokens"], its["tags"], its["probabilities"], strict=True):
            yield dict(zip(("text", "token", "tag", "probability"), (number, *row), strict=True))

    def json(self, p: TaggedText) -> dict[str, Any]:
        shares = [round(share, DIGITS) for share in p.probabilities]
        about = {"tokens": p.tokens, "tags": p.tags, "probabilities": shares}
        return about | {"cut": p.cut, "unknown": p.unknown}


class _FillLayout:
    """A line for every filled text, and beneath it a line for each of its masks."""

    def echo(self, number: int, p: FilledText) -> None:
        click.echo(printable(p.filled))
        for mask, pieces in enumerate(p.masks, start=1):
            shown = ", ".join(f"{printable(piece)} {share:.3f}" for piece, share in pieces)
            click.echo(f"  mask {mask}: {shown}")

    def rows(self, number: int, p: FilledText) -> Iterator[dict[str, Any]]:
        for mask, pieces in enumerate(self.json(p)["masks"], start=1):
            for piece, share in pieces.items():
                yield {"text": number, "mask": mask, "piece": piece, "probability": share}

    def json(self, p: FilledText) -> dict[str, Any]:
        masks = [{piece: round(share, DIGITS) for piece, share in pieces} for pieces in p.masks]
        return {"text": p.text, "filled": p.filled, "masks": masks} | _counts(p)


def _counts(prediction: Prediction | FilledText) -> dict[str, int]:
    return {name: getattr(prediction, name) for name in ("tokens", "cut", "unknown")}
