"""Components of the literature pass every check: none of them is a false alarm."""

from __future__ import annotations

import pytest
from paper_models import with_papers
from specimens import run_check

from zoo.conformance.check import checks_of
from zoo.registry.loading import built_ins

REGISTRY = with_papers(built_ins())
# The others are parts of zoo-modern too, whose tests check them.
CHOICES = [
    REGISTRY.choose(kind, text)
    for kind, text in (
        ("attention", "score-residual"),
        ("attention", "shared-keys"),
        ("pe", "transformer-xl"),
        ("ffn", "shift"),
        ("block", "on-sphere"),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.component.kind}/{c}")
def test_a_right_component_passes(choice):
    for name in checks_of(choice.component.kind):
        result = run_check(choice, name)
        assert result.status != "failed", f"{name}: {result.message}"
