"""``ZooClassifier`` is an estimator of scikit-learn, by scikit-learn's own checks.

Their X are numbers, which a text classifier refuses, so they run on one that spells numbers as
words.
"""

import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

import zoo
from zoo.sklearn import ZooClassifier

TINY = {
    "pe": "sin",
    "dim": 16,
    "heads": 2,
    "ffn_dim": 32,
    "layers": 1,
    "max_length": 24,
    "vocab_size": 400,
    "epochs": 1,
    "batch_size": 16,
    "lr": 0.02,
    "threads": 1,
    "device": "cpu",
    "random_state": 0,
}


class OfNumbers(ZooClassifier):
    """Spells each row of numbers as words: ``c0v52 c1v47``."""

    def fit(self, X: Any, y: Any) -> Any:
        if y is not None:
            X, y = validate_data(self, X, y, dtype="numeric")
        return super().fit(spelled(X), y)

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return super().predict_proba(spelled(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = tags.input_tags.string = False
        return tags


def spelled(X: Any) -> list[str]:
    return [
        " ".join(f"c{column}v{round(4 * float(value)) + 50}" for column, value in enumerate(row))
        for row in np.asarray(X)
    ]


def of_scikit_learn(*, learning: bool) -> list[Any]:
    """Those of scikit-learn's checks whose model must learn, which takes seconds, or the others."""
    return [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(OfNumbers(**TINY))
        if (check.func.__name__ == "check_classifiers_train") is learning
    ]


@pytest.mark.parametrize(("estimator", "check"), of_scikit_learn(learning=False))
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), of_scikit_learn(learning=True))
def test_checks_of_scikit_learn_that_it_learns(estimator, check):
    check(estimator.set_params(epochs=8))


@pytest.fixture(scope="module")
def documents(corpus) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_csv(corpus / "train.csv"), pd.read_csv(corpus / "test.csv")


@pytest.fixture(scope="module")
def fitted(documents) -> ZooClassifier:
    train, _ = documents
    return ZooClassifier(**{**TINY, "epochs": 8}).fit(train.text, train.label)


def test_probabilities_are_in_the_order_of_the_classes(fitted, documents):
    _, test = documents
    assert list(fitted.classes_) == ["market", "music", "sport"]
    probabilities = fitted.predict_proba(list(test.text))
    assert probabilities.shape == (len(test), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-15)
    predicted = [fitted.classes_[row] for row in probabilities.argmax(axis=1)]
    assert predicted == fitted.predict(test[["text"]]).tolist()  # a frame of one column
    assert fitted.score(test.text, test.label) > 0.6  # chance is 1/3


def test_it_is_trained_on_every_document():
    """Two documents of each class: none of them is held out."""
    texts = ["goal", "goal goal", "bank", "bank bank"]
    model = ZooClassifier(**{**TINY, "epochs": 20}).fit(texts, [True, True, False, False])
    assert model.predict(texts).tolist() == [True, True, False, False]
    data = model.model_.card.data
    assert (data["train"], data["test"]) == (2, 2)
    any_seed = ZooClassifier(**{**TINY, "random_state": None})
    assert any_seed.fit(["goal", "bank"], [1, 0]).classes_.tolist() == [0, 1]
    # To scikit-learn it says that it takes one column of texts, and no table.
    tags = any_seed.__sklearn_tags__().input_tags
    assert (tags.string, tags.one_d_array, tags.two_d_array) == (True, True, False)


def test_copies_predict_the_same_and_a_clone_is_not_fitted(fitted, documents, tmp_path):
    _, test = documents
    expected = fitted.predict_proba(test.text)
    joblib.dump(fitted, tmp_path / "model.joblib")
    for copy in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.predict_proba(test.text), expected)
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "model_")
    with pytest.raises(NotFittedError):
        fresh.predict(test.text)


def test_fits_in_threads_are_those_of_their_random_states(documents):
    train, test = documents

    def fit(seed: int) -> np.ndarray:
        model = ZooClassifier(**{**TINY, "random_state": seed}).fit(train.text, train.label)
        return model.predict_proba(test.text)

    torch.manual_seed(7)
    state = torch.get_rng_state()
    alone = [fit(seed) for seed in range(3)]
    together = joblib.Parallel(n_jobs=3, backend="threading")(map(joblib.delayed(fit), range(3)))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_text_without_tokens_gets_the_shares_of_the_classes_and_is_not_learned_from():
    model = ZooClassifier(**TINY).fit(["goal", "bank", "goal", "goal"], [1, 0, 1, 1])
    with pytest.warns(UserWarning, match="no tokens in text 2:"):
        np.testing.assert_array_equal(model.predict_proba(["goal", "\u200b"])[1], [0.25, 0.75])
    with pytest.raises(ValueError, match="X is empty in text 2 and 3"):
        ZooClassifier(**TINY).fit(["goal", "", "\u200b"], [1, 0, 0])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_classes_may_weigh_as_in_scikit_learn(smoothing):
    """A class of one text of nine weighs as much as that of the eight: as if it were eight."""
    options = {**TINY, "dropout": 0.0, "epochs": 1, "batch_size": 16, "warmup": 0.0}
    options["label_smoothing"] = smoothing
    often, rare = "goal goal goal bank", "bank goal bank goal goal"
    texts, labels = [often] * 8 + [rare], [1] * 8 + [0]
    many = ZooClassifier(**options).fit(texts + [rare] * 7, labels + [0] * 7)
    balanced = ZooClassifier(**options, class_weight="balanced").fit(texts, labels)
    shares = balanced.predict_proba([often, rare])
    np.testing.assert_allclose(shares, many.predict_proba([often, rare]), atol=1e-5)
    by_name = ZooClassifier(**options, class_weight={0: 4.5, 1: 0.5625}).fit(texts, labels)
    assert by_name.model_.logits(texts).tolist() == balanced.model_.logits(texts).tolist()
    plain = ZooClassifier(**options).fit(texts, labels)
    assert plain.predict_proba([rare])[0, 0] < shares[1, 0] - 0.01


def test_it_is_the_model_that_zoo_train_gives(documents):
    train, _ = documents
    texts, labels = train.text.tolist(), train.label.tolist()
    model = ZooClassifier(**TINY).fit(texts, labels)
    last = set({label: row for row, label in enumerate(labels)}.values())
    parts = {"train": [r for r in range(len(texts)) if r not in last], "test": sorted(last)}
    data = {s: ([texts[r] for r in its], [labels[r] for r in its]) for s, its in parts.items()}
    options = {name: value for name, value in TINY.items() if name != "random_state"}
    same: Any = zoo.train(data=data, all_data=True, on="inline", **options)
    assert same.logits(texts[:5]).tolist() == model.model_.logits(texts[:5]).tolist()


def test_cross_validation_grid_search_and_a_pipeline(documents):
    train, _ = documents
    estimator = ZooClassifier(**TINY)
    scores = cross_val_score(estimator, train.text, train.label, cv=2, error_score="raise")
    assert scores.shape == (2,)
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = Pipeline([("lower", lower), ("zoo", estimator)])
    search = GridSearchCV(
        pipeline, {"zoo__attention": ["fused", "naive"]}, cv=2, error_score="raise"
    )
    search.fit(train.text.str.upper().tolist(), train.label)
    assert search.predict(["a goal"]).shape == (1,)
    fused, naive = search.cv_results_["mean_test_score"]  # both compute the same function
    assert fused == pytest.approx(naive, abs=0.03)


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        (["a b", "c d"], [1, 1], "one class, 1"),
        (["a b", "c d", "e"], np.array([0, np.nan, 1]), "class 2 is missing"),
        (["a b", "c d", "e"], ["x", "y", None], "class 3 is missing"),
        (pd.Series(["a b", "c d"]), pd.Series(["x", pd.NA], dtype="string"), "class 2 is missing"),
        (["a b", "c d", "e"], ["x", float("nan"), "y"], "class 2 is missing"),
        (["a b", "c d", "e"], pd.DataFrame({"y": ["x", "y", None]}), "class 3 is missing"),
        (["a b", "c d", "e"], np.array([["x"], ["y"], [None]], dtype=object), "class 3 is missing"),
        (["a b", None], [0, 1], "text 2 of X is no text but a NoneType"),
        ("a b", [0], "one text"),
        ([], [], "no texts"),
        (["a", "b"], None, "requires y"),
        (["a", "b", "c"], [0, 1], "inconsistent numbers of samples"),
        (np.array([["a", "b"], ["c", "d"]]), [0, 1], "one column of texts"),
    ],
)
def test_what_cannot_be_learned_is_a_value_error(texts, labels, says):
    with pytest.raises(ValueError, match=says):
        ZooClassifier(**TINY).fit(texts, labels)
