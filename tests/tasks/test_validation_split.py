"""A validation split of the data is what is scored in validation, by cells and baselines alike."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused
from small_runs import CLASSIFY, bench

from zoo.config.settings import Training
from zoo.data.token_arrays import EncodedData
from zoo.registry import Registry
from zoo.registry.loading import load
from zoo.report.run_report import RunReport
from zoo.sweep.make_request import make_request
from zoo.tasks.base import TaskSetup, find_task
from zoo.tasks.encoder_task import held_out_rows

TOPICS = {"sport": ["goal", "match"], "market": ["shares", "bank"]}


def write(folder: Path, task: str) -> Path:
    """20 training, 6 test and 8 validation texts."""
    draw = random.Random(0)
    folder.mkdir()
    for split, count in (("train", 20), ("test", 6), ("validation", 8)):
        lines = []
        for number in range(count):
            label = sorted(TOPICS)[number % 2]
            words = [split, str(draw.random()), draw.choice(TOPICS[label])]
            row = "".join(f"{word} {label}\n" for word in words)
            lines.append(f"{row}\n" if task == "tag" else f"{' '.join(words)},{label}\n")
        header = "" if task == "tag" else "text,label\n"
        name = f"{split}.{'conll' if task == 'tag' else 'csv'}"
        (folder / name).write_text(header + "".join(lines))
    return folder


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load().registry


@pytest.mark.parametrize("task_name", ["classify", "tag"])
@pytest.mark.parametrize(("share", "scored"), [(0.0, 6), (0.3, 8)])
def test_it_is_scored_whole_and_nothing_is_held_out(tmp_path, registry, task_name, share, scored):
    folder = write(tmp_path / "data", task_name)
    request = make_request(
        {"task": task_name, "data": str(folder), "vocab_size": 90, "max_length": 16}, registry
    )
    task = find_task(registry, task_name)
    options = task.options.model_validate(request.task_options)
    loaded = task.load(request.data, options, request.sizes, registry)
    assert loaded.description["validation"] == 8
    data = EncodedData.open(loaded.encoded.directory)
    training = Training(validation=share)
    setup = TaskSetup(
        task, options, request.sizes, training, data.vocab_size, data.label_names, data
    )
    train, split = task.splits(setup, torch.device("cpu"))
    assert (len(train), len(split)) == (20, scored)
    name = "tfidf-logreg" if task_name == "classify" else "frequent-tag"
    estimator = task.estimator(setup, registry.choose("baseline", name))
    assert estimator is not None
    fitted, read = estimator.fit(), list[Any]()
    noting = SimpleNamespace(predict=lambda texts: fitted.predict(read.extend(texts) or texts))
    assert estimator.score(noting).details["examples"] >= scored == len(read)
    first = {text.split()[0] if isinstance(text, str) else text[0] for text in read}
    assert first == {"validation" if share else "test"}
    assert len(estimator.training[0]) == 20


def test_settings_are_chosen_on_it_and_the_table_says_so(tmp_path):
    folder = write(tmp_path / "data", "classify")
    options = {**CLASSIFY, "data": str(folder), "lr": "1e-3,1e-2", "phases": "train", "epochs": 1}
    options["baseline"] = "none"
    outcome = bench(tmp_path / "out", options)
    trials = [record for record in outcome.records if record.kind == "tune"]
    assert len(trials) == 2
    for record in trials:
        assert record.metrics["examples"] == 8
        assert record.metrics["scored"] == "validation"
    (trained,) = (record for record in outcome.records if record.kind == "train")
    assert (trained.metrics["examples"], trained.metrics["scored"]) == (6, "test")
    notes = "\n".join(RunReport(outcome.records).notes)
    assert "Chosen for each row by its score on texts held out from training, 1 seed" in notes
    validated = bench(tmp_path / "v", {**options, "lr": "1e-3", "validation": 0.5})
    assert "scored on the validation split" in RunReport(validated.records).notes[-1]
    assert np.sum(validated.records[0].metrics["confusion"]) == 8


def test_the_only_text_of_a_class_is_trained_on():
    """``--validation`` and several rates work where a class has one text."""
    fit, held_out = held_out_rows(21, 0.25, [0] * 10 + [1] * 10 + [2])
    assert 20 in fit
    assert sorted([*fit, *held_out]) == list(range(21))
    fit, held_out = held_out_rows(12, 0.1, [0, 1, 2] * 4)  # more classes than a tenth of the texts
    assert (len(fit), len(held_out)) == (9, 3)
    assert [len(rows) for rows in held_out_rows(4, 0.9, [0, 0, 1, 1])] == [2, 2]
    refused("no class has two training texts", held_out_rows, 2, 0.5, [0, 1])
