"""A cell: one component of every axis, and which cells cannot work. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from zoo.registry import CAPABILITIES, Choice, Registry


@dataclass(frozen=True)
class Cell:
    """One combination of choices."""

    attention: Choice
    pe: Choice
    norm: Choice
    ffn: Choice
    block: Choice
    pool: Choice

    @classmethod
    def parse(cls, registry: Registry, names: dict[str, str]) -> Cell:
        """The cell whose choices have these names; ZooError where one is unknown."""
        return cls(**{axis: registry.choose(axis, name) for axis, name in names.items()})

    @property
    def names(self) -> dict[str, str]:
        """Axis to choice, as text: what a record holds and what ``parse`` reads."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        return "+".join(self.names.values())

    def head_dim(self, dim: int, heads: int) -> int:
        """The width of one head of this cell's attention."""
        return dim if self.attention.can("one-head") else dim // heads

    def obstacle(self, dim: int, heads: int, needs: Mapping[str, Collection[str]]) -> str:
        """Why this cell cannot be built at this size; empty where it can.

        Uses only declared capabilities: nothing is built. needs: axis to the
        capabilities that the task requires of its component.
        """
        for axis, capabilities in needs.items():
            choice: Choice = getattr(self, axis)
            for capability in sorted(capabilities):
                if not choice.can(capability):
                    return (
                        f"{choice} does not declare '{capability}', which the task needs "
                        f"({CAPABILITIES[axis][capability]})"
                    )
        for slot, action in (("rotate", "rotate queries and keys"), ("bias", "add a score bias")):
            if self.pe.can(slot) and not self.attention.can(slot):
                return f"{self.attention} cannot {action}, which {self.pe} needs"
        if not self.attention.can("one-head") and dim % heads:
            return f"width {dim} is not divisible into {heads} heads"
        if self.pe.can("rotate") and self.head_dim(dim, heads) % 2:
            return f"{self.pe} needs an even head width, not {self.head_dim(dim, heads)}"
        return ""
