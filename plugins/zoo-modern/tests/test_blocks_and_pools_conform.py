"""The zoo's own conformance checks, of every block and pool of this distribution."""

import pytest
from block_helpers import registry

from zoo.testing import checks

NAMES = [
    f"{kind}/{component.name}"
    for kind in ("block", "pool")
    for component in registry().components(kind)
    if component.owner.distribution == "zoo-modern"
]


test_conforms = checks(*NAMES, without=["compiled"])


test_it_can_be_compiled = pytest.mark.slow(checks(*NAMES, only=["compiled"]))


test_conforms_with_parameters = checks(
    "block/layer-scale(initial=1e-06)",
    "block/hyper-connections(streams=1)",
    "block/hyper-connections(streams=3, dynamic=False)",
    "block/drop-path(rate=0.2, schedule='uniform')",
    "block/parallel(shared_norm=True)",
    "pool/multi-query(queries=1, hidden=3)",
    without=["compiled"],
)
