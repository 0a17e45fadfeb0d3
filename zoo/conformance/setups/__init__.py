"""Rigs: how the checks build a component of each kind, and what they feed it."""

from __future__ import annotations

import importlib

from zoo.conformance.base import Settings
from zoo.conformance.setups.base import Rig
from zoo.registry import Choice


def rig_of(choice: Choice, settings: Settings) -> Rig:
    """The rig for a choice's kind: ``zoo.conformance.setups.<kind>``'s class of that name."""
    kind = choice.component.kind
    module = importlib.import_module(f"zoo.conformance.setups.{kind}")
    name = {"pe": "PositionRig"}.get(kind, f"{kind.capitalize()}Rig")
    rig: Rig = getattr(module, name)(choice, settings)
    return rig
