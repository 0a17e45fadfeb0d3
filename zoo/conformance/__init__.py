"""Conformance: small named checks of what a component of each kind promises.

A check states one thing that must hold, says for which components it applies, and fails with
numbers. ``zoo check`` and ``zoo.testing.parametrize_with_checks`` run the same ones. Importing
this package does not import torch; asking for the checks does.
"""

from __future__ import annotations

from zoo.conformance.base import Check, CheckFailed, CheckSkipped, Settings
from zoo.conformance.catalog import checks_of
from zoo.conformance.run import Result, counts, run_check, run_checks
from zoo.conformance.subjects import subjects

__all__ = [
    "Check",
    "CheckFailed",
    "CheckSkipped",
    "Result",
    "Settings",
    "checks_of",
    "counts",
    "run_check",
    "run_checks",
    "subjects",
]
