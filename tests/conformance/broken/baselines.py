"""Baselines that are wrong in one way each."""

from __future__ import annotations

import numpy as np
from sound import Bag
from specimens import Specimens, registering

from zoo.components.baseline.frequent_tag import FrequentTag
from zoo.components.baseline.neighbour_ngram import NeighbourNGram
from zoo.components.baseline.ngram import NGram
from zoo.components.baseline.tfidf_logreg import TfidfLogisticRegression

texts = Specimens("baseline", "texts")
tokens = Specimens("baseline", "tokens")
streams = Specimens("baseline", "stream")
tagged = Specimens("baseline", "token-texts")
masked = Specimens("baseline", "masked")
zoo_register = registering(texts, tokens, streams, tagged, masked)


class Fitted(TfidfLogisticRegression):
    def __init__(self):
        super().__init__()


@texts.caught_by("sort", "declares none of them", only=())
class SaysNothing(Fitted):
    pass


@texts.caught_by("sort", "has no predict")
class CannotPredict:
    def fit(self, texts, labels):
        pass


@texts.caught_by("learns", "8 of 12 texts")
class AlwaysTheFirst(Fitted):
    def predict(self, texts):
        return [0 for _ in texts]


@texts.caught_by("learns", "never saw")
class LabelsFromOne(Fitted):
    def predict(self, texts):
        return [label + 1 for label in super().predict(texts)]


@texts.caught_by("same-again", "one by one")
class LooksAtTheOthers(Fitted):
    def predict(self, texts):
        found = super().predict(texts)
        return [max(set(found), key=found.count) for _ in found]


@texts.caught_by("same-again", "the labels have changed")
class SortsLabels(Fitted):
    def fit(self, texts, labels):
        super().fit(texts, labels)
        labels.sort()


@texts.caught_by("same-again", "the texts have changed")
class LowersTexts(Fitted):
    def predict(self, texts):
        found = super().predict(texts)
        texts[:] = [text.upper() for text in texts]
        return found


@texts.caught_by("constant-class", "predicts several classes", also=("constant",))
class NotConstant(Fitted):
    pass


@texts.caught_by("constant-class", "a class that it never saw", also=("constant",))
class UnknownClass(Fitted):
    def predict(self, texts):
        return [7] * len(texts)


@tokens.caught_by("padding-invariance", "6 tokens, padding on the right: text 1 against unpadded")
class PaddingIgnored(Bag):
    def mean(self, x, tokens):
        return x.mean(dim=1)


@tokens.caught_by("shape-and-dtype", "shape \\(3, 8\\) instead of \\(3, 4\\)")
class NoHead(Bag):
    def forward(self, ids, tokens):
        return self.mean(self.embedding(ids), tokens) + 0 * self.head.weight.sum()


@streams.caught_by("learns-stream", "sum to 1.1")
class SharesTooMuch(NGram):
    def nats(self, ids):
        return super().nats(ids) - 0.1


@streams.caught_by("learns-stream", "nats per token")
class LearnsNothing(NGram):
    def fit(self, ids):
        self.levels = []


@streams.caught_by("learns-stream", "for 1000 tokens")
class ScoresTheFirstToken(NGram):
    def nats(self, ids):
        return np.concatenate([[0.0], super().nats(ids)])


@tagged.caught_by("learns-tags", "have changed")
class LowerCasesInPlace(FrequentTag):
    def predict(self, texts):
        found = super().predict(texts)
        for text in texts:
            text[:] = [token.upper() for token in text]
        return found


@tagged.caught_by("learns-tags", "not one tag per token")
class SkipsUnknown(FrequentTag):
    def predict(self, texts):
        return [[self.tags[token] for token in text if token in self.tags] for text in texts]


@texts.caught_by("same-everywhere", "give other predictions")
class VotesByHash(Fitted):
    def predict(self, texts):
        return [hash(text) % 3 for text in texts]


@texts.caught_by("same-everywhere", "remembers the data of the first", also=("deterministic",))
class FittedOnlyOnce(Fitted):
    done = False

    def fit(self, texts, labels):
        if not self.done:
            super().fit(texts, labels)
        self.done = True


@streams.caught_by("learns-stream", "change by .* with later ones")
class KnowsTheNextToken(NGram):
    """Gives a token more where it stands again right after itself."""

    def nats(self, ids):
        found = super().nats(ids)
        next_ones = np.append(ids[2:], -1)
        return found + 0.01 * (next_ones > ids[1:])


@tagged.caught_by("learns-tags", "tokens that it was fitted to are mistagged")
class GoesOnFromTheTextBefore:
    def fit(self, texts, tags):
        self.tags = dict(zip(("a", "b", "c"), range(3), strict=True))

    def predict(self, texts):
        found, before = [], 0
        for tokens in texts:
            row = []
            for token in tokens:
                row.append((self.tags.get(token, 0) + before) % 3)
                before = self.tags.get(token, 0)
            found.append(row)
        return found


@masked.caught_by("learns-masked", "sum to 1.1")
class MaskSharesTooMuch(NeighbourNGram):
    def log_probabilities(self, ids, places):
        return super().log_probabilities(ids, places) + 0.1


@masked.caught_by("learns-masked", "finds .* where .* are masked")
class SwapsTheNeighbours(NeighbourNGram):
    """Takes the token before for the one after, and the other way round."""

    def log_probabilities(self, ids, places):
        return super().log_probabilities(ids[::-1].copy(), len(ids) - 1 - places)
