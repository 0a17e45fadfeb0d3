"""Conformance: a few mechanisms that hold each kind's parts to their contract.

A check is one mechanism, as it is applied to the parts of a kind; it fails with numbers.
``zoo check`` and ``zoo.testing.checks`` run the same ones. Importing this package imports no torch.
"""

from zoo.conformance.check import CheckResult, checks_of, counts, run_checks, select_choices
from zoo.conformance.outcomes import CheckSettings

__all__ = [
    "CheckResult",
    "CheckSettings",
    "checks_of",
    "counts",
    "run_checks",
    "select_choices",
]
