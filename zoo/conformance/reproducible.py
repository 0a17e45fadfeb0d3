"""Checks that components are the same everywhere, and that data depend on what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from zoo.conformance.assertions import close, must
from zoo.conformance.baseline import (
    LABELS,
    MIXED,
    PLACES,
    TAGS,
    TEXTS,
    TOKENS,
    VOCAB_SIZE,
    WINDOWS,
    BaselineSetup,
)
from zoo.conformance.check import CheckSettings, check, checks_of
from zoo.conformance.elsewhere import elsewhere
from zoo.conformance.experiment import DataSetup
from zoo.conformance.setup import ModuleSetup, Setup
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError
from zoo.registry import AXES, Choice

# The share of a class's texts that have its label in them, where a label is written into texts.
WRITTEN, ELSEWHERE = 0.95, 0.05


@check("data")
def everywhere(setup: DataSetup) -> None:
    """With another hash seed, folder, date and random state it gives the same documents."""
    setup.corpus()
    found = elsewhere(setup, "zoo.conformance.elsewhere_process:fingerprint")
    what = "two processes with other hash seeds, folders, dates and random states load other data"
    must(len(found) == 1, f"{what}: sort sets, and draw from random.Random(seed)")


@check("data")
def parameters_act(setup: DataSetup) -> None:
    """Every parameter that is a number or a switch changes the data, or refuses other values."""
    plain, component = setup.corpus().fingerprint, setup.choice.component
    for name, default in component.parameters.items():
        prints = []
        for value in _others(default):
            given = {**setup.choice.given, name: value}
            try:
                prints.append(Choice(component, setup.choice.label, given).build().fingerprint)
            except (ZooError, ValueError):
                continue
            if prints[-1] != plain:
                break
        ignored = bool(prints) and set(prints) == {plain}
        must(not ignored, f"'{name}' changes nothing: other values give the same documents")


def _others(default: object) -> Iterator[object]:
    """Other values of a parameter, near its default first."""
    if isinstance(default, bool):
        yield not default
    elif isinstance(default, int):
        yield from (default + 1, 2 * default + 1, max(1, default // 2))
    elif isinstance(default, float):
        yield from (default / 2, min(2 * default, (1 + default) / 2))


@check("data", needs="text-labels")
def label_in_text(setup: DataSetup) -> None:
    """No text has its own label written into it."""
    loaded = setup.corpus()
    assert isinstance(loaded, Corpus)
    texts = [*loaded.train_texts, *loaded.test_texts]
    labels = [*loaded.train_labels, *loaded.test_labels]
    words = [set(re.findall(r"\w+", text.lower().replace("_", " "))) for text in texts]
    forms = {
        "name": [name.lower().replace("_", " ") for name in loaded.label_names],
        "number": [str(number) for number in range(len(loaded.label_names))],
    }
    for form, marks in forms.items():
        shares = [
            (_share(words, labels, number, mark, True), _share(words, labels, number, mark, False))
            for number, mark in enumerate(marks)
        ]
        written = all(own >= WRITTEN and others <= ELSEWHERE for own, others in shares)
        must(not written, f"nearly every text has the {form} of its class in it, and no other's")


def _share(words: list[set[str]], labels: list[int], number: int, mark: str, own: bool) -> float:
    """The share of the texts of a class, or of all others, that have all words of the mark."""
    wanted = set(re.findall(r"\w+", mark))
    of = [w for w, label in zip(words, labels, strict=True) if (label == number) == own]
    return sum(bool(wanted) and wanted <= found for found in of) / max(1, len(of))


def _of_fitted(choice: Choice) -> str | None:
    return "it is trained like a cell" if choice.can("tokens") else None


def fit_and_predict(choice: Choice, seed: int = 0) -> str:
    """What a baseline of this choice, newly fitted, predicts for made-up data, as text."""
    import random

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    model: Any = _built(choice)
    _fit(choice, model, turned=False)
    return _predicted(choice, model)


def _built(choice: Choice) -> Any:
    by_ids = choice.can("stream") or choice.can("masked")
    return choice.build(vocab_size=VOCAB_SIZE) if by_ids else choice.build()


def _fit(choice: Choice, model: Any, *, turned: bool) -> None:
    """Fit to made-up data; turned: to data of the same sort with other answers."""
    if choice.can("stream"):
        ids = np.tile(np.arange(VOCAB_SIZE), 6)
        model.fit(ids[::-1].copy() if turned else ids)
    elif choice.can("masked"):
        model.fit([ids[::-1].copy() for ids in WINDOWS] if turned else WINDOWS)
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


def weights_and_outputs(choice: Choice) -> str:
    """Everything that a module holds, and gives in each of its cases, as text."""
    checks_of(choice.component.kind)  # imports the set-ups
    setup = Setup.of_kind[choice.component.kind](choice, CheckSettings())
    assert isinstance(setup, ModuleSetup)
    with torch.no_grad():
        module = setup.build()
        outputs = {case.name: case(module) for case in setup.cases()}
    found = {**module.state_dict(), **outputs}
    return json.dumps({name: (tensor.double() + 0.0).tolist() for name, tensor in found.items()})


@check(*AXES, name="same-everywhere")
def same_module_everywhere(setup: ModuleSetup) -> None:
    """With another hash seed, folder, date and random state it is built and computes the same."""
    setup.build()  # raises where there is nothing to build, and so nothing to compare
    found = elsewhere(setup, "zoo.conformance.reproducible:weights_and_outputs")
    first, *others = map(json.loads, found)
    what = "two processes with other hash seeds, folders, dates and random states"
    for other in others:
        must(list(first) == list(other), f"{what} build it with other weights or buffers")
        for name, values in first.items():
            how = f"{what} differ in '{name}': sort sets, and use no hash()"
            close(torch.tensor(other[name]), torch.tensor(values), how)


@check("baseline", applies=_of_fitted)
def same_everywhere(setup: BaselineSetup) -> None:
    """Fitted in processes with other hash seeds, folders and dates, it predicts the same."""
    found = elsewhere(setup, "zoo.conformance.reproducible:fit_and_predict")
    what = "two processes with other hash seeds, folders and dates give other predictions"
    must(len(found) == 1, f"{what}: sort sets, and use no hash()")


@check("baseline", applies=_of_fitted)
def refitted(setup: BaselineSetup) -> None:
    """Fitted again to other data, it is as if it had never seen the first."""
    expected, model = fit_and_predict(setup.choice), _built(setup.choice)
    _fit(setup.choice, model, turned=True)
    _fit(setup.choice, model, turned=False)
    found = _predicted(setup.choice, model)
    must(found == expected, "fitted a second time, it remembers the data of the first")


@check("baseline", needs="stream")
def looks_ahead(setup: BaselineSetup) -> None:
    """What it says of a token depends on those before it, and never on later ones."""
    model = setup.make()
    model.fit(np.tile(np.arange(VOCAB_SIZE), 6))
    ids = np.random.default_rng(0).integers(VOCAB_SIZE, size=40)
    ids[:20] = np.arange(20)
    whole = model.nats(ids)
    for end in (2, 10, 25, 39):
        off = float(np.abs(model.nats(ids[:end]) - whole[: end - 1]).max())
        must(off < 1e-9, f"the nats of the first {end} tokens change by {off:.3g} with later ones")
