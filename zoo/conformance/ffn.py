"""Checks of feed-forward networks."""

from __future__ import annotations

from zoo.conformance.assertions import must
from zoo.conformance.check import check, needs
from zoo.conformance.setups.position_wise_setup import FFNSetup
from zoo.conformance.setups.setup import DIM, HIDDEN
from zoo.registry import Choice


@check("ffn", applies=needs("gated"))
def parameter_count(setup: FFNSetup) -> None:
    """With default parameters, a gated one has as many weights as a plain one."""
    # A parameter may make it wider, which is then what the user wants.
    bare = FFNSetup(Choice(setup.choice.component, setup.choice.label), setup.settings)
    count = sum(parameter.numel() for parameter in bare.build().parameters())
    plain = 2 * DIM * HIDDEN
    # The hidden width may be rounded by one unit, and there may be biases.
    slack = 3 * DIM + 2 * HIDDEN + DIM
    must(
        abs(count - plain) <= slack,
        f"{count} parameters, where a plain one has {plain} without biases and "
        f"{slack} more or less are allowed",
    )
