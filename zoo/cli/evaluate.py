"""``zoo evaluate``: how well a saved classifier does, by class, and where it is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from zoo.cli.model import model_options, open_model, report_limits
from zoo.cli.options import json_option, load_zoo
from zoo.cli.table import print_table

if TYPE_CHECKING:
    from zoo.data.sources.corpus import Corpus
    from zoo.inference.evaluate import Evaluation


@click.command()
@model_options
@click.option(
    "--data",
    metavar="SPEC",
    required=True,
    help="bbc-news, newswire, order, a path, or hub:owner/name.",
)
@click.option("--text-column", metavar="NAME", default="text", show_default=True)
@click.option("--label-column", metavar="NAME", default="label", show_default=True)
@click.option(
    "--split",
    type=click.Choice(["test", "train", "all"]),
    default="test",
    show_default=True,
    help="Which documents.",
)
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
    directory: str,
    device: str | None,
    allow_changed: bool,
    plugins: tuple[str, ...],
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

    registry = load_zoo(plugins).registry
    model = open_model(directory, device, allow_changed, registry, "evaluate")
    corpus, notices = load_corpus(
        registry, data, text_column=text_column, label_column=label_column
    )
    for notice in notices:
        click.echo(notice, err=True)

    from zoo.inference.evaluate import evaluate as evaluate_texts

    found = evaluate_texts(model, *_documents(corpus, split))
    where = f"{corpus.name}, {'all documents' if split == 'all' else f'{split} split'}"
    if as_json:
        content = {"data": corpus.name, "fingerprint": corpus.fingerprint, "split": split}
        content |= found.as_dict()
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
