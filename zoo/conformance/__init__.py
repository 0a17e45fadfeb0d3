"""Conformance: small named checks of the contract of each kind.

A check states one claim, says for which components it applies, and fails with numbers.
``zoo check`` and ``zoo.testing.parametrize_with_checks`` run the same ones. Importing this package
does not import torch; ``checks_of`` does.
"""

from __future__ import annotations

from zoo.conformance.check import (
    CheckResult,
    checks_of,
    consequences,
    consequences_line,
    counts,
    result_lines,
    run_checks,
    select_choices,
)
from zoo.conformance.outcomes import CheckSettings

__all__ = [
    "CheckResult",
    "CheckSettings",
    "checks_of",
    "consequences",
    "consequences_line",
    "counts",
    "result_lines",
    "run_checks",
    "select_choices",
]
