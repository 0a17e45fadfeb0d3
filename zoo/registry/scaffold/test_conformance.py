"""attention/my-attention obeys its contract: all checks of `zoo check`, in one test."""

from __future__ import annotations

from collections.abc import Callable

from zoo.testing import parametrize_with_checks


@parametrize_with_checks("attention/my-attention")
def test_conforms(check: Callable[[], None]) -> None:
    """Every check; ``expected_failures={"CHECK": "why"}`` excepts one that cannot pass."""
    check()
