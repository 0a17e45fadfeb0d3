"""``zoo evaluate``: the scores of a saved model, and the worst mistakes of one with classes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json
from zoo.cli.request_help import DATA
from zoo.cli.request_options import RequestCommand, option
from zoo.cli.table import print_table
from zoo.errors import ZooError, counted

if TYPE_CHECKING:
    from zoo.data.sources.labels import Example
    from zoo.inference.evaluate import Evaluation
    from zoo.registry import Registry
    from zoo.tasks.encoder_task import EncoderTask

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
    from zoo.config.request import validated
    from zoo.data.sources.labels import spelled_as
    from zoo.data.sources.load_data import load_texts
    from zoo.inference.evaluate import evaluate as evaluate_labelled
    from zoo.inference.evaluate import evaluate_masks, trained_on_warning
    from zoo.models.text_model import MaskFiller
    from zoo.tasks.data_of_task import refuse_unread
    from zoo.tasks.encoder_task import EncoderTask

    model, registry = saved.open("evaluate"), saved.registry
    task = model.card.find_task(registry, allow_changed=True)
    is_filler = isinstance(model, MaskFiller)
    if not is_filler and not isinstance(task, EncoderTask):
        raise ZooError(f"zoo evaluate cannot read labelled texts for --task {model.card.task}")
    given = {name: value for name, value in reading.items() if value is not None}
    for name in given:
        if name not in task.options.model_fields:
            flag = f"--{name.replace('_', '-')}"
            raise ZooError(f"{flag} is no option of {task.model_name}, which this model is")
    source = click.get_current_context().get_parameter_source("mistakes")
    if is_filler and source is not ParameterSource.DEFAULT:
        raise ZooError("--mistakes is for models of classes and tags")
    refuse_unread(registry, task, model.card.task, data)
    options = validated(task.options, given)
    if known := trained_on_warning(model.card, task, data, split, given, registry):
        click.echo(known, err=True)
    metrics = task.metrics_from(registry, model.card.labels)
    if is_filler:
        texts, notices = load_texts(registry, data, options.reader(), keep_duplicates=True)
        name, fingerprint = texts.name, texts.fingerprint
        split = "test" if split == "validation" else split
        parts = {"train": texts.train, "test": texts.validation}
        found = evaluate_masks(
            model, registry, [t for p in parts if split in (p, "all") for t in parts[p]], metrics
        )
        part = {"all": "all texts", "test": "held-out texts", "train": "training texts"}[split]
        scored = counted(found.metrics["tokens"], "masked token")
    else:
        name, fingerprint, examples, notices = _labelled(task, options, data, split, registry)
        if options.merge_labels:
            examples = spelled_as(examples, model.labels)
        found = evaluate_labelled(
            model,
            [one.text for one in examples],
            [one.label for one in examples],
            metrics,
            [one.group for one in examples if one.group],
        )
        part = "all documents" if split == "all" else f"{split} split"
        scored = counted(found.documents, "document")
    for notice in notices:
        click.echo(notice, err=True)
    if as_json:
        content: dict[str, Any] = {"data": name, "fingerprint": fingerprint, "split": split}
        content |= {**asdict(found), **found.metrics}
        content["mistakes"] = content["mistakes"][:mistakes]
        print_json(content)
        return
    described = [metric.description for metric in metrics]
    click.echo(f"{model.card.cell} on {name}, {part}: {scored}")
    click.echo(", ".join(f"{d.label} {d.format(found.metrics[d.name])}" for d in described))
    if found.groups:
        rows = [
            [group, str(its["examples"]), *(d.format(its[d.name]) for d in described)]
            for group, its in found.groups.items()
        ]
        click.echo()
        print_table(rows, ["group", "examples", *(d.label for d in described)])
    if found.classes:
        _print(found, mistakes)
    report_limits(found.cut, found.unknown, found.documents, model.max_length)


def _labelled(
    task: EncoderTask, options: Any, data: str, split: str, registry: Registry
) -> tuple[str, str, list[Example], list[str]]:
    """The name, fingerprint and examples of a split, and notices."""
    from zoo.data.sources.load_data import find_registered
    from zoo.data.sources.row_reader import examples_digest
    from zoo.data.sources.splits import DivisionError

    path = Path(data).expanduser()
    if split == "all" and path.exists() and not find_registered(registry, data):
        notices: list[str] = []
        examples = task.reader(options).read_undivided(path, notices)
        return path.resolve().name, examples_digest(examples), examples, notices
    try:
        corpus, notices = task.read(data, options, registry)
    except DivisionError as error:
        raise ZooError(f"{error}; --split all scores them undivided") from error
    return corpus.name, corpus.fingerprint, _examples_of(corpus, split), notices


def _examples_of(corpus: Any, split: str) -> list[Example]:
    """The examples of a corpus that are in this split, or in any."""
    from zoo.data.sources.corpus import IGNORED
    from zoo.data.sources.labels import Example

    names = {IGNORED: None, **dict(enumerate(corpus.label_names))}
    found = [
        Example(text, names[label] if isinstance(label, int) else [names[tag] for tag in label])
        for part, texts, labels in corpus.splits()
        if split in (part, "all")
        for text, label in zip(texts, labels, strict=True)
    ]
    if not found:
        raise ZooError(f"{corpus.name} has no {split} split")
    if split == "test" and corpus.test_groups:
        groups = zip(found, corpus.test_groups, strict=True)
        found = [example._replace(group=group) for example, group in groups]
    return found


def _print(found: Evaluation, mistakes: int) -> None:
    rows = [
        [c.label, f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}", str(c.support)]
        for c in found.classes
    ]
    click.echo()
    print_table(rows, ["class", "precision", "recall", "F1", "support"])
    click.echo("\nConfusion (rows: true, columns: predicted)\n")
    labels = [c.label for c in found.classes]
    pairs = zip(labels, found.confusion, strict=True)
    print_table([[label, *map(str, row)] for label, row in pairs], ["", *labels])
    shown = found.mistakes[:mistakes]
    if shown:
        click.echo(f"\nThe worst of {counted(len(found.mistakes), 'mistake')}\n")
        rows = [[m.label, m.predicted, f"{m.probability:.3f}", m.text] for m in shown]
        print_table(rows, ["true", "predicted", "p(true)", "text"], cut=3, piped=LINE)
