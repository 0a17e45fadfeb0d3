"""Kinds of components, how they are registered, and how a name becomes a choice."""

from __future__ import annotations

from zoo.registry.catalog import Registry
from zoo.registry.component import BUILT_IN, Choice, Component, Owner, PartSpec, Register
from zoo.registry.kinds import AXES, CAPABILITIES, KINDS

__all__ = [
    "AXES",
    "BUILT_IN",
    "CAPABILITIES",
    "KINDS",
    "Choice",
    "Component",
    "Owner",
    "PartSpec",
    "Register",
    "Registry",
]
