"""Checks of feed-forward networks."""

from __future__ import annotations

from zoo.conformance.base import check, needs
from zoo.conformance.compare import must
from zoo.conformance.setups.base import DIM, HIDDEN
from zoo.conformance.setups.ffn import FfnRig
from zoo.registry import Choice


@check("ffn", applies=needs("gated"))
def parameter_count(rig: FfnRig) -> None:
    """As it comes, a gated one has as many parameters as the plain one it is compared with."""
    # As it comes: a parameter may ask for more, and then has been asked.
    bare = FfnRig(Choice(rig.choice.component, rig.choice.label), rig.settings)
    count = sum(parameter.numel() for parameter in bare.build().parameters())
    plain = 2 * DIM * HIDDEN
    # One unit more or less in the width, and any biases, are no matter.
    slack = 3 * DIM + 2 * HIDDEN + DIM
    must(
        abs(count - plain) <= slack,
        f"{count} parameters, where a plain one has {plain} beside its biases and "
        f"{slack} more or less are allowed",
    )
