"""The zoo's own conformance checks, of every attention and of those whose parameters matter."""

import pytest

from zoo.testing import checks

test_conforms = checks(distribution="zoo-efficient", without=["compiled"])


test_it_can_be_compiled = pytest.mark.slow(checks(distribution="zoo-efficient", only=["compiled"]))


test_conforms_with_parameters = checks(
    "attention/window(size=2)",
    "attention/nystrom(landmarks=4)",
    "attention/performer(features=3)",
    "attention/linformer(rank=2)",
    "attention/fourier(norm='backward')",
    without=["compiled"],
)
