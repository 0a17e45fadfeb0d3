"""A saved model's card for the Hub, and its results in the Hub's form, in .eval_results/.

The form of the results: https://huggingface.co/docs/hub/eval-results. It has no field for an
interval, which is therefore in the notes.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

from zoo.errors import ZooError
from zoo.files import writing
from zoo.inference.card import Card
from zoo.inference.directory import read
from zoo.inference.hub_card import hub_dataset, scored_of, scores_of, write_readme

RESULTS = ".eval_results/encoder-zoo.yaml"


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
    written = [write_readme(directory, card, dataset, license)]
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
