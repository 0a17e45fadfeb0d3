"""Baselines: whole models that are not assembled from parts.

One that declares ``texts`` is built without arguments and has ``fit(texts, labels)`` and
``predict(texts) -> labels``. One that declares ``tokens`` is a torch module, built as
``Baseline(vocab_size=, classes=, sizes=, dropout=)``, that maps (ids, tokens) to logits
(B, classes) and is trained by the harness on the same batches as every cell. One that declares
``vocabulary`` as well is also given ``vocabulary=``, a list of the word piece behind every id.
These are classifiers. One that declares ``stream`` models language: it is built as
``Baseline(vocab_size=)`` and has ``fit(ids)`` and ``nats(ids)``, of numpy arrays of token ids, the
second -ln P of every token but the first, given those before it.
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
        summary="logistic regression on TF-IDF of single words: what a bag of words is worth",
        source="https://scikit-learn.org/stable/modules/feature_extraction.html",
        capabilities=("texts",),
        parameters={"c": 10.0, "ngrams": 1},
    )
    register(
        "baseline",
        "ngram",
        "zoo.components.baseline.ngram:NGram",
        summary="an interpolated n-gram: what counting runs of tokens is worth, for --task lm",
        source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
        capabilities=("stream",),
        parameters={"order": 3},
    )
