"""``zoo evaluate``: what scikit-learn would say of the same predictions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kept import test_documents, write_csv
from sklearn.metrics import (
    classification_report,
    confusion_matrix,
    precision_recall_fscore_support,
)

from zoo.cli import main
from zoo.inference.evaluate import evaluate
from zoo.models.text_classifier import TextClassifier
from zoo.registry import Registry


def told(capsys, *arguments: str) -> dict:
    assert main(["evaluate", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_equals_scikit_learn_on_its_own(
    trained: Path, model: TextClassifier, corpus: Path, capsys
) -> None:
    texts, labels = test_documents(corpus)
    given = [p.label for p in model.predict(texts)]
    report = classification_report(labels, given, output_dict=True, zero_division=0)
    found = told(capsys, str(trained), "--data", str(corpus))
    assert found["documents"] == len(texts)
    assert found["accuracy"] == pytest.approx(report["accuracy"])
    assert found["macro_f1"] == pytest.approx(report["macro avg"]["f1-score"])
    for row in found["classes"]:
        for name in ("precision", "recall", "support"):
            assert row[name] == pytest.approx(report[row["label"]][name])
        assert row["f1"] == pytest.approx(report[row["label"]]["f1-score"])
    assert found["confusion"] == confusion_matrix(labels, given, labels=model.labels).tolist()


def test_it_is_the_score_that_training_ended_with(
    trained: Path, model: TextClassifier, corpus: Path, capsys
) -> None:
    found = told(capsys, str(trained), "--data", str(corpus))
    assert found["fingerprint"] == model.card.data["fingerprint"]
    assert found["accuracy"] == model.card.scores["accuracy"]
    assert found["macro_f1"] == pytest.approx(model.card.scores["f1"])
    assert found["confusion"] == model.card.scores["confusion"]


def test_the_worst_mistakes_come_first_with_their_texts(
    trained: Path, model: TextClassifier, corpus: Path, capsys
) -> None:
    texts, labels = test_documents(corpus)
    wrong = [
        (p.probabilities[label], p.text)
        for p, label in zip(model.predict(texts), labels, strict=True)
        if p.label != label
    ]
    assert len(wrong) > 2
    found = told(capsys, str(trained), "--data", str(corpus), "--mistakes", "2")
    assert [m["text"] for m in found["mistakes"]] == [text for _, text in sorted(wrong)[:2]]


def test_a_person_sees_classes_confusion_and_mistakes(trained: Path, corpus: Path, capsys) -> None:
    assert main(["evaluate", str(trained), "--data", str(corpus), "--mistakes", "1"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "accuracy 0.",
        "macro F1 0.",
        "class   precision  recall  F1     support",
        "Confusion (rows: true, columns: predicted)",
        "The worst of ",
    ):
        assert words in printed


def test_every_class_weighs_the_same_however_many_documents_it_has(
    model: TextClassifier, corpus: Path
) -> None:
    """Twenty documents of one class, two of another and none of the third."""
    texts, labels = test_documents(corpus)
    sport = [text for text, label in zip(texts, labels, strict=True) if label == "sport"]
    music = [text for text, label in zip(texts, labels, strict=True) if label == "music"]
    texts, labels = [*sport, *sport, *music[:2]], ["sport"] * 20 + ["music"] * 2
    found = evaluate(model, texts, labels)
    given = [p.label for p in model.predict(texts)]
    averages = precision_recall_fscore_support(
        labels, given, labels=model.labels, average="macro", zero_division=0
    )
    assert [row.support for row in found.classes] == [0, 2, 20]
    assert found.macro_f1 == pytest.approx(averages[2])
    assert found.macro_f1 == pytest.approx(sum(row.f1 for row in found.classes) / 3)


def test_train_and_all_are_other_documents_than_test(trained: Path, corpus: Path, capsys) -> None:
    counts = {
        split: told(capsys, str(trained), "--data", str(corpus), "--split", split)["documents"]
        for split in ("test", "train", "all")
    }
    assert counts == {"test": 30, "train": 72, "all": 102}


def test_labels_of_other_data_are_matched_by_name(trained: Path, tmp_path: Path, capsys) -> None:
    """In these data 'sport' is class 0; in the model it is class 2."""
    rows = [[f"goal match {n}", "sport"] for n in range(9)]
    data = tmp_path / "other"
    data.mkdir()
    write_csv(data / "train.csv", [*rows, ["a song", "zither"], ["a song", "zither"]])
    write_csv(data / "test.csv", rows)
    found = told(capsys, str(trained), "--data", str(data))
    assert found["classes"][2]["support"] == 9


def test_the_help_names_every_built_in_data_set(registry: Registry, capsys) -> None:
    assert main(["evaluate", "--help"]) == 0
    said = capsys.readouterr().out
    assert [name for name in registry.labels("data") if name not in said] == []


def test_a_class_that_the_model_does_not_know_is_one_line(
    trained: Path, tmp_path: Path, capsys
) -> None:
    rows = [[f"goal {n}", "sports" if n % 2 else "music"] for n in range(20)]
    data = write_csv(tmp_path / "other.csv", rows)
    assert main(["evaluate", str(trained), "--data", str(data), "--split", "all"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "class 'sports', which the model was not trained for; did you mean 'sport'?" in last
