"""Components of the literature pass every check: none of them is a false alarm."""

from __future__ import annotations

import pytest
from paper_models import with_papers

from zoo.conformance import checks_of, run_check
from zoo.registry import Choice
from zoo.registry.loading import built_ins

REGISTRY = with_papers(built_ins())
CHOICES = [
    Choice(component, component.name)
    for kind in ("attention", "pe", "ffn", "block", "pool")
    for component in REGISTRY.components(kind)
    if component.owner.distribution == "papers"
]
CHOICES += [
    REGISTRY.choose("attention", text)
    for text in ("bidirectional(gla)", "bidirectional(short-conv(size=2), merge='concat')")
]
# What takes long: compiling, finite differences, long texts, many draws, whole models.
LONG = {"compiled", "gradcheck", "padding-invariance", "causality", "empty-documents"}
LONG |= {"dropout-scale", "length", "precision", "context", "assembles", "permutation"}


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.component.kind}/{c}")
def test_a_right_component_passes(choice: Choice, pytestconfig: pytest.Config) -> None:
    for name in checks_of(choice.component.kind):
        if name in LONG and not pytestconfig.getoption("--slow"):
            continue
        result = run_check(choice, name)
        assert result.status != "failed", f"{name}: {result.message}"
