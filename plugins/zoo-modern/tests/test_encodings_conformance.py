"""The zoo's own checks of the encodings, norms and networks, and of parameters that matter."""

import pytest

from zoo.testing import checks, component_checks

KINDS = ("pe", "norm", "ffn")
OWN = [
    check.component
    for check in component_checks(distribution="zoo-modern")
    if check.component.partition("/")[0] in KINDS
]


test_conforms = checks(*OWN, without=["compiled"])


test_it_can_be_compiled = pytest.mark.slow(checks(*OWN, only=["compiled"]))


test_conforms_with_parameters = checks(
    "pe/t5(bidirectional=False)",
    "pe/kerple(kernel='power')",
    "pe/fire(threshold=20.0)",
    "pe/cope(positions=3)",
    "pe/shaw(reach=2)",
    "pe/rope-partial(share=1.0)",
    "pe/rope-random(length=20)",
    "pe/yarn(factor=2.0, length=100)",
    "ffn/moe(experts=3, active=2)",
    "ffn/geglu(matched=False)",
    "norm/group(groups=2)",
    without=["compiled"],
)
