"""``zoo evaluate``: scores and the worst mistakes; ``zoo attend``: the attention weights."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.model import SavedModel, limits, model_options, notes
from zoo.cli.options import json_option, print_json, print_table
from zoo.cli.request_options import RequestCommand
from zoo.config.places import refuse_unwritable
from zoo.errors import ZooError, counted

if TYPE_CHECKING:
    from zoo.inference.attention_map import AttentionMap

WORST = 5  # mistakes that are printed; --json has all
SCORES = ("precision", "recall", "f1")
MOST = 3  # tokens to which a token attends most, of those of a whole row


@click.command(cls=RequestCommand, offers=lambda option: option.data)
@click.option(
    "--data",
    metavar="TEXT",
    required=True,
    help="A built-in data set ('zoo list data'), a path, or hub:owner/name.",
)
@click.option(
    "--split",
    type=click.Choice(["test", "train", "validation", "all"]),
    default="test",
    show_default=True,
    help="Which documents; 'all' reads a file as it is, of any number of documents.",
)
@model_options
@json_option
def evaluate(saved: SavedModel, data: str, split: str, as_json: bool, **reading: Any) -> None:
    """Score a model on labelled texts: every class, the confusion matrix, the worst mistakes.

    Of a tagger the tokens are scored, and its tags are the classes.

    \b
    zoo evaluate model --data newswire
    zoo evaluate model --data more.csv --split all --json
    zoo evaluate model --data test.csv --no-header --text-column 2,3 --label-column 1 --split all
    zoo evaluate tagger --data more.conll --split all
    """
    from zoo.inference.evaluate import evaluate as score

    model = saved.open("evaluate")
    options = {name: value for name, value in reading.items() if value is not None}
    scores, metrics, notices = score(model, saved.registry, data, split, options)
    for notice in notices:
        click.echo(notice, err=True)
    if as_json:
        print_json({**asdict(scores), **scores.metrics, "split": split})
        return
    described = [metric.description for metric in metrics]
    part = "all documents" if split == "all" else f"{split} split"
    documents = counted(scores.documents, "document")
    click.echo(f"{model.card.cell} on {scores.data}, {part}: {documents}")
    click.echo(", ".join(f"{d.label} {d.format(scores.metrics[d.name])}" for d in described))
    if scores.groups:
        rows = [
            [group, str(values["examples"]), *(d.format(values[d.name]) for d in described)]
            for group, values in scores.groups.items()
        ]
        click.echo()
        print_table(rows, ["group", "examples", *(d.label for d in described)])
    click.echo()
    rows = [
        [each["label"], *(f"{each[name]:.3f}" for name in SCORES), str(each["support"])]
        for each in scores.classes
    ]
    print_table(rows, ["class", "precision", "recall", "F1", "support"])
    click.echo("\nConfusion (rows: true, columns: predicted)\n")
    labels = [row["label"] for row in scores.classes]
    pairs = zip(labels, scores.confusion, strict=True)
    print_table([[label, *map(str, row)] for label, row in pairs], ["", *labels])
    if mistakes := scores.mistakes[:WORST]:
        click.echo(f"\nThe worst of {counted(len(scores.mistakes), 'mistake')}\n")
        names = ("label", "predicted", "probability", "text")
        rows = [[f"{m[n]:.3f}" if n == "probability" else m[n] for n in names] for m in mistakes]
        print_table(rows, ["true", "predicted", "p(true)", "text"], cut=3)
    limits(scores.cut, scores.unknown, model.max_length)


@click.command()
@model_options
@click.argument("text")
@click.option("--out", metavar="FILE", help="Write a picture, as PNG.")
@json_option
def attend(saved: SavedModel, text: str, out: str | None, as_json: bool) -> None:
    """Show how much every token of a text attends to every other, in every layer.

    \b
    zoo attend model "can you can that"
    zoo attend model "can you can that" --out means.png

    For each token, those that it attends to most, by the mean over heads; the predicted class
    stands above them. The picture has all weights, --json those of every head. Layers whose
    attention gives none are left out.
    """
    if out is not None:
        if Path(out).suffix.lower() != ".png":
            raise ZooError(f"--out {out}: its name must end with .png")
        refuse_unwritable(Path(out), is_file=True)
    model = saved.open("attend")

    from zoo.inference.attention_map import attention_map, write_picture

    shown = attention_map(model, text)
    if out is not None:
        title = f"{model.card.cell}; predicted: {shown.predicted}"
        write_picture(Path(out), shown.tokens, shown.means, title)
        click.echo(f"wrote {out}", err=True)
    if as_json:
        maps = [{"layer": n, "heads": heads.tolist()} for n, heads in shown.by_layer.items()]
        about = {"tokens": shown.tokens, "cut": shown.cut, "predicted": shown.predicted}
        print_json({**about, "maps": maps}, indent=None)
    elif out is None:
        click.echo(f"predicted: {shown.predicted}")
        _print_map(shown)
    missing = sorted({*range(1, model.card.sizes.layers + 1)} - {*shown.by_layer})
    notes([f"the attention of layer {number} gives no map" for number in missing])
    limits(shown.cut > 0, shown.unknown > 0, model.max_length)


def _print_map(shown: AttentionMap) -> None:
    for layer, weights in shown.means.items():
        click.echo(f"\nlayer {layer}, mean over heads")
        rows = []
        for token, row in zip(shown.tokens, weights, strict=True):
            most = row.argsort()[::-1][:MOST]
            rows.append([token, ", ".join(f"{shown.tokens[i]} {row[i]:.2f}" for i in most)])
        print_table(rows, ["token", f"attends most to ({MOST} of {len(rows)})"])
