"""The zoo's own conformance checks, of every attention here and of those with parameters."""

import pytest
from mixers_helpers import CAUSAL_ONLY, NAMES

from zoo.testing import checks

ATTENTIONS = [f"attention/{name}" for name in NAMES]


test_conforms = checks(*ATTENTIONS, without=["compiled"])


test_it_can_be_compiled = pytest.mark.slow(checks(*ATTENTIONS, only=["compiled"]))


test_conforms_with_parameters = checks(
    "attention/gqa(kv_heads=1)",
    "attention/mla(kv_rank=3, q_rank=5)",
    "attention/qk-norm(norm='layer')",
    "attention/gated(gate='headwise')",
    "attention/mamba2(state=3, expand=1, size=1)",
    "attention/gla(rank=2)",
    "attention/short-conv(size=2)",
    without=["compiled"],
)


def test_all_are_registered_and_say_where_they_come_from():
    from zoo.registry.loading import load

    found = [
        component
        for component in load().registry.components("attention")
        if component.owner.distribution == "zoo-modern"
    ]
    assert {component.name for component in found} == set(NAMES)
    assert all("https://" in component.source and component.summary for component in found)
    alone = {component.name for component in found if "causal-only" in component.capabilities}
    assert alone == set(CAUSAL_ONLY)
