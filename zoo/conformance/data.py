"""Checks of data sets."""

from __future__ import annotations

from collections import Counter

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.setups.data_setup import DataSetup
from zoo.data.sources.corpus import Corpus


@check("data")
def corpus(setup: DataSetup) -> None:
    """It loads a Corpus of str texts and int labels, with every class in both splits."""
    loaded = setup.corpus()
    must(
        isinstance(loaded, Corpus),
        f"gives a {type(loaded).__module__}.{type(loaded).__name__}, not a zoo.data.Corpus",
    )
    names = loaded.label_names
    for split, texts, labels in (
        ("train", loaded.train_texts, loaded.train_labels),
        ("test", loaded.test_texts, loaded.test_labels),
    ):
        must(isinstance(texts, list), f"{split} texts are a {type(texts).__name__}, no list")
        must(isinstance(labels, list), f"{split} labels are a {type(labels).__name__}, no list")
        counts = Counter(labels)
        absent = [name for number, name in enumerate(names) if not counts[number]]
        must(not absent, f"no {split} document is {', '.join(map(repr, absent))}")


@check("data")
def same_again(setup: DataSetup) -> None:
    """Loading it again gives the same documents in the same order."""
    loaded = setup.corpus()
    again = setup.make()
    for part in ("train_texts", "train_labels", "test_texts", "test_labels", "label_names"):
        one, other = getattr(loaded, part), getattr(again, part)
        must(len(one) == len(other), f"{len(other)} {part} instead of {len(one)}")
        differing = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        must(
            not differing,
            f"{len(differing)} of {len(one)} {part} differ, the first at {differing[:1]}",
        )
    must(loaded.fingerprint == again.fingerprint, "the fingerprints differ")


@check("data")
def leakage(setup: DataSetup) -> None:
    """At most a tenth of the test documents are also in the training split."""
    loaded = setup.corpus()
    total = len(loaded.test_texts)
    # Some well-known sets have a few duplicates, which are dropped from train and reported.
    must(
        loaded.duplicates <= 0.1 * total,
        f"{loaded.duplicates} of {total} test documents are also in train",
    )
