"""Checks of baselines."""

from __future__ import annotations

import numpy as np
import torch

from zoo.components.tokens import Tokens
from zoo.conformance.base import check, needs
from zoo.conformance.compare import close, must
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.baseline import BATCH, VOCAB_SIZE, BaselineRig

LENGTH = 6
SORTS = {
    "texts": ("fit", "predict"),
    "tokens": ("forward", "parameters"),
    "stream": ("fit", "nats"),
}
# Two topics that no classifier may mix up, and some words that both have.
TEXTS = [
    f"{words} on {day}"
    for day in ("monday", "tuesday", "wednesday", "thursday")
    for words in ("the team won the match", "the bank raised its rates", "rain fell over hills")
]
LABELS = [0, 1, 2] * 4


@check("baseline")
def sort(rig: BaselineRig) -> None:
    """It declares how it learns: from `texts`, `tokens` or a `stream`, and one of them only."""
    declared = [c for c in SORTS if rig.choice.can(c)]
    must(len(declared) == 1, f"declares {' and '.join(declared) or 'none of them'}")
    made = rig.make()
    for method in SORTS[declared[0]]:
        must(callable(getattr(made, method, None)), f"a {type(made).__name__} has no {method}()")


@check("baseline", applies=needs("tokens"))
def padding_invariance(rig: BaselineRig) -> None:
    """Other ids in padding, or more padding, never change a text's logits."""
    module = rig.build()
    ids = torch.randint(VOCAB_SIZE, (BATCH, LENGTH), generator=rig.generator(0))
    tokens = padded_tokens(LENGTH)
    assert tokens.attention_mask is not None
    real = tokens.attention_mask
    out = module(ids, tokens)
    for text in range(BATCH):
        n = int(real[text].sum())
        alone = module(ids[text : text + 1, :n], Tokens.whole(n))
        close(out[text], alone[0], f"text {text}: padded against unpadded", tolerance=1e-6)
    dirty = torch.where(real, ids, (ids + 7) % VOCAB_SIZE)
    close(module(dirty, tokens), out, "logits with other ids in padding", tolerance=1e-6)
    more = torch.cat([dirty, dirty], dim=1)
    longer = Tokens(torch.cat([real, torch.zeros_like(real)], dim=1), torch.arange(2 * LENGTH))
    close(module(more, longer), out, "logits with more padding", tolerance=1e-6)


@check("baseline", applies=needs("texts"))
def learns(rig: BaselineRig) -> None:
    """Fitted to twelve texts of three topics, it tells the topics apart."""
    model = rig.make()
    model.fit(list(TEXTS), list(LABELS))
    predicted = list(model.predict(list(TEXTS)))
    must(len(predicted) == len(TEXTS), f"{len(predicted)} labels for {len(TEXTS)} texts")
    strange = [label for label in predicted if label not in set(LABELS)]
    must(not strange, f"predicts labels that it never saw: {strange[:3]}")
    wrong = sum(p != label for p, label in zip(predicted, LABELS, strict=True))
    must(wrong == 0, f"{wrong} of {len(TEXTS)} texts that it was fitted to are mislabelled")


@check("baseline", applies=needs("texts"))
def same_again(rig: BaselineRig) -> None:
    """Fitted twice it predicts the same, for a text alone as among others."""
    predicted = []
    for _ in range(2):
        model = rig.make()
        model.fit(list(TEXTS), list(LABELS))
        unseen = ["the bank won the match", "rain", "words it never saw", "rates fell on monday"]
        predicted.append([int(label) for label in model.predict(unseen)])
        alone = [int(model.predict([text])[0]) for text in unseen]
        must(alone == predicted[-1], f"labels {predicted[-1]} together, {alone} one by one")
    must(predicted[0] == predicted[1], f"labels {predicted[0]}, and {predicted[1]} after refitting")


@check("baseline", applies=needs("texts"))
def texts_untouched(rig: BaselineRig) -> None:
    """Fitting and predicting change neither the texts nor the labels that they are given."""
    texts, labels = list(TEXTS), list(LABELS)
    model = rig.make()
    model.fit(texts, labels)
    model.predict(texts)
    must(texts == TEXTS, "the texts have changed")
    must(labels == LABELS, "the labels have changed")


@check("baseline", applies=needs("stream"))
def shares(rig: BaselineRig) -> None:
    """What it gives to all tokens that may come next sums to one, seen before or not."""
    model = rig.make()
    model.fit(np.tile(np.arange(VOCAB_SIZE - 2), 3))
    for before in ([0, 1, 2], [2, 0, VOCAB_SIZE - 1], [VOCAB_SIZE - 1, 1, VOCAB_SIZE - 2]):
        nats = [model.nats(np.array([*before, token]))[-1] for token in range(VOCAB_SIZE)]
        total = float(np.exp(-np.array(nats)).sum())
        must(abs(total - 1) < 1e-6, f"the shares of all tokens after {before} sum to {total:.6f}")


@check("baseline", applies=needs("stream"))
def learns_stream(rig: BaselineRig) -> None:
    """Fitted to a stream that goes round, it expects the round to go on."""
    model, stream = rig.make(), np.tile(np.arange(VOCAB_SIZE), 20)
    model.fit(stream)
    nats = model.nats(stream)
    must(nats.shape == (len(stream) - 1,), f"gives {nats.shape} for {len(stream)} tokens")
    surprise = float(nats[VOCAB_SIZE:].mean())
    must(surprise < 0.5 * np.log(VOCAB_SIZE), f"{surprise:.2f} nats a token, though all is certain")
