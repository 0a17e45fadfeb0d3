"""Rigs: how the checks build a component of each kind, and what they feed it."""

from __future__ import annotations

import importlib

from zoo.checks.base import Settings
from zoo.checks.rigs.base import Rig
from zoo.registry import Choice


def rig_of(choice: Choice, settings: Settings) -> Rig:
    """The rig for a choice's kind: ``zoo.checks.rigs.<kind>``'s class of that name."""
    kind = choice.component.kind
    module = importlib.import_module(f"zoo.checks.rigs.{kind}")
    name = {"pe": "PositionRig"}.get(kind, f"{kind.capitalize()}Rig")
    rig: Rig = getattr(module, name)(choice, settings)
    return rig
