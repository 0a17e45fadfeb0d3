"""``zoo evaluate``: the scores of a saved classifier, by class, and its worst mistakes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option
from zoo.cli.table import print_table

if TYPE_CHECKING:
    from zoo.data.sources.corpus import Corpus
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
    text_column: str,
    label_column: str,
    split: str,
    mistakes: int,
    as_json: bool,
) -> None:
    """Score a model on labelled texts: every class, the confusion matrix, the worst mistakes.

    \b
    zoo evaluate model --data newswire
    zoo evaluate model --data more.csv --split all --json
    """
    from zoo.data.sources.load_corpus import load_corpus

    model = saved.open("evaluate")
    corpus, notices = load_corpus(
        saved.registry, data, text_column=text_column, label_column=label_column
    )
    for notice in notices:
        click.echo(notice, err=True)

    from zoo.inference.evaluate import evaluate as evaluate_texts

    found = evaluate_texts(model, *_documents(corpus, split))
    where = f"{corpus.name}, {'all documents' if split == 'all' else f'{split} split'}"
    if as_json:
        content = {"data": corpus.name, "fingerprint": corpus.fingerprint, "split": split}
        content |= asdict(found)
        content["mistakes"] = content["mistakes"][:mistakes]
        click.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
        return
    click.echo(f"{model.card.cell} on {where}: {found.documents} documents")
    click.echo(f"accuracy {found.accuracy:.3f}, macro F1 {found.macro_f1:.3f}\n")
    _print(found, mistakes)
    report_limits(found.cut, found.unknown, found.documents, model.max_length)


def _documents(corpus: Corpus, split: str) -> tuple[list[str], list[str]]:
    """Texts, and their classes' names."""
    texts, labels = [], []
    if split in ("train", "all"):
        texts, labels = corpus.train_texts, corpus.train_labels
    if split in ("test", "all"):
        texts, labels = [*texts, *corpus.test_texts], [*labels, *corpus.test_labels]
    return texts, [corpus.label_names[label] for label in labels]


def _print(found: Evaluation, mistakes: int) -> None:
    print_table(
        [
            [c.label, f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}", str(c.support)]
            for c in found.classes
        ],
        ["class", "precision", "recall", "F1", "support"],
    )
    click.echo("\nConfusion (rows: true, columns: predicted)\n")
    labels = [c.label for c in found.classes]
    print_table(
        [[label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)],
        ["", *labels],
    )
    shown = found.mistakes[:mistakes]
    if shown:
        click.echo(f"\nThe worst of {len(found.mistakes)} mistakes\n")
        print_table(
            [[m.label, m.predicted, f"{m.probability:.3f}", m.text] for m in shown],
            ["true", "predicted", "p(true)", "text"],
            cut=3,
        )
