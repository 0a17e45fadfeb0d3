"""The zoo's own conformance checks, of every attention and of those whose parameters matter."""

import pytest

from zoo.testing import parametrize_with_checks


@parametrize_with_checks(distribution="zoo-efficient", without=["compiled"])
def test_conforms(check):
    check()


@pytest.mark.slow
@parametrize_with_checks(distribution="zoo-efficient", only=["compiled"])
def test_it_can_be_compiled(check):
    check()


@parametrize_with_checks(
    "attention/window(size=2)",
    "attention/nystrom(landmarks=4)",
    "attention/performer(features=3)",
    "attention/linformer(rank=2)",
    "attention/fourier(norm='backward')",
    without=["compiled"],
)
def test_conforms_with_parameters(check):
    check()
