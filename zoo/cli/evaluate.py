"""``zoo evaluate``: the scores of a saved model, and the worst mistakes of one with classes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json, print_table
from zoo.cli.request_options import DATA, RequestCommand, option
from zoo.errors import ZooError, counted

if TYPE_CHECKING:
    from zoo.inference.evaluate import Evaluation

LINE = 100  # characters of a line of mistakes in a pipe; --json has the whole texts


@click.command(cls=RequestCommand, offers=lambda one: one.data and one.name != "keep_duplicates")
@option(
    DATA,
    "--data",
    metavar="TEXT",
    required=True,
    help="A built-in data set ('zoo list data'), a path, or hub:owner/name.",
)
@option(
    DATA,
    "--split",
    type=click.Choice(["test", "train", "validation", "all"]),
    default="test",
    show_default=True,
    help="Which documents; 'all' reads a file as it is, of any number of documents.",
)
@model_options
@click.option(
    "--mistakes",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="How many of the worst mistakes to show.",
)
@json_option
def evaluate(
    saved: SavedModel,
    data: str,
    split: str,
    mistakes: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Score a model on labelled texts: every class, the confusion matrix, the worst mistakes.

    Of a tagger the tokens are scored, and its tags are the classes. A masked language model is
    scored on texts alone; test and validation are then what its training holds out.

    \b
    zoo evaluate model --data newswire
    zoo evaluate model --data more.csv --split all --json
    zoo evaluate model --data test.csv --no-header --text-column 2,3 --label-column 1 --split all
    zoo evaluate tagger --data more.conll --split all
    zoo evaluate encoder --data book.txt --split all
    """
    from zoo.inference.evaluate import evaluate_data

    model = saved.open("evaluate")
    source = click.get_current_context().get_parameter_source("mistakes")
    if not model.labels and source is not ParameterSource.DEFAULT:
        raise ZooError("--mistakes is for models of classes and tags")
    given = {name: value for name, value in reading.items() if value is not None}
    scored = evaluate_data(model, saved.registry, data, split, given)
    scores = scored.evaluation
    for notice in scored.notices:
        click.echo(notice, err=True)
    if as_json:
        content: dict[str, Any] = {**asdict(scores), **scores.metrics, "split": split}
        content |= {"data": scored.data, "fingerprint": scored.fingerprint}
        print_json({**content, "mistakes": content["mistakes"][:mistakes]})
        return
    described = [metric.description for metric in scored.metrics]
    tokens = scores.metrics.get("tokens")
    count = counted(scores.documents, "document") if tokens is None else f"{tokens} masked tokens"
    part = "all documents" if split == "all" else f"{split} split"
    click.echo(f"{model.card.cell} on {scored.data}, {part}: {count}")
    click.echo(", ".join(f"{d.label} {d.format(scores.metrics[d.name])}" for d in described))
    if scores.groups:
        rows = [
            [group, str(of_group["examples"]), *(d.format(of_group[d.name]) for d in described)]
            for group, of_group in scores.groups.items()
        ]
        click.echo()
        print_table(rows, ["group", "examples", *(d.label for d in described)])
    if scores.classes:
        _print(scores, mistakes)
    report_limits(scores.cut, scores.unknown, scores.documents, model.max_length)


def _print(scores: Evaluation, mistakes: int) -> None:
    rows = [
        [c.label, f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}", str(c.support)]
        for c in scores.classes
    ]
    click.echo()
    print_table(rows, ["class", "precision", "recall", "F1", "support"])
    click.echo("\nConfusion (rows: true, columns: predicted)\n")
    labels = [c.label for c in scores.classes]
    pairs = zip(labels, scores.confusion, strict=True)
    print_table([[label, *map(str, row)] for label, row in pairs], ["", *labels])
    shown = scores.mistakes[:mistakes]
    if shown:
        click.echo(f"\nThe worst of {counted(len(scores.mistakes), 'mistake')}\n")
        rows = [[m.label, m.predicted, f"{m.probability:.3f}", m.text] for m in shown]
        print_table(rows, ["true", "predicted", "p(true)", "text"], cut=3, piped=LINE)
