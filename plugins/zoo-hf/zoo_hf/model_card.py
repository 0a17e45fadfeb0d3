"""A saved model's card for the Hub, and its results in the Hub's form, in .eval_results/.

The form of the results: https://huggingface.co/docs/hub/eval-results. It has no field for an
interval, which is therefore in the notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]
from jinja2 import Environment
from scipy import stats

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.files import writing
from zoo.inference.saved_model import Card, read
from zoo_hf.plugin_files import components

RESULTS = ".eval_results/encoder-zoo.yaml"
LEVEL = 0.95
DATASETS = "https://huggingface.co/datasets/"
DRAWS = 2000  # of the bootstrap


def write_model_card(
    directory: str | Path, *, dataset: str = "", task: str = "default", license: str = ""
) -> list[Path]:
    """Write README.md into a directory of ``zoo train --save``, and the results in the Hub's form.

    dataset: the Hub's data set ``owner/name`` that the model is scored on; by default the one that
    it was trained on, if that is from the Hub. Without one there are no results but in README.md.
    task: which of the data set's benchmarks the score belongs to. license: the model's. Returns the
    files. Raises ZooError where the directory holds no intact model, or the score is of a part of
    the training split, which is no result for the Hub.
    """
    directory = Path(directory)
    card = read(directory)
    if card.training.validation and dataset:
        raise ZooError(
            f"{directory} was scored on a part of the training split (--validation "
            f"{card.training.validation}); train without it for a result on {dataset}"
        )
    own, revision = hub_dataset(card)
    dataset, revision = (dataset, "") if dataset else (own, revision)
    written = [_write_readme(directory, card, dataset, license)]
    if dataset and scores_of(card):
        written.append(directory / RESULTS)
        with writing(written[1]):
            written[1].parent.mkdir(exist_ok=True)
            written[1].write_text(_results(card, dataset, revision, task), encoding="utf-8")
    return written


def _results(card: Card, dataset: str, revision: str, task: str) -> str:
    """The content of RESULTS: the metric that ranks, the others in the notes."""
    notes = [
        f"{label} {value}{f' (95% interval {interval})' if interval else ''}"
        for label, value, interval in scores_of(card)
    ]
    notes += [f"on {scored_of(card)}", f"one training, seed {card.seed}"]
    notes += [card.cell, f"encoder-zoo {card.zoo}"]
    entry = EvalResultEntry(
        dataset_id=dataset,
        task_id=task,
        value=card.metrics[card.metric_descriptions[0].name],
        dataset_revision=revision or None,
        date=card.saved,
        notes="; ".join(notes),
    )
    text: str = yaml_dump(eval_result_entries_to_yaml([entry]), sort_keys=False)
    return text


def _write_readme(directory: Path, card: Card, dataset: str, license: str) -> Path:
    """Write README.md into a saved model's directory, and return its path.

    dataset: the Hub's data set that it was trained on; license: the model's. Raises WriteError.
    """
    text = files("zoo_hf").joinpath("model_card.md").read_text("utf-8")
    choices = card.find_cell(components()).choices
    rendered = (
        Environment(keep_trailing_newline=True)
        .from_string(text)
        .render(
            card=card,
            tags=["encoder-zoo", *dict.fromkeys(choice.component.name for choice in choices)],
            metrics=[d.name for d in card.metric_descriptions if d.name in card.metrics],
            dataset=dataset,
            license=license,
            pipeline=card.find_task(components()).pipeline_tag,
            results=scores_of(card),
            scored=scored_of(card),
        )
    )
    file = directory / "README.md"
    with writing(file):
        file.write_text(rendered, encoding="utf-8")
    return file


def hub_dataset(card: Card) -> tuple[str, str]:
    """The Hub's data set that the model is scored on, and its revision; both may be empty.

    A score of a part of the training split is no result for the Hub.
    """
    notes = {} if card.training.validation else card.data.get("notes", {})
    source, revision = str(notes.get("source", "")), str(notes.get("revision", ""))
    return (source.removeprefix(DATASETS), revision) if source.startswith(DATASETS) else ("", "")


def scores_of(card: Card) -> list[tuple[str, str, str]]:
    """Label, value and interval (empty if unknown) of the metrics; the first ranks models."""
    return [
        (d.label, d.format(card.metrics[d.name]), _interval(d, card.metrics))
        for d in card.metric_descriptions
        if d.name in card.metrics
    ]


def _interval(about: MetricDescription, metrics: Mapping[str, Any]) -> str:
    """The interval of one model's score over the examples that were scored.

    Of a share of examples it is Wilson's (1927); of macro F1 the percentiles of 2000 bootstrap
    samples of the examples (Efron 1979), drawn as confusion matrices. Of other metrics it is not
    known: their examples are not in the card.
    """
    value = metrics[about.name]
    if about.paired and metrics.get("examples"):
        count = int(metrics["examples"])
        share = stats.binomtest(round(value * count), count)
        low, high = share.proportion_ci(LEVEL, method="wilson")
    elif about.name == "macro_f1" and "confusion" in metrics:
        low, high = bootstrapped_f1(np.array(metrics["confusion"]))
    else:
        return ""
    return f"{about.format(float(low))} to {about.format(float(high))}"


def bootstrapped_f1(confusion: np.ndarray) -> tuple[float, float]:
    """Both ends of the 95% interval of macro F1, from counts (true class, predicted class)."""
    count = confusion.sum()
    draws = np.random.default_rng(0).multinomial(count, confusion.flatten() / count, size=DRAWS)
    tables = draws.reshape(DRAWS, *confusion.shape)
    right = np.diagonal(tables, axis1=1, axis2=2)  # (draws, classes)
    both = tables.sum(axis=1) + tables.sum(axis=2)  # predicted plus true, of each class
    f1 = np.divide(2 * right, both, out=np.zeros(right.shape), where=both > 0).mean(axis=1)
    low, high = np.quantile(f1, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def scored_of(card: Card) -> str:
    """What the metrics are of, in words."""
    what = card.metric_descriptions[0].scored if card.metric_descriptions else "examples"
    count = f"{card.metrics['examples']:,} {what}" if "examples" in card.metrics else what
    if card.training.validation:
        return f"{count} of {card.data['name']} that were held out of the training split"
    return f"the {count} held out of {card.data['name']}"
