"""A cell: one component of every axis, and which cells cannot work. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from zoo.registry import Choice, Registry

Task = Literal["classify", "lm", "seq2seq"]


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

    def obstacle(self, dim: int, heads: int, task: Task = "classify") -> str:
        """Why this cell cannot be built at this size for this task; empty where it can.

        Known from declared capabilities alone, before anything is built. task: ``lm`` wants a
        causal stack, ``seq2seq`` one with cross-attention as well.
        """
        if task != "classify" and not self.attention.can("causal"):
            return f"{self.attention} cannot attend to the past alone, as a decoder must"
        if task == "seq2seq" and not self.attention.can("cross"):
            return f"{self.attention} takes no keys and values from an encoder"
        if task == "seq2seq" and not self.block.can("cross"):
            return f"{self.block} has no place for cross-attention"
        for slot, doing in (("rotate", "rotate queries and keys"), ("bias", "add a score bias")):
            if self.pe.can(slot) and not self.attention.can(slot):
                return f"{self.attention} cannot {doing}, as {self.pe} asks"
        if not self.attention.can("padding"):
            return f"{self.attention} does not honour padding, and texts differ in length"
        if not self.attention.can("one-head") and dim % heads:
            return f"width {dim} does not divide into {heads} heads"
        if self.pe.can("rotate") and self.head_dim(dim, heads) % 2:
            return f"{self.pe} needs an even head width, not {self.head_dim(dim, heads)}"
        return ""
