"""The zoo's own checks of the encodings, norms and networks, and of parameters that matter."""

import pytest

from zoo.testing import component_checks, parametrize_with_checks

KINDS = ("pe", "norm", "ffn")
OWN = [
    checks.component
    for checks in component_checks(distribution="zoo-modern")
    if checks.component.partition("/")[0] in KINDS
]


@parametrize_with_checks(*OWN, without=["compiled"])
def test_conforms(check):
    check()


@pytest.mark.slow
@parametrize_with_checks(*OWN, only=["compiled"])
def test_it_can_be_compiled(check):
    check()


@parametrize_with_checks(
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
def test_conforms_with_parameters(check):
    check()
