"""attention/my-attention obeys its contract: all checks of `zoo check`, in one test."""

from __future__ import annotations

from collections.abc import Callable

from zoo.testing import parametrize_with_checks

# A check that cannot pass, and why, as {"parameters": "why"}. As with pytest's strict xfail, it
# must then fail: if it passes, the test fails, and the entry can go.
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks("attention/my-attention", expected_failures=EXPECTED_FAILURES)
def test_conforms(check: Callable[[], None]) -> None:
    """One check."""
    check()
