"""The zoo's own conformance checks, of every attention and of those whose parameters matter."""

from zoo.conformance import CheckSettings
from zoo.testing import parametrize_with_checks


@parametrize_with_checks(
    distribution="zoo-efficient", settings=CheckSettings(compile_backend="eager")
)
def test_conforms(check):
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
