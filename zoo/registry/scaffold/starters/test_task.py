"""task/my-task trains on the loss that it says."""

from __future__ import annotations

import pytest
import torch

from zoo.registry.scaffold.starters.task import flooded


@pytest.mark.parametrize(("loss", "expected"), [(0.3, 0.3), (0.1, 0.1), (0.02, 0.18)])
def test_below_its_level_the_loss_rises_again(loss: float, expected: float) -> None:
    """By as much as it is below."""
    assert flooded(torch.tensor(loss), 0.1).item() == pytest.approx(expected)


def test_without_a_level_the_loss_stays_as_it_is() -> None:
    """A level of 0 is none."""
    assert flooded(torch.tensor(0.3), 0.0).item() == pytest.approx(0.3)
