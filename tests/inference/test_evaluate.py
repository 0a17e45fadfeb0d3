"""``zoo evaluate``: the scores that scikit-learn computes from the same predictions."""

import shutil
from pathlib import Path

import pytest
from saved_models import TINY, change_config, held_out, train, write_csv
from sklearn.metrics import (
    classification_report,
    confusion_matrix,
)

from zoo.inference.saved_model import load


def test_scores_equal_those_of_scikit_learn(trained, model, corpus, said, answer):
    texts, labels = held_out(corpus)
    predicted = [p.label for p in model.predict(texts)]
    report = classification_report(labels, predicted, output_dict=True, zero_division=0)
    found = answer("evaluate", trained, "--data", corpus)
    assert found["documents"] == len(texts)
    assert found["accuracy"] == pytest.approx(report["accuracy"])
    assert found["macro_f1"] == pytest.approx(report["macro avg"]["f1-score"])
    for row in found["classes"]:
        for name in ("precision", "recall", "support"):
            assert row[name] == pytest.approx(report[row["label"]][name])
        assert row["f1"] == pytest.approx(report[row["label"]]["f1-score"])
    assert found["confusion"] == confusion_matrix(labels, predicted, labels=model.labels).tolist()
    # And those at the end of training.
    assert found["confusion"] == model.card.metrics["confusion"]
    for name in ("accuracy", "macro_f1"):
        assert found[name] == pytest.approx(model.card.metrics[name])
    worst = sorted(
        (p.probabilities[label], p.text)
        for p, label in zip(model.predict(texts), labels, strict=True)
        if p.label != label
    )
    assert len(worst) > 5
    assert [m["text"] for m in found["mistakes"]] == [text for _, text in worst]
    printed = said("evaluate", trained, "--data", corpus).out
    assert "class   precision  recall  F1     support" in printed
    assert "Confusion (rows: true, columns: predicted)" in printed


def test_an_evaluation_is_of_the_split_that_is_asked_for(trained, corpus, said):
    for words, split in (
        ([], "test split: 30 documents"),
        (["--split", "train"], "train split: 72 documents"),
        (["--split", "all"], "all documents: 102 documents"),
    ):
        shown = said("evaluate", trained, "--data", corpus, *words).out
        assert shown.splitlines()[0].endswith(split), shown
        _, _, table = shown.partition("\nThe worst of ")
        head, *lines = table.splitlines()[2:]
        assert head.split() == ["true", "predicted", "p(true)", "text"]
        assert len(lines) == 5


def test_a_warning_says_where_a_model_was_trained_on_what_it_is_scored_on(
    trained, copied, corpus, said
):
    def warned(model: Path, data: Path, *arguments: str) -> bool:
        printed = said("evaluate", model, "--data", data, *arguments)
        return "warning: the model was trained on texts of" in printed.err

    assert not warned(trained, corpus)
    assert warned(trained, corpus, "--split", "train")
    assert warned(trained, corpus, "--split", "all")
    change_config(copied, lambda card: card["metrics"].update(scored=""))  # trained on all the data
    assert warned(copied, corpus)
    assert not warned(copied, corpus / "test.csv", "--split", "all")


def test_a_directory_with_the_split_that_is_asked_for_is_enough(
    trained, corpus, tmp_path, answer, refused_command
):
    whole = answer("evaluate", trained, "--data", corpus)
    shutil.copy(corpus / "test.csv", tmp_path)
    alone = answer("evaluate", trained, "--data", tmp_path)
    assert {**alone, "data": None} == {**whole, "data": None}
    says = "has no validation split; there is: test"
    assert says in refused_command("evaluate", trained, "--data", tmp_path, "--split", "validation")


def test_labels_of_other_data_are_matched_by_name(trained, tmp_path, answer):
    """In these data 'sport' is class 0; in the model it is class 2."""
    rows = [[f"goal match {n}", "sport"] for n in range(9)]
    write_csv(tmp_path / "train.csv", [*rows, ["a song", "zither"], ["a song", "zither"]])
    write_csv(tmp_path / "test.csv", rows)
    found = answer("evaluate", trained, "--data", tmp_path)
    assert found["classes"][2]["support"] == 9


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_class_that_train_lacks_is_never_predicted(task, tmp_path, answer):
    """Its name comes first in the alphabet; what the training scored, zoo evaluate scores."""
    data, model = tmp_path / "data", tmp_path / "model"
    data.mkdir()
    for split, words in (("train", ["goal", "song"] * 12), ("test", ["goal", "song", "atom"] * 4)):
        kinds = {"goal": "sport", "song": "music", "atom": "art"}
        if task == "tag":
            lines = [f"the O\n{word}{n} {kinds[word]}\n" for n, word in enumerate(words)]
            (data / f"{split}.conll").write_text("\n".join(lines))
        else:
            rows = [[f"a {word} {split} {n}", kinds[word]] for n, word in enumerate(words)]
            write_csv(data / f"{split}.csv", rows)
    trained = train(model, *TINY, "--task", task, "--data", data)
    card = load(trained).card
    assert "art" not in card.labels
    evaluated = answer("evaluate", trained, "--data", data)
    art = len(card.labels)
    assert evaluated["classes"][art]["label"] == "art"
    assert sum(row[art] for row in evaluated["confusion"]) == 0
    assert sum(evaluated["confusion"][art]) == 4
    assert evaluated["confusion"] == card.metrics["confusion"]
    everything = load(train(tmp_path / "all", *TINY, "--task", task, "--data", data, "--all-data"))
    assert sorted(everything.labels) == sorted([*card.labels, "art"])


def test_a_class_that_the_model_was_not_trained_for_is_an_error_in_every_score(
    trained, tmp_path, answer, said, refused_command
):
    rows = [[f"goal {n}", "sports" if n % 2 else "music"] for n in range(20)]
    data = write_csv(tmp_path / "other.csv", rows)
    words = ["evaluate", trained, "--data", data, "--split", "all"]
    scores = answer(*words)
    recalls = {row["label"]: (row["recall"], row["support"]) for row in scores["classes"]}
    assert recalls["sports"] == (0, 10)
    assert scores["accuracy"] == pytest.approx(recalls["music"][0] / 2)
    assert {m["probability"] for m in scores["mistakes"] if m["label"] == "sports"} == {0}
    says = "'sports' (10), which the model was not trained for"
    assert f"{says}: errors in every score; did you mean 'sport'?" in said(*words).err
    write_csv(data, rows[1::2])
    assert f"{says}; did you mean 'sport'?" in refused_command(*words)
