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
    from zoo.data.sources.row_reader import Example
    from zoo.inference.evaluate import Evaluation
    from zoo.models.mask_filler import MaskFiller

LINE = 100  # characters of a line of mistakes in a pipe; --json has the whole texts


@click.command(cls=RequestCommand, fields=(), other_tasks=False, without=("keep_duplicates",))
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
    from zoo.data.sources.load_data import find_registered
    from zoo.data.sources.row_reader import examples_digest
    from zoo.data.sources.splits import DivisionError
    from zoo.inference.evaluate import evaluate as evaluate_texts
    from zoo.inference.evaluate import evaluate_tags, trained_on_warning
    from zoo.models.mask_filler import MaskFiller
    from zoo.models.text_model import TextTagger
    from zoo.sweep.make_request import validated
    from zoo.tasks.data_of_task import refuse_unread
    from zoo.tasks.encoder_task import EncoderTask

    model = saved.open("evaluate")
    task = model.card.find_task(saved.registry, allow_changed=True)
    is_filler = isinstance(model, MaskFiller)
    if not is_filler and not isinstance(task, EncoderTask):
        raise ZooError(f"zoo evaluate cannot read labelled texts for --task {model.card.task}")
    given = {name: value for name, value in reading.items() if value is not None}
    for name in given:
        if name not in task.options.model_fields:
            flag = f"--{name.replace('_', '-')}"
            raise ZooError(f"{flag} is no option of {task.model_name}, which this model is")
    refuse_unread(saved.registry, task, model.card.task, data)
    options = validated(task.options, given)
    known = trained_on_warning(model.card, task, data, split, given, saved.registry)
    if known:
        click.echo(known, err=True)
    if is_filler:
        _evaluate_masks(saved, model, data, options, split, as_json)
        return
    notices: list[str] = []
    path = Path(data).expanduser()
    if split == "all" and path.exists() and not find_registered(saved.registry, data):
        scored = task.reader(options).read_undivided(path, notices)
        name, fingerprint = path.resolve().name, examples_digest(scored)
    else:
        try:
            corpus, notices = task.read(data, options, saved.registry)
        except DivisionError as error:
            raise ZooError(f"{error}; --split all scores them undivided") from error
        scored = _examples_of(corpus, split)
        name, fingerprint = corpus.name, corpus.fingerprint
    for notice in notices:
        click.echo(notice, err=True)
    metrics = task.metrics_from(saved.registry, model.labels)
    score = evaluate_tags if isinstance(model, TextTagger) else evaluate_texts
    texts, labels = [one.text for one in scored], [one.label for one in scored]
    found = score(model, texts, labels, metrics, [one.group for one in scored if one.group])
    if as_json:
        content: dict[str, Any] = {"data": name, "fingerprint": fingerprint, "split": split}
        content |= {**asdict(found), **found.metrics}
        content["mistakes"] = content["mistakes"][:mistakes]
        print_json(content)
        return
    part = "all documents" if split == "all" else f"{split} split"
    click.echo(f"{model.card.cell} on {name}, {part}: {counted(found.documents, 'document')}")
    described = (metric.description for metric in metrics)
    click.echo(", ".join(f"{d.label} {d.format(found.metrics[d.name])}" for d in described) + "\n")
    if found.groups:
        rows = [
            [g, str(v["examples"]), *(m.description.format(v[m.description.name]) for m in metrics)]
            for g, v in found.groups.items()
        ]
        print_table(rows, ["group", "examples", *(m.description.label for m in metrics)])
        click.echo()
    _print(found, mistakes)
    report_limits(found.cut, found.unknown, found.documents, model.max_length)


def _evaluate_masks(
    saved: SavedModel, model: MaskFiller, data: str, options: Any, split: str, as_json: bool
) -> None:
    """Print the scores of a masked language model."""
    from zoo.data.sources.load_data import load_texts
    from zoo.inference.evaluate import evaluate_masks

    if click.get_current_context().get_parameter_source("mistakes") is not ParameterSource.DEFAULT:
        raise ZooError("--mistakes is for models of classes and tags")
    texts, notices = load_texts(saved.registry, data, options.reader(), keep_duplicates=True)
    for notice in notices:
        click.echo(notice, err=True)
    split = "test" if split == "validation" else split
    parts = {"train": texts.train, "test": texts.validation}
    scored = [text for part in parts if split in (part, "all") for text in parts[part]]
    task = model.card.find_task(saved.registry, allow_changed=True)
    metrics = task.metrics_from(saved.registry, model.card.labels)
    found = evaluate_masks(model, task, scored, metrics)
    if as_json:
        about = {"data": texts.name, "fingerprint": texts.fingerprint, "split": split}
        print_json({**about, "texts": len(scored), **found})
        return
    part = {"all": "all texts", "test": "held-out texts", "train": "training texts"}[split]
    click.echo(
        f"{model.card.cell} on {texts.name}, {part}: {counted(found['tokens'], 'masked token')}"
    )
    described = (metric.description for metric in metrics)
    click.echo(", ".join(f"{d.label} {d.format(found[d.name])}" for d in described))
    report_limits(0, found["unknown"], len(scored), model.max_length)


def _examples_of(corpus: Any, split: str) -> list[Example]:
    """The examples of a corpus that are in this split, or in any."""
    from zoo.data.sources.corpus import IGNORED
    from zoo.data.sources.row_reader import Example

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
