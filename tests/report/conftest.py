"""The random generator of all simulations, and a report that many tests read."""

import numpy as np
import pytest
from example import run

from zoo.report.run_report import RunReport


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def report() -> RunReport:
    """Of two cells that tie, one much worse and a better baseline; nobody changes it."""
    return RunReport(run())
