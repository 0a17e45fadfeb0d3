"""What a fitted baseline gives: answers that were learned, one for each text, again and again."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from zoo.conformance.assertions import must, trying
from zoo.conformance.declares import parameters_act
from zoo.conformance.elsewhere import same_elsewhere
from zoo.conformance.outcomes import CheckSettings
from zoo.conformance.parts import VOCAB, Part
from zoo.registry import Choice

# Three topics that any classifier separates, with some words in common.
TEXTS = [
    f"{words} on {day}"
    for day in ("monday", "tuesday", "wednesday", "thursday")
    for words in ("the team won the match", "the bank raised its rates", "rain fell over hills")
]
LABELS = [0, 1, 2] * 4
# Each token has one tag wherever it stands, so that any tagger learns them.
TOKENS = [text.split() for text in TEXTS]
TAGS = [[("the", "on").index(w) if w in ("the", "on") else 2 for w in text] for text in TOKENS]
# Texts of token ids in which every token stands between the same two; a text with two masks.
WINDOWS = [np.arange(first, first + 12) for first in range(2, VOCAB - 14)] * 2
PLACES = (np.array([2, 5, 3, 7, 3, 9, 10]), np.array([2, 4]))
COUNTING = np.tile(np.arange(VOCAB), 6)
RANDOM = np.random.default_rng(0).integers(VOCAB, size=6 * VOCAB)


def noisy(count: int, seed: int, most: int, words: int = 40) -> tuple[list[Any], list[Any]]:
    """Texts of at most so many words, and their tags, each of which hints at the one that follows.

    Half of the words tell their tag, so that small differences of two fits decide.
    """
    draw, texts, tags = random.Random(seed), list[list[str]](), list[list[int]]()
    for _ in range(count):
        tag, text, own = draw.randrange(3), list[str](), list[int]()
        for _ in range(draw.randint(1, most)):
            tag = (tag + draw.choice((1, 1, 1, 0, 2))) % 3
            number = int(words * draw.random() ** 3)
            own.append(tag)
            text.append(f"w{number - number % 3 + tag if draw.random() < 0.5 else number}")
        texts.append(text)
        tags.append(own)
    return texts, tags


def classed(texts: Sequence[Any], tags: Sequence[Any]) -> tuple[list[str], list[int]]:
    """The texts as classification has them, each with its most frequent tag."""
    return [" ".join(text) for text in texts], [max(range(3), key=own.count) for own in tags]


NOISY, MORE = noisy(90, 0, 9), noisy(400, 1, 9, 4000)
# Every seventh begins alike.
UNSEEN = [[f"new{n % 7}"] * (n % 7 * 3) + text for n, text in enumerate(noisy(100, 2, 4)[0])]


class Sample(NamedTuple):
    """Made-up data. training, more: the arguments of ``fit``; more has more to learn."""

    training: tuple[Any, ...]
    more: tuple[Any, ...]
    inputs: Any


WORDS = [*TEXTS, "words it never saw", "", *map(" ".join, UNSEEN)]
SPLIT = [*TOKENS, ["a", "new", "word"], ["The", "bank"], ["on"], [], *UNSEEN]
STREAM = np.concatenate([COUNTING, RANDOM])
SAMPLES = {
    "texts": Sample(classed(*NOISY), classed(*MORE), WORDS),
    "token-texts": Sample(NOISY, MORE, SPLIT),
    "stream": Sample((COUNTING,), (STREAM,), COUNTING[: 2 * VOCAB]),
    "masked": Sample((WINDOWS,), ([*WINDOWS, RANDOM],), PLACES),
}


def baselines(part: Part) -> None:
    """It learns, answers each text alone as in a batch, and is the same again and everywhere."""
    sorts = (*SAMPLES, "tokens")
    declared = list(filter(part.can, sorts))
    must(len(declared) == 1, f"declares {declared}, not one of {', '.join(sorts)}")
    sort = declared[0]
    if sort not in SAMPLES:
        larger = part.sizes.model_copy(update={"dim": 32, "layers": 2, "ffn_dim": 64})
        models = part.make(), part.but(sizes=larger).make()
        counts = [sum(p.numel() for p in model.parameters()) for model in models]
        must(counts[0] != counts[1], f"{counts[0]} weights whatever the sizes: use `sizes`")
        return
    with trying("what it learned"):
        LAWS[sort](part)
    _again(part, sort)
    if sort.endswith("texts"):
        _alone(part, sort)
    _counted(*(_fitted(part, sort, data) for data in (SAMPLES[sort].training, SAMPLES[sort].more)))

    def learned(other: Part) -> str:
        model = _fitted(other, sort)
        return _text([_answers(model, sort), getattr(model, "parameters", 0)])

    parameters_act(part, part.choice.parameters, lambda a, b: learned(a) != learned(b))


def _counted(*models: Any) -> None:
    """`parameters` is how many numbers a fitted model holds; the second has learned more."""
    less, more = (getattr(model, "parameters", 0) for model in models)
    try:
        sizes = [len(pickle.dumps(model)) for model in models]
    except Exception:  # noqa: BLE001 - what cannot be pickled is not measured
        return
    what = f"parameters is {less!r:.60} and {more!r:.60} for models of {sizes} bytes"
    counted = 0 <= less <= sizes[0] and (less != more or sizes[1] <= 2 * sizes[0])
    must(counted or not hasattr(models[0], "parameters"), f"{what}: it must count what they hold")


def _fitted(part: Part, sort: str, training: Any = None, seed: int = 0) -> Any:
    """A newly fitted one, whose arguments must be as before."""
    _seed(seed)
    model, training = part.make(), copy.deepcopy(training or SAMPLES[sort].training)
    before = _text(training)
    model.fit(*training)
    must(_text(training) == before, "fit() has changed the texts, the tokens or their labels")
    return model


def _text(data: Any) -> str:
    return json.dumps(data, default=lambda array: array.tolist())


def _answers(model: Any, sort: str, inputs: Any = None) -> list[Any]:
    """Its answers to inputs, which must be as before."""
    inputs = copy.deepcopy(SAMPLES[sort].inputs if inputs is None else inputs)
    before, answers = _text(inputs), list[Any]()
    match sort:
        case "stream":
            answers = [round(float(x), 9) for x in model.nats(inputs)]
        case "masked":
            answers = model.log_probabilities(*inputs).round(9).tolist()
        case _:
            pairs = zip(inputs, model.predict(inputs), strict=True)
            answers = [list(map(_label, p)) if isinstance(x, list) else _label(p) for x, p in pairs]
    must(_text(inputs) == before, "the texts have changed after it answered")
    return answers


def _label(answer: Any) -> int:
    must(isinstance(answer, int | np.integer), f"predicts {answer!r:.40}, no int")
    return int(answer)


def _alone(part: Part, sort: str) -> None:
    """Each text gets alone what it gets in a batch; a text of tokens gets a tag for each."""
    (model, again), inputs = (_fitted(part, sort) for _ in range(2)), SAMPLES[sort].inputs
    answers = _answers(model, sort)
    if sort == "token-texts":
        lengths = [len(tags) for tags in answers]
        must(lengths == [len(text) for text in inputs], f"{lengths} are not one tag per token")
    alone = [_answers(again, sort, [text])[0] if text != [] else [] for text in inputs[::-1]]
    pairs = list(zip(answers, alone[::-1], strict=True))
    wrong = [pair for pair in pairs if pair[0] != pair[1]]
    what = f"{len(wrong)} of {len(pairs)} answers differ one by one and in a batch: {wrong[:1]}"
    must(not wrong, what)


def _texts(part: Part) -> None:
    answers = _answers(_fitted(part, "texts", (TEXTS, LABELS)), "texts")
    wrong = sum(p != label for p, label in zip(answers, LABELS, strict=False))
    if part.can("constant"):
        must(len(set(answers)) == 1, f"predicts several classes: {sorted(set(answers))}")
    else:
        must(not wrong, f"{wrong} of {len(TEXTS)} texts that it was fitted to are mislabelled")
    other = _fitted(part, "texts", (TEXTS, [2 * n + 1 for n in LABELS]))
    unknown = sorted(set(_answers(other, "texts")) - {1, 3, 5})
    must(not unknown, f"fitted to the labels 1, 3 and 5, it predicts {unknown[:3]}")


def _tags(part: Part) -> None:
    # Labels of -100 do not count, though most are.
    ignored = [*TAGS[:3], *([-100] * len(tags) for tags in TAGS[3:])]
    for tags, count in ((TAGS, 12), (ignored, 3)):
        answers = _answers(_fitted(part, "token-texts", (TOKENS, tags)), "token-texts")
        what = f"where {12 - count} of 12 texts have labels of -100, tokens of others are mistagged"
        must(answers[:count] == TAGS[:count], what)
        known = {tag for own in answers for tag in own}
        must(known <= {0, 1, 2}, f"with labels of -100, it predicts {sorted(known)}")


def _stream(part: Part) -> None:
    # Most of it is one token, which a model of single tokens learns too.
    sequence = np.repeat([0, 1, 0, 2, 0, 3, 0, 4], [9, 1, 8, 2, 9, 1, 8, 2])
    ids = np.tile(sequence, 25)
    learned = _fitted(part, "stream", (ids,))
    nats = learned.nats(ids)
    must(nats.shape == (len(ids) - 1,), f"gives {nats.shape} for {len(ids)} tokens")
    mean = float(nats[len(sequence) :].mean())
    must(mean < 0.5 * np.log(VOCAB), f"{mean:.2f} nats per token of a repeating sequence")
    # Every pair as often as the others, and pairs of which some are there once.
    uneven = np.random.default_rng(1).geometric(0.4, size=300) - 1
    for training in (uneven.clip(max=VOCAB - 3), np.tile(np.arange(VOCAB - 2), 6)):
        model = _fitted(part, "stream", (training,))
        for before in ([0, 1, 2], [2, 0, VOCAB - 1], [VOCAB - 1, 1, VOCAB - 2]):
            last = [model.nats(np.array([*before, token]))[-1] for token in range(VOCAB)]
            _sums_to_one(-np.array(last), f"after {before}")
    ids = np.random.default_rng(0).integers(VOCAB - 2, size=40)
    ids[:20] = np.arange(20)
    whole = model.nats(ids)
    for end in (2, 10, 25, 39):
        off = float(np.abs(model.nats(ids[:end]) - whole[: end - 1]).max())
        must(off < 1e-9, f"the nats of the first {end} tokens change by {off:.3g} with later ones")


def _sums_to_one(logs: Any, where: str) -> None:
    total = float(np.exp(logs).sum())
    must(abs(total - 1) < 1e-6, f"the probabilities {where} sum to {total:.6f}")


def _masked(part: Part) -> None:
    text, places = WINDOWS[5].copy(), np.array([3, 6, 9])
    model, targets = _fitted(part, "masked"), text[places]
    text[places] = 1  # no text has this id
    unseen = np.array([0, 1, 3, VOCAB - 1, 3])
    for ids, at in ((text, places), PLACES, (unseen, np.array([2, 4]))):
        logs, shape = model.log_probabilities(ids, at), (len(at), VOCAB)
        must(logs.shape == shape, f"gives {logs.shape} for {len(at)} masks, not {shape}")
        for of_mask in logs:
            _sums_to_one(of_mask, "at a mask")
        guesses = logs.argmax(axis=1)
        right = ids is not text or (guesses == targets).all()
        must(right, f"finds {guesses.tolist()} where {targets.tolist()} are masked")
        other = ids.copy()
        other[at[:1]] = 7
        same = np.allclose(model.log_probabilities(other, at[:1]), logs[:1])
        must(same, "reads what stands at the place that it is to find")


def _seed(seed: int) -> None:
    """Seed what a run seeds."""
    for generator in (random.seed, np.random.seed, torch.manual_seed):
        generator(seed)


LAWS = {"texts": _texts, "token-texts": _tags, "stream": _stream, "masked": _masked}


def fit_and_predict(choice: Choice, seed: int = 0) -> str:
    """What a baseline of this choice, newly fitted, answers to made-up data, as text.

    What is declared to be deterministic needs no seed.
    """
    part = Part(choice, CheckSettings())
    sort = next(filter(part.can, SAMPLES))
    return _text(_answers(_fitted(part, sort, seed=seed * part.can("deterministic")), sort))


def _again(part: Part, sort: str) -> None:
    """Fitted again, after other data, or in another process, it is the same."""
    expected, again = fit_and_predict(part.choice), fit_and_predict(part.choice, seed=1)
    hint = "draw from a generator that a run seeds, which is not 'deterministic'"
    must(again == expected, f"fitted twice to the same data, it gives other answers: {hint}")
    first = _fitted(part, sort)
    answers = _answers(first, sort)
    must(_answers(first, sort) == answers, "asked again, it gives other answers")
    model = _fitted(part, sort, SAMPLES[sort].more)
    what = "another one, fitted to other data, changes what the first answers"
    must(_answers(first, sort) == answers, f"{what}: keep what is learned in the object")
    _seed(0)
    model.fit(*copy.deepcopy(SAMPLES[sort].training))
    remembers = _text(_answers(model, sort)) != expected
    must(not remembers, "fitted a second time, it remembers the data of the first")
    same_elsewhere(part, fit_and_predict, expected, "give other predictions")
