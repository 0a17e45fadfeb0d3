"""The card that goes to the Hub with a model, read by the Hub's own client."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
import zoo_hf
from huggingface_hub import ModelCard, parse_eval_result_entries
from sklearn.metrics import f1_score
from statsmodels.stats.proportion import proportion_confint
from zoo_hf.model_card import bootstrapped_f1

import zoo


@pytest.fixture
def copied(classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(classifier, tmp_path / "model"))


def metrics_of(directory: Path) -> dict[str, float]:
    metrics: dict[str, float] = json.loads((directory / "config.json").read_text())["metrics"]
    return metrics


def test_a_card_is_written_that_the_hubs_client_reads(copied: Path):
    assert zoo_hf.write_model_card(copied) == [copied / "README.md"]
    card = ModelCard.load(copied / "README.md")
    assert card.data.library_name == "encoder-zoo"
    assert card.data.pipeline_tag == "text-classification"
    assert {"encoder-zoo", "fused", "rope", "mean"} <= set(card.data.tags)
    assert card.data.metrics == ["accuracy", "macro_f1"]
    metrics = metrics_of(copied)
    for name in ("accuracy", "macro_f1"):
        assert f"{metrics[name]:.3f}" in card.text
    assert "30 documents" in card.text
    assert json.loads((copied / "config.json").read_text())["command"] in card.text
    # The data are from a file here: there is no data set of the Hub to name a result on.
    assert not (copied / ".eval_results").exists()


def test_it_says_what_a_model_without_a_score_was_trained_on(train: Callable[..., Path]):
    stage = ("--init", "pretrain", "--set", "pretrain_epochs=1", "--all-data")
    (file,) = zoo_hf.write_model_card(train(*stage))
    text = file.read_text()
    assert "trained on all of data" in text
    assert "so that nothing is left" in text
    assert "pipeline_tag: text-classification" in text
    assert "| metric |" not in text
    assert "| pretrained | 1 epoch of masked language modelling |" in text


def test_results_are_in_the_hubs_form_with_their_intervals(copied: Path):
    files = zoo_hf.write_model_card(copied, dataset="someone/some-texts", license="mit")
    assert files == [copied / "README.md", copied / ".eval_results/encoder-zoo.yaml"]
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[1].read_text()))
    metrics = metrics_of(copied)
    assert (entry.dataset_id, entry.task_id) == ("someone/some-texts", "default")
    assert entry.value == metrics["accuracy"]
    assert str(entry.date).startswith("20")
    low, high = proportion_confint(round(30 * metrics["accuracy"]), 30, method="wilson")
    wanted = f"accuracy {metrics['accuracy']:.3f} (95% interval {low:.3f} to {high:.3f})"
    assert entry.notes.startswith(wanted)
    assert f"{low:.3f} to {high:.3f}" in files[0].read_text()
    assert f"macro F1 {metrics['macro_f1']:.3f} (95% interval" in entry.notes
    assert "30 documents" in entry.notes
    assert "seed 0" in entry.notes
    data = ModelCard.load(files[0]).data
    assert (data.license, data.datasets) == ("mit", ["someone/some-texts"])


def test_data_of_the_hub_name_their_own_data_set_and_revision(copied: Path):
    config = json.loads((copied / "config.json").read_text())
    config["data"]["notes"] = {
        "source": "https://huggingface.co/datasets/SetFit/bbc-news",
        "revision": "160d4af1d650b602d14cddc8df0baf07a0198643",
    }
    (copied / "config.json").write_text(json.dumps(config))
    _, results = zoo_hf.write_model_card(copied)
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text()))
    assert entry.dataset_id == "SetFit/bbc-news"
    assert entry.dataset_revision == config["data"]["notes"]["revision"]


def test_a_score_of_training_documents_is_no_result(copied: Path):
    config = json.loads((copied / "config.json").read_text())
    config["training"]["validation"] = 0.2
    (copied / "config.json").write_text(json.dumps(config))
    assert zoo_hf.write_model_card(copied) == [copied / "README.md"]
    assert "held out of the training split" in (copied / "README.md").read_text()
    with pytest.raises(zoo.ZooError, match="scored on a part of the training split"):
        zoo_hf.write_model_card(copied, dataset="someone/some-texts")


def test_a_tagger_has_a_card_without_intervals_that_nobody_knows(tagger: Path, tmp_path: Path):
    (file,) = zoo_hf.write_model_card(shutil.copytree(tagger, tmp_path / "model"))
    card = ModelCard.load(file)
    assert card.data.pipeline_tag == "token-classification"
    assert "| not known |" in card.text


def test_the_interval_of_macro_f1_is_that_of_resampled_documents():
    confusion = np.array([[40, 5, 1], [3, 20, 2], [0, 4, 9]])
    true, predicted = (
        np.repeat(axis, confusion.flatten()) for axis in np.indices((3, 3)).reshape(2, -1)
    )
    draw = np.random.default_rng(1)
    rows = draw.integers(0, len(true), (150, len(true)))
    scores = [f1_score(true[r], predicted[r], average="macro", zero_division=0) for r in rows]
    assert bootstrapped_f1(confusion) == pytest.approx(
        np.quantile(scores, [0.025, 0.975]), abs=0.015
    )
