"""A metric: perfect is best, worse is not better, and no example counts more than another."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from zoo.conformance.assertions import must, trying
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, is_a
from zoo.registry.loading import load
from zoo.tasks.base import Metric

EXAMPLES, MANY = 61, 40  # a prime number, so that no share of them is a round number
_DRAW = np.random.default_rng(0)
CLASSES = _DRAW.integers(4, size=EXAMPLES)
OFF = _DRAW.integers(100, size=EXAMPLES)  # by how much a wrong answer is off
TAGS = [_DRAW.integers(5, size=_DRAW.integers(1, 7)) for _ in range(EXAMPLES)]
# The answers to made-up examples, of unequal frequencies, and the names of labels.
ANSWERS: dict[str, tuple[list[Any], list[str]]] = {
    "four classes": ([CLASSES[[at]] // (1 + at % 2) for at in range(EXAMPLES)], list("abcd")),
    "two classes": ([CLASSES[[at]] % 2 for at in range(EXAMPLES)], ["no", "yes"]),
    "tags": (TAGS, ["O", "B-X", "I-X", "B-Y", "I-Y"]),
}


def outputs(sort: str, right: np.ndarray, rows: np.ndarray, more: int = 0) -> dict[str, Any]:
    """What the zoo's tasks give for these examples, each right or wrong as a whole.

    more: how many classes are nowhere, before the others.
    """
    (answers, names), wrong = ANSWERS[sort], int((~right[rows]).sum())
    predicted = [
        own if hit else (own + 1 + off % (len(names) - 1)) % len(names)
        for own, hit, off in zip(answers, right, OFF, strict=True)
    ]
    labels, answered = (
        np.concatenate([each[row] for row in rows]) for each in (answers, predicted)
    )
    return {
        "labels": labels + more,
        "predicted": answered + more,
        # Some texts have no scored token.
        "lengths": [n for row in rows for n in (len(answers[row]), 0)[: 1 + (row % 9 == 0)]],
        "names": [*["B-Z"] * more, *names],
        "classes": len(names) + more,
        "right_tokens": int((labels == answered).sum()),
        "tokens": len(labels),
        "nats": 3.1 * wrong,
        "bytes": 4 * len(rows),
        "pairs": len(rows),
        "wrong": wrong,
    }


def laws(part: Part) -> None:
    """Perfect is best, worse is not better, and neither order nor number of examples matters."""
    made = is_a(part.make(), Metric)
    expected, own = part.choice.component.name.replace("-", "_"), made.description.name
    must(own == expected, f"the description's name is '{own}' instead of '{expected}'")
    computed, rows = False, np.arange(EXAMPLES)
    for sort, (_, names) in ANSWERS.items():
        applies, some = made.applies(names), outputs(sort, rows % 2 == 0, rows)
        with trying(f"outputs of {sort}"):
            try:
                if not applies or made.compute(some) is None:
                    continue
            except KeyError as error:
                if error.args[0] in some:
                    raise
                continue  # it is of another task
            _laws(made, sort)
        computed = True
    if not computed:
        tasks = [component.resolve() for component in load(part.files).registry.components("task")]
        named = any(part.choice.component.name in getattr(each, "metrics", ()) for each in tasks)
        must(named, "no task gives the outputs that it reads")
        raise CheckSkipped("no task of the zoo gives the outputs that it reads")


def _laws(made: Any, sort: str) -> None:
    about, rows, kept = made.description, np.arange(EXAMPLES), dict[Any, np.ndarray]()

    def value(right: np.ndarray, rows: np.ndarray = rows, more: int = 0) -> float:
        seen = outputs(sort, right, rows, more)
        # One array for all models that are scored on a split.
        seen["labels"] = kept.setdefault((rows.tobytes(), more), seen["labels"])
        before = copy.deepcopy(seen)
        raw = made.compute(seen)
        must(type(raw) in (float, int), f"compute gives a {type(raw).__name__}, no plain float")
        for name, entry in seen.items():
            must(np.array_equal(entry, before[name]), f"compute changes the outputs' '{name}'")
        return float(made.of(seen))  # in the range that it describes

    levels = [rows % 7 < n for n in (7, 5, 3, 0)]
    values = [value(right) for right in levels]
    steps = [about.better(more - less) for more, less in itertools.pairwise(values)]
    what = f"with all, 5/7, 3/7 and none right it is {', '.join(f'{v:.4g}' for v in values)}"
    must(values[0] != values[-1], f"{what}: nothing depends on the predictions")
    sign = "higher" if about.higher_is_better else "lower"
    must(min(steps) >= -1e-9, f"{what}, but {sign} is said to be better")
    best = about.highest if about.higher_is_better else about.lowest
    if about.highest is not None and best is not None:
        must(abs(values[0] - best) < 1e-9, f"{what}; perfect must be {best:g}, the best there is")
    order = np.random.default_rng(0).permutation(EXAMPLES)
    for right, expected in zip(levels, values, strict=True):
        value(right, rows[:3])  # few examples too are in range
        others = {
            "in another order": value(right, order),
            f"each {MANY} times": value(right, np.tile(rows, MANY)),
            "computed again": value(right),
        }
        if made.applies([*ANSWERS[sort][1], "B-Z"]):
            others["with a class that is nowhere"] = value(right, more=1)
        seen = outputs(sort, right, rows)
        # It may be paired by token, too.
        if about.paired and abs(seen["right_tokens"] / seen["tokens"] - expected) > 1e-9:
            others["by the mean of examples, which `paired` says it is"] = float(right.mean())
        for how, other in others.items():
            off = abs(other - expected) > 1e-9 * (1 + abs(expected))
            must(not off, f"{expected:.6g}, and {other:.6g} {how}")
    rounded = any(v % 1 for v in values) and all(v == round(v, 3) for v in values)
    must(not rounded, f"{what}: it is rounded, which is the report's business (`digits`)")
