"""Checks of baselines: torch modules, and those that learn from texts or token sequences."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.elsewhere import elsewhere
from zoo.conformance.outcomes import CheckSettings
from zoo.conformance.setup import (
    BATCH,
    Case,
    Draw,
    ModuleSetup,
    padded_tokens,
)
from zoo.data.tokenizer import SPECIALS
from zoo.registry import Choice

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
# Texts of token ids in which every token stands between the same two; a text with two masks.
WINDOWS = [np.arange(first, first + 12) for first in range(2, VOCAB_SIZE - 14)] * 2
PLACES = (np.array([2, 5, 3, 7, 3, 9, 10]), np.array([2, 4]))
# Each token has one tag wherever it stands, so that any tagger learns them.
TOKENS = [text.split() for text in TEXTS]
TAGS = [[("the", "on").index(w) if w in ("the", "on") else 2 for w in text] for text in TOKENS]


class BaselineSetup(ModuleSetup, kind="baseline"):
    """Builds ``Baseline(vocab_size=, classes=, sizes=, dropout=)``.

    One that learns from texts takes none of these, one that learns from token ids only
    ``vocab_size``.
    """

    passes = ("vocab_size", "classes", "sizes", "dropout", "vocabulary", "head_hidden")
    contract = nn.Module
    quiet_training = False
    per_text, lengths, tolerance = True, (LENGTH,), 1e-6

    def call(self, module: Any, x: Tensor, tokens: Tokens, **more: Any) -> Tensor:
        """Logits of texts of ids."""
        out: Tensor = module(x, tokens)
        return out

    def text(self, length: int, seed: int = 0) -> Tensor:
        """Ids of tokens."""
        return torch.randint(VOCAB_SIZE, (BATCH, length), generator=self.generator(seed))

    def dirty(self, x: Tensor, real: Tensor) -> list[tuple[Tensor, str]]:
        """Other ids."""
        return [(torch.where(real, x, (x + 7) % VOCAB_SIZE), "other ids")]

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

        tokens = {"plain": Tokens.whole(length), "padded": padded_tokens(length, draw.texts)}
        return [self.case(name, ids, its, (len(ids), CLASSES)) for name, its in tokens.items()]


@check("baseline")
def sort(setup: BaselineSetup) -> None:
    """It declares one of `texts`, `token-texts`, `tokens`, `stream`, `masked`; has its methods."""
    declared = [c for c in METHODS if setup.can(c)]
    must(len(declared) == 1, f"declares {' and '.join(declared) or 'none of them'}")
    made = setup.make()
    for method in METHODS[declared[0]]:
        must(callable(getattr(made, method, None)), f"a {type(made).__name__} has no {method}()")


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


@check("baseline", needs="texts")
def same_again(setup: BaselineSetup) -> None:
    """A text gets the same label alone as in a batch, and texts and labels are left as they are."""
    texts, labels, model = list(TEXTS), list(LABELS), setup.make()
    model.fit(texts, labels)
    model.predict(texts)
    must(texts == TEXTS, "the texts have changed")
    must(labels == LABELS, "the labels have changed")
    unseen = ["the bank won the match", "rain", "words it never saw", *MIXED[:20]]
    predicted = [int(label) for label in model.predict(unseen)]
    alone = [int(model.predict([text])[0]) for text in unseen]
    must(alone == predicted, f"labels {predicted} in a batch, {alone} one by one")


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


@check("baseline", needs="stream")
def learns_stream(setup: BaselineSetup) -> None:
    """It learns a repeating sequence, from past tokens alone; all shares of a token sum to one."""
    # Most of it is one token, which a model of single tokens learns too.
    sequence = np.repeat([0, 1, 0, 2, 0, 3, 0, 4], [9, 1, 8, 2, 9, 1, 8, 2])
    model, ids = setup.make(), np.tile(sequence, 25)
    model.fit(ids)
    nats = model.nats(ids)
    must(nats.shape == (len(ids) - 1,), f"gives {nats.shape} for {len(ids)} tokens")
    mean = float(nats[len(sequence) :].mean())
    must(mean < 0.5 * np.log(VOCAB_SIZE), f"{mean:.2f} nats per token of a repeating sequence")
    model = setup.make()
    model.fit(np.tile(np.arange(VOCAB_SIZE - 2), 6))
    for before in ([0, 1, 2], [2, 0, VOCAB_SIZE - 1], [VOCAB_SIZE - 1, 1, VOCAB_SIZE - 2]):
        last = [model.nats(np.array([*before, token]))[-1] for token in range(VOCAB_SIZE)]
        total = float(np.exp(-np.array(last)).sum())
        must(abs(total - 1) < 1e-6, f"the probabilities after {before} sum to {total:.6f}")
    ids = np.random.default_rng(0).integers(VOCAB_SIZE - 2, size=40)
    ids[:20] = np.arange(20)
    whole = model.nats(ids)
    for end in (2, 10, 25, 39):
        off = float(np.abs(model.nats(ids[:end]) - whole[: end - 1]).max())
        must(off < 1e-9, f"the nats of the first {end} tokens change by {off:.3g} with later ones")


@check("baseline", needs="masked")
def learns_masked(setup: BaselineSetup) -> None:
    """It finds masked numbers in texts that count; all tokens' shares at a mask sum to one."""
    model = setup.make()
    model.fit(WINDOWS)
    text, places = WINDOWS[5].copy(), np.array([3, 6, 9])
    targets = text[places]
    text[places] = 1  # no text has this id
    unseen = np.array([0, 1, 3, VOCAB_SIZE - 1, 3])
    for ids, at in ((text, places), PLACES, (unseen, np.array([2, 4]))):
        found = model.log_probabilities(ids, at)
        shape = (len(at), VOCAB_SIZE)
        must(found.shape == shape, f"gives {found.shape} for {len(at)} masks, not {shape}")
        totals = np.exp(found).sum(axis=1)
        worst = float(totals[np.abs(totals - 1).argmax()])
        must(abs(worst - 1) < 1e-6, f"the probabilities at a mask sum to {worst:.6f}")
        guessed = found.argmax(axis=1)
        right = ids is not text or (guessed == targets).all()
        must(right, f"finds {guessed.tolist()} where {targets.tolist()} are masked")


def _of_fitted(choice: Choice) -> str | None:
    return "it is trained like a cell" if choice.can("tokens") else None


def fit_and_predict(choice: Choice, seed: int = 0) -> str:
    """What a baseline of this choice, newly fitted, predicts for made-up data, as text."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    model = BaselineSetup(choice, CheckSettings()).make()
    _fit(choice, model, turned=False)
    return _predicted(choice, model)


def _fit(choice: Choice, model: Any, *, turned: bool) -> None:
    """Fit to made-up data; turned: to data of the same sort with other answers."""
    ids, step = np.tile(np.arange(VOCAB_SIZE), 6), -1 if turned else 1
    if choice.can("stream"):
        model.fit(ids[::step].copy())
    elif choice.can("masked"):
        model.fit([ids[::step].copy() for ids in WINDOWS])
    elif choice.can("token-texts"):
        model.fit(TOKENS, [[2 - tag for tag in tags] for tags in TAGS] if turned else TAGS)
    else:
        model.fit(list(TEXTS), [2 - label for label in LABELS] if turned else list(LABELS))


def _predicted(choice: Choice, model: Any) -> str:
    if choice.can("stream"):
        ids = np.tile(np.arange(VOCAB_SIZE), 2)
        return json.dumps([round(float(x), 9) for x in model.nats(ids)])
    if choice.can("masked"):
        return json.dumps(model.log_probabilities(*PLACES).round(9).tolist())
    if choice.can("token-texts"):
        unseen = [*TOKENS, ["a", "new", "word"], ["The", "bank"]]
        return json.dumps([[int(tag) for tag in tags] for tags in model.predict(unseen)])
    texts = [*TEXTS, *MIXED, "words it never saw"]
    return json.dumps([int(label) for label in model.predict(texts)])


@check("baseline", applies=_of_fitted)
def same_everywhere(setup: BaselineSetup) -> None:
    """Fitted again, after other data, or in other processes, folders and dates, it is the same."""
    expected, model = fit_and_predict(setup.choice), setup.make()
    must(fit_and_predict(setup.choice) == expected, "fitted twice, it gives other predictions")
    _fit(setup.choice, model, turned=True)
    _fit(setup.choice, model, turned=False)
    found = _predicted(setup.choice, model)
    must(found == expected, "fitted a second time, it remembers the data of the first")
    others = elsewhere(setup.choice, setup.files, "zoo.conformance.baseline:fit_and_predict")
    what = "two processes with other hash seeds, folders and dates give other predictions"
    must(len(others) == 1, f"{what}: sort sets, and use no hash()")
