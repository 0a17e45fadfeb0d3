"""How ``zoo predict`` prints: a line for every text, every tagged token, or every mask."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.table import printable

if TYPE_CHECKING:
    from zoo.models.mask_filler import FilledText
    from zoo.models.text_model import Prediction, TaggedText

Writer = Callable[[Iterable[Any]], None]
COUNTS = ("tokens", "cut", "unknown")
DIGITS = 6  # of a probability; float32 knows no more


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
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, p in enumerate(predictions):
        if not number:
            shares = [f"p({label})" for label in p.probabilities]
            writer.writerow(["text", "label", "probability", *COUNTS, *shares])
        each = [f"{share:.{DIGITS}f}" for share in p.probabilities.values()]
        most = "" if p.probability is None else f"{p.probability:.{DIGITS}f}"
        counts = [getattr(p, name) for name in COUNTS]
        writer.writerow([p.text, p.label, most, *counts, *each])


def _jsonl(predictions: Iterable[Prediction]) -> None:
    for p in predictions:
        row = {
            "text": p.text,
            "label": p.label,
            "probability": None if p.probability is None else round(p.probability, DIGITS),
            "probabilities": {n: round(v, DIGITS) for n, v in p.probabilities.items()},
            **{name: getattr(p, name) for name in COUNTS},
        }
        click.echo(json.dumps(row, ensure_ascii=False))


def _tag_table(texts: Iterable[TaggedText]) -> None:
    """A token with its tag in every line, a blank line between two texts."""
    for number, text in enumerate(texts):
        shown = [printable(token) for token in text.tokens]
        widths = [max(map(len, column)) for column in (["token", *shown], ["tag", *text.tags])]
        if not number:
            click.secho(f"{'token':<{widths[0]}}  {'tag':<{widths[1]}}  probability", bold=True)
        else:
            click.echo()
        for token, tag, share in zip(shown, text.tags, text.probabilities, strict=True):
            click.echo(f"{token:<{widths[0]}}  {tag:<{widths[1]}}  {share:>11.3f}")


def _tag_csv(texts: Iterable[TaggedText]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["text", "token", "tag", "probability"])
    for number, text in enumerate(texts, start=1):
        for token, tag, share in zip(text.tokens, text.tags, text.probabilities, strict=True):
            writer.writerow([number, token, tag, f"{share:.{DIGITS}f}"])


def _tag_jsonl(texts: Iterable[TaggedText]) -> None:
    for text in texts:
        row = {
            "tokens": text.tokens,
            "tags": text.tags,
            "probabilities": [round(share, DIGITS) for share in text.probabilities],
            "cut": text.cut,
            "unknown": text.unknown,
        }
        click.echo(json.dumps(row, ensure_ascii=False))


def _fill_table(texts: Iterable[FilledText]) -> None:
    """A filled text in every line, and beneath it a line for each of its masks."""
    for text in texts:
        click.echo(printable(text.filled))
        for number, pieces in enumerate(text.masks, start=1):
            shown = ", ".join(f"{printable(piece)} {share:.3f}" for piece, share in pieces)
            click.echo(f"  mask {number}: {shown}")


def _fill_csv(texts: Iterable[FilledText]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["text", "mask", "piece", "probability"])
    for number, text in enumerate(texts, start=1):
        for mask, pieces in enumerate(text.masks, start=1):
            writer.writerows([number, mask, p, f"{share:.{DIGITS}f}"] for p, share in pieces)


def _fill_jsonl(texts: Iterable[FilledText]) -> None:
    for text in texts:
        row = {
            "text": text.text,
            "filled": text.filled,
            "masks": [{p: round(share, DIGITS) for p, share in pieces} for pieces in text.masks],
            **{name: getattr(text, name) for name in COUNTS},
        }
        click.echo(json.dumps(row, ensure_ascii=False))


TEXT_WRITERS: Mapping[str, Writer] = {"table": _table, "csv": _csv, "jsonl": _jsonl}
TAG_WRITERS: Mapping[str, Writer] = {"table": _tag_table, "csv": _tag_csv, "jsonl": _tag_jsonl}
FILL_WRITERS: Mapping[str, Writer] = {"table": _fill_table, "csv": _fill_csv, "jsonl": _fill_jsonl}
