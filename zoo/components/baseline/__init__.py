"""Baselines: whole models that are not assembled from parts.

Their capability says how they are built and called. Classifiers:
``texts``: built without arguments; ``fit(texts, labels)`` and ``predict(texts) -> labels``. The
texts that it is given are cut where a cell stops reading them; with ``whole=True`` they are whole.
A ``note``, where a fitted one has it and it is not empty, is printed under the table: a few words
on what it chose.
``tokens``: a torch module built as ``Baseline(vocab_size=, classes=, sizes=, dropout=)`` that maps
(ids, tokens) to logits (B, classes), trained on the same batches as every cell.
``vocabulary``, besides ``tokens``: also given ``vocabulary=``, the word piece of every id.
``head``, besides ``tokens``: also given ``head_hidden=``, as a cell's head is.
Taggers:
``token-texts``: built without arguments; ``fit(texts, tags)`` and ``predict(texts) -> tags``. A
text is a list of tokens, its tags a list of one int for each: -100 where it does not count.
Language models:
``stream``: built as ``Baseline(vocab_size=)``; ``fit(ids)`` and ``nats(ids)`` take numpy arrays of
token ids; ``nats`` returns -ln P of every token but the first, given those before it.
Masked language models:
``masked``: built as ``Baseline(vocab_size=)``; ``fit(texts)`` takes a list of numpy arrays of token
ids; ``log_probabilities(ids, places)`` takes one text and returns ln P (places, vocab_size) of what
may stand at these places of it.
"""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in baselines."""
    register(
        "baseline",
        "tfidf-logreg",
        "zoo.components.baseline.tfidf_logreg:TfidfLogisticRegression",
        summary="logistic regression on TF-IDF of words, and of pairs of words if they help",
        source="https://scikit-learn.org/stable/modules/feature_extraction.html",
        capabilities=("texts", "deterministic"),
        parameters={"c": 10.0, "ngrams": 2, "choose": True},
    )
    register(
        "baseline",
        "frequent-tag",
        "zoo.components.baseline.frequent_tag:FrequentTag",
        summary="every token's most frequent tag, for --task tag",
        source="Jurafsky and Martin, Speech and Language Processing, on part-of-speech tagging",
        capabilities=("token-texts", "deterministic"),
    )
    register(
        "baseline",
        "window-logreg",
        "zoo.components.baseline.window_logreg:WindowLogisticRegression",
        summary="logistic regression on a token and its neighbours, for --task tag",
        source="https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression",
        capabilities=("token-texts", "deterministic"),
        parameters={"size": 2, "c": 10.0},
    )
    register(
        "baseline",
        "majority",
        "zoo.components.baseline.majority:Majority",
        summary="the most frequent class of the training texts, for every text",
        source="https://scikit-learn.org/stable/modules/generated/sklearn.dummy.DummyClassifier.html",
        capabilities=("texts", "deterministic", "constant"),
    )
    register(
        "baseline",
        "ngram",
        "zoo.components.baseline.ngram:NGram",
        summary="an interpolated n-gram of tokens, for --task lm",
        source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
        capabilities=("stream", "deterministic"),
        parameters={"order": 3},
    )
    register(
        "baseline",
        "neighbour-ngram",
        "zoo.components.baseline.neighbour_ngram:NeighbourNGram",
        summary="counts of tokens between two neighbours, for --task mlm",
        source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
        capabilities=("masked", "deterministic"),
    )
