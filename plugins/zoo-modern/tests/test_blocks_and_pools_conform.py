"""The zoo's own conformance checks, of every block and pool of this distribution."""

from block_helpers import registry

from zoo.conformance import CheckSettings
from zoo.testing import parametrize_with_checks

NAMES = [
    f"{kind}/{component.name}"
    for kind in ("block", "pool")
    for component in registry().components(kind)
    if component.owner.distribution == "zoo-modern"
]


@parametrize_with_checks(*NAMES, settings=CheckSettings(compile_backend="eager"))
def test_conforms(check):
    check()


@parametrize_with_checks(
    "block/layer-scale(initial=1e-06)",
    "block/hyper-connections(streams=1)",
    "block/hyper-connections(streams=3, dynamic=False)",
    "block/drop-path(rate=0.2, schedule='uniform')",
    "block/parallel(shared_norm=True)",
    "pool/multi-query(queries=1, hidden=3)",
    without=["compiled"],
)
def test_conforms_with_parameters(check):
    check()
