"""Checks of baselines: torch modules, and those that learn from texts or token sequences."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import torch
from torch import nn

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import close, must
from zoo.conformance.check import check
from zoo.conformance.setup import (
    BATCH,
    Case,
    Draw,
    ModuleSetup,
    padded_mask,
    padded_tokens,
    token_tensors,
    unpadded,
)
from zoo.data.tokenizer import SPECIALS

CLASSES, VOCAB_SIZE = 4, 50
VOCABULARY = [*SPECIALS, *(f"word{i}" for i in range(VOCAB_SIZE - len(SPECIALS)))]
SIZES = Sizes(dim=8, layers=1, heads=2, ffn_dim=16, max_length=32, vocab_size=VOCAB_SIZE)
LENGTH = 6
METHODS = {
    "texts": ("fit", "predict"),
    "token-texts": ("fit", "predict"),
    "tokens": ("forward", "parameters"),
    "stream": ("fit", "nats"),
    "masked": ("fit", "log_probabilities"),
}
# Three topics that any classifier separates, with some words in common.
TEXTS = [
    f"{words} on {day}"
    for day in ("monday", "tuesday", "wednesday", "thursday")
    for words in ("the team won the match", "the bank raised its rates", "rain fell over hills")
]
LABELS = [0, 1, 2] * 4
# Of two topics each, so that small differences of two fits decide.
MIXED = [
    f"{' '.join(one.split()[:3])} {' '.join(other.split()[-4:])}"
    for one, other in itertools.permutations(TEXTS, 2)
]


class BaselineSetup(ModuleSetup, kind="baseline"):
    """Builds ``Baseline(vocab_size=, classes=, sizes=, dropout=)``.

    One that learns from texts takes none of these, one that learns from token ids only
    ``vocab_size``.
    """

    passes = ("vocab_size", "classes", "sizes", "dropout", "vocabulary", "head_hidden")
    contract = nn.Module
    quiet_training = False

    def make(self, dropout: float = 0.0) -> Any:
        if self.can("stream") or self.can("masked"):
            return self.choice.build(vocab_size=VOCAB_SIZE)
        if not self.can("tokens"):
            return self.choice.build()
        more: dict[str, Any] = {"vocabulary": VOCABULARY} if self.can("vocabulary") else {}
        if self.can("head"):
            more["head_hidden"] = 0
        return self.choice.build(
            vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES, dropout=dropout, **more
        )

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        shape = (BATCH, length)
        ids = torch.randint(VOCAB_SIZE, shape, generator=draw.generator, device="cpu")
        ids = draw.placed(ids[draw.texts])

        def case(name: str, tokens: Tokens) -> Case:
            fixed = token_tensors(tokens)
            return Case(name, (ids,), lambda m, ids: m(ids, tokens), (len(ids), CLASSES), fixed)

        padded = padded_tokens(length, draw.texts)
        return [case("plain", Tokens.whole(length)), case("padded", padded)]


@check("baseline")
def sort(setup: BaselineSetup) -> None:
    """It declares one of `texts`, `token-texts`, `tokens`, `stream`, `masked`; has its methods."""
    declared = [c for c in METHODS if setup.can(c)]
    must(len(declared) == 1, f"declares {' and '.join(declared) or 'none of them'}")
    made = setup.make()
    for method in METHODS[declared[0]]:
        must(callable(getattr(made, method, None)), f"a {type(made).__name__} has no {method}()")


@check("baseline", needs="tokens")
def padding_invariance(setup: BaselineSetup) -> None:
    """Other ids in padding, or more padding, never change a text's logits."""
    module = setup.build()
    ids = torch.randint(VOCAB_SIZE, (BATCH, LENGTH), generator=setup.generator())
    tokens, real = padded_tokens(LENGTH), padded_mask(LENGTH)
    out = module(ids, tokens)
    for text, alone in unpadded(ids, real):
        expected = module(alone, Tokens.whole(alone.shape[1]))[0]
        close(out[text], expected, f"text {text}: padded against unpadded", tolerance=1e-6)
    dirty = torch.where(real, ids, (ids + 7) % VOCAB_SIZE)
    close(module(dirty, tokens), out, "logits with other ids in padding", tolerance=1e-6)
    more = torch.cat([dirty, dirty], dim=1)
    longer = Tokens(torch.cat([real, torch.zeros_like(real)], dim=1), torch.arange(2 * LENGTH))
    close(module(more, longer), out, "logits with more padding", tolerance=1e-6)


# Texts of token ids in which every token stands between the same two; a text with two masks.
WINDOWS = [np.arange(first, first + 12) for first in range(2, VOCAB_SIZE - 14)] * 2
PLACES = (np.array([2, 5, 3, 7, 3, 9, 10]), np.array([2, 4]))


def _fitted(setup: BaselineSetup) -> Any:
    model = setup.make()
    model.fit(list(TEXTS), list(LABELS))
    return model


@check("baseline", needs="texts", unless="constant")
def learns(setup: BaselineSetup) -> None:
    """Fitted to twelve texts of three topics, it predicts their topics."""
    model = _fitted(setup)
    predicted = list(model.predict(list(TEXTS)))
    must(len(predicted) == len(TEXTS), f"{len(predicted)} labels for {len(TEXTS)} texts")
    unknown = [label for label in predicted if label not in set(LABELS)]
    must(not unknown, f"predicts labels that it never saw: {unknown[:3]}")
    wrong = sum(p != label for p, label in zip(predicted, LABELS, strict=True))
    must(wrong == 0, f"{wrong} of {len(TEXTS)} texts that it was fitted to are mislabelled")


@check("baseline", needs="constant")
def constant_class(setup: BaselineSetup) -> None:
    """Whatever the texts, they all get one class, which is one of the training texts'."""
    predicted = {int(label) for label in _fitted(setup).predict([*TEXTS, "words it never saw"])}
    must(len(predicted) == 1, f"predicts several classes: {sorted(predicted)}")
    must(predicted < set(LABELS), f"predicts a class that it never saw: {predicted}")


@check("baseline", needs="deterministic")
def fitted_once(setup: BaselineSetup) -> None:
    """Fitted with other states of the random generators, it predicts the same."""
    ids = np.tile(np.arange(VOCAB_SIZE), 3)
    found: list[Any] = []
    for seed in range(3):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        if setup.can("texts"):
            found.append([int(x) for x in _fitted(setup).predict([*TEXTS, *MIXED])])
            continue
        model = setup.make()
        if setup.can("token-texts"):
            model.fit(TOKENS, TAGS)
            texts = [*TOKENS, *map(str.split, MIXED)]
            found.append([[int(tag) for tag in tags] for tags in model.predict(texts)])
            continue
        if setup.can("masked"):
            model.fit(WINDOWS)
            found.append(model.log_probabilities(*PLACES).tolist())
            continue
        must(setup.can("stream"), "is trained like a cell, from weights that depend on the seed")
        model.fit(ids)
        found.append(model.nats(ids[::-1].copy()).tolist())
    must(found[0] == found[1] == found[2], "another seed gives other predictions")


@check("baseline", needs="texts")
def same_again(setup: BaselineSetup) -> None:
    """Fitted twice it predicts the same, and for a single text the same as in a batch."""
    predicted = []
    for model in (_fitted(setup), _fitted(setup)):
        unseen = ["the bank won the match", "rain", "words it never saw", *MIXED[:20]]
        predicted.append([int(label) for label in model.predict(unseen)])
        alone = [int(model.predict([text])[0]) for text in unseen]
        must(alone == predicted[-1], f"labels {predicted[-1]} in a batch, {alone} one by one")
    must(predicted[0] == predicted[1], f"labels {predicted[0]}, and {predicted[1]} after refitting")


@check("baseline", needs="texts")
def texts_untouched(setup: BaselineSetup) -> None:
    """Fitting and predicting change neither the texts nor the labels that they are given."""
    texts, labels = list(TEXTS), list(LABELS)
    model = setup.make()
    model.fit(texts, labels)
    model.predict(texts)
    must(texts == TEXTS, "the texts have changed")
    must(labels == LABELS, "the labels have changed")


# Each token has one tag wherever it stands, so that any tagger learns them.
TOKENS = [text.split() for text in TEXTS]
TAGS = [[("the", "on").index(w) if w in ("the", "on") else 2 for w in text] for text in TOKENS]


@check("baseline", needs="token-texts")
def learns_tags(setup: BaselineSetup) -> None:
    """Fitted to tokens with one tag each, it predicts a tag per token, alone as in a batch."""
    texts, tags = [list(text) for text in TOKENS], [list(its_tags) for its_tags in TAGS]
    tags[0] = [-100] * len(tags[0])  # these do not count
    expected = [list(its_tags) for its_tags in tags]
    model = setup.make()
    model.fit(texts, tags)
    predicted = [[int(tag) for tag in found] for found in model.predict(texts)]
    must(texts == TOKENS and tags == expected, "the tokens or their tags have changed")
    must(predicted == TAGS, "tokens that it was fitted to are mistagged")
    unseen = [["the", "unknown", "word"], ["on"]]
    whole = [[int(tag) for tag in found] for found in model.predict(unseen)]
    alone = [[int(tag) for tag in model.predict([text])[0]] for text in unseen]
    must([len(found) for found in whole] == [3, 1], f"{whole} are not one tag per token")
    must(whole == alone, f"tags {whole} in a batch, {alone} one by one")


@check("baseline", needs="token-texts")
def texts_apart(setup: BaselineSetup) -> None:
    """Where tags depend on the tokens around, a text has the same tags alone as in a batch."""
    draw = random.Random(setup.settings.seed)
    texts = [draw.choices("abc", k=draw.randrange(1, 9)) for _ in range(40)]
    # A token's tag tells it from the one before; the first of a text has a tag of its own.
    tags = [
        [("abc".index(b) + "abc".index(a)) % 3 for a, b in zip(t, ["a", *t], strict=False)]
        for t in texts
    ]
    model = setup.make()
    model.fit([list(text) for text in texts], [list(its_tags) for its_tags in tags])
    whole = [[int(tag) for tag in found] for found in model.predict(texts)]
    alone = [[int(tag) for tag in model.predict([text])[0]] for text in texts]
    differing = sum(one != other for one, other in zip(whole, alone, strict=True))
    must(not differing, f"{differing} of {len(texts)} texts have other tags in a batch than alone")


@check("baseline", needs="stream")
def shares(setup: BaselineSetup) -> None:
    """The probabilities of all next tokens sum to one, whether seen in training or not."""
    model = setup.make()
    model.fit(np.tile(np.arange(VOCAB_SIZE - 2), 3))
    for before in ([0, 1, 2], [2, 0, VOCAB_SIZE - 1], [VOCAB_SIZE - 1, 1, VOCAB_SIZE - 2]):
        nats = [model.nats(np.array([*before, token]))[-1] for token in range(VOCAB_SIZE)]
        total = float(np.exp(-np.array(nats)).sum())
        must(abs(total - 1) < 1e-6, f"the probabilities after {before} sum to {total:.6f}")


@check("baseline", needs="stream")
def learns_stream(setup: BaselineSetup) -> None:
    """Fitted to a repeating sequence of few tokens, it predicts better than by chance."""
    # Most of it is one token, which a model of single tokens learns too.
    sequence = np.repeat([0, 1, 0, 2, 0, 3, 0, 4], [9, 1, 8, 2, 9, 1, 8, 2])
    model, ids = setup.make(), np.tile(sequence, 25)
    model.fit(ids)
    nats = model.nats(ids)
    must(nats.shape == (len(ids) - 1,), f"gives {nats.shape} for {len(ids)} tokens")
    mean = float(nats[len(sequence) :].mean())
    must(mean < 0.5 * np.log(VOCAB_SIZE), f"{mean:.2f} nats per token of a repeating sequence")


@check("baseline", needs="masked")
def mask_shares(setup: BaselineSetup) -> None:
    """The probabilities of all tokens at a mask sum to one, whether seen in training or not."""
    model = setup.make()
    model.fit(WINDOWS)
    unseen = np.array([0, 1, 3, VOCAB_SIZE - 1, 3])
    for ids, places in (PLACES, (unseen, np.array([2, 4]))):
        found = model.log_probabilities(ids, places)
        shape = (len(places), VOCAB_SIZE)
        must(found.shape == shape, f"gives {found.shape} for {len(places)} masks, not {shape}")
        totals = np.exp(found).sum(axis=1)
        worst = float(totals[np.abs(totals - 1).argmax()])
        must(abs(worst - 1) < 1e-6, f"the probabilities at a mask sum to {worst:.6f}")


@check("baseline", needs="masked")
def learns_masked(setup: BaselineSetup) -> None:
    """Fitted to texts that count, it finds a masked number between its neighbours."""
    model = setup.make()
    model.fit(WINDOWS)
    text, places = WINDOWS[5].copy(), np.array([3, 6, 9])
    targets = text[places]
    text[places] = 1  # no text has this id
    found = model.log_probabilities(text, places).argmax(axis=1)
    must((found == targets).all(), f"finds {found.tolist()} where {targets.tolist()} are masked")
