"""A saved model's card for the Hugging Face Hub: README.md."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.files import writing
from zoo.inference.card import Card

LEVEL = 0.95
DATASETS = "https://huggingface.co/datasets/"
DRAWS = 2000  # of the bootstrap


def write_readme(directory: Path, card: Card, dataset: str = "", license: str = "") -> Path:
    """Write README.md into a saved model's directory, and return its path.

    dataset: the Hub's data set that it was trained on; license: the model's. Raises WriteError.
    """
    from jinja2 import Environment

    text = files("zoo.inference").joinpath("templates", "model_card.md").read_text("utf-8")
    parts = [part.name for parts in card.parts.values() for part in parts]
    rendered = (
        Environment(keep_trailing_newline=True)
        .from_string(text)
        .render(
            card=card,
            tags=["encoder-zoo", *dict.fromkeys(parts)],
            metrics=[d.name for d in card.metric_descriptions if d.name in card.metrics],
            dataset=dataset,
            license=license,
            pipeline=card.pipeline_tag,
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
        from scipy import stats

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
