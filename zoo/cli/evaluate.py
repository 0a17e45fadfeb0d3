"""``zoo evaluate``: the scores of a saved classifier, by class, and its worst mistakes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json
from zoo.cli.table import print_table

if TYPE_CHECKING:
    from zoo.inference.evaluate import Evaluation


@click.command()
@click.option(
    "--data",
    metavar="TEXT",
    required=True,
    help="A built-in data set ('zoo list data'), a path, or hub:owner/name.",
)
@click.option(
    "--text-column",
    metavar="NAME",
    default="text",
    show_default=True,
    help="Column of the texts, in files and Hub data.",
)
@click.option(
    "--label-column",
    metavar="NAME",
    default="label",
    show_default=True,
    help="Column of the labels, in files and Hub data.",
)
@click.option(
    "--split",
    type=click.Choice(["test", "train", "all"]),
    default="test",
    show_default=True,
    help="Which documents.",
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
    **columns: Any,
) -> None:
    """Score a model on labelled texts: every class, the confusion matrix, the worst mistakes.

    \b
    zoo evaluate model --data newswire
    zoo evaluate model --data more.csv --split all --json
    """
    from zoo.data.sources.load_corpus import load_corpus

    model = saved.open("evaluate")
    corpus, notices = load_corpus(saved.registry, data, **columns)
    for notice in notices:
        click.echo(notice, err=True)

    from zoo.inference.evaluate import evaluate as evaluate_texts

    texts, labels = list[str](), list[str]()
    for part, its_texts, its_labels in corpus.splits():
        if split in (part, "all"):
            texts += its_texts
            labels += (corpus.label_names[label] for label in its_labels)
    task = model.card.find_task(saved.registry, allow_changed=True)
    metrics = task.metrics_from(saved.registry)
    found = evaluate_texts(model, texts, labels, metrics)
    if as_json:
        source = {"data": corpus.name, "fingerprint": corpus.fingerprint, "split": split}
        content = {**source, **asdict(found), **found.metrics}
        content["mistakes"] = content["mistakes"][:mistakes]
        print_json(content)
        return
    part = "all documents" if split == "all" else f"{split} split"
    click.echo(f"{model.card.cell} on {corpus.name}, {part}: {found.documents} documents")
    described = (metric.description for metric in metrics)
    click.echo(", ".join(f"{d.label} {d.format(found.metrics[d.name])}" for d in described) + "\n")
    _print(found, mistakes)
    report_limits(found.cut, found.unknown, found.documents, model.max_length)


def _print(found: Evaluation, mistakes: int) -> None:
    rows = [
        [c.label, f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}", str(c.support)]
        for c in found.classes
    ]
    print_table(rows, ["class", "precision", "recall", "F1", "support"])
    click.echo("\nConfusion (rows: true, columns: predicted)\n")
    labels = [c.label for c in found.classes]
    pairs = zip(labels, found.confusion, strict=True)
    print_table([[label, *map(str, row)] for label, row in pairs], ["", *labels])
    shown = found.mistakes[:mistakes]
    if shown:
        click.echo(f"\nThe worst of {len(found.mistakes)} mistakes\n")
        rows = [[m.label, m.predicted, f"{m.probability:.3f}", m.text] for m in shown]
        print_table(rows, ["true", "predicted", "p(true)", "text"], cut=3)
