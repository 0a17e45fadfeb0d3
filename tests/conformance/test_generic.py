"""Ten generic mutations of each built-in part are caught."""

from __future__ import annotations

import pytest
from generic import WAYS, mutant
from specimens import run_check

from zoo.registry import AXES, Choice
from zoo.registry.loading import built_ins

# Other mechanisms take seconds, or are asked of another process, which knows nothing of a mutant.
MECHANISMS = ("declares", "surroundings", "values", "purity", "slopes")
# What changes nothing: a mask and a causal flag that the parts of a kind do not read.
HARMLESS = {
    "pe": {"dropped_mask", "never_causal"},
    "norm": {"dropped_mask", "never_causal"},
    "ffn": {"dropped_mask", "never_causal"},
    "pool": {"never_causal"},
}
# A bias that nothing learns, and whose slopes are powers of two; a pool that needs no mask; a norm
# may give one number.
SURVIVE = {
    "pe/alibi": {"detached", "rounded"},
    "pool/cls": {"dropped_mask"},
    "norm/none": {"constant"},
}
PARTS = {
    name: component
    for kind in AXES
    for component in built_ins().components(kind)
    if (name := f"{kind}/{component.name}") not in ("pe/none", "ffn/none")  # with nothing to break
}
QUICK = ("attention/naive", "pe/rope", "norm/rms", "ffn/swiglu", "block/pre", "pool/mean")
MARKS = dict.fromkeys(QUICK, pytest.mark.parts)
PARAMETERS = [
    pytest.param(c, id=name, marks=MARKS.get(name, pytest.mark.slow)) for name, c in PARTS.items()
]


@pytest.mark.parametrize("component", PARAMETERS)
def test_generic_mutations_of_a_built_in_part_are_caught(component, monkeypatch):
    monkeypatch.setattr("zoo.conformance.purity._everywhere", lambda part: None)
    name = f"{component.kind}/{component.name}"
    harmless = HARMLESS.get(component.kind, set()) | SURVIVE.get(name, set())
    survivors = set()
    for way in WAYS:
        choice = mutant(Choice(component, component.name, {}), way)
        results = (run_check(choice, mechanism).status for mechanism in MECHANISMS)
        if way.__name__ not in harmless and "failed" not in results:
            survivors.add(way.__name__)
    assert not survivors
