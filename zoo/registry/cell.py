"""A cell: components for every axis and layer, and which cells cannot work. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from zoo.errors import counted
from zoo.registry.component import Choice
from zoo.registry.kinds import AXES, CAPABILITIES

if TYPE_CHECKING:
    from zoo.config.sizes import Sizes
    from zoo.registry.catalog import Registry

# What an encoding may do in every layer, and an attention must then be able to do.
SLOTS = {
    "rotate": "rotate queries and keys",
    "bias": "add a score bias",
    "content-bias": "add a bias that depends on queries and keys",
}


@dataclass(frozen=True)
class Pattern:
    """Layer i has choice i mod n: ``window(size=4)/fused``. Most patterns are one choice alone."""

    choices: tuple[Choice, ...]

    @classmethod
    def of(cls, choices: Sequence[Choice]) -> Pattern:
        """The shortest pattern with these choices: ``fused/fused`` is ``fused``."""
        names = [str(choice) for choice in choices]
        lengths = range(1, len(names) + 1)
        shortest = next(n for n in lengths if names[:n] * (len(names) // n) == names)
        return cls(tuple(choices[:shortest]))

    def at(self, layer: int) -> Choice:
        """The choice of a layer, counted from 0."""
        return self.choices[layer % len(self.choices)]

    def can(self, *capabilities: str) -> bool:
        """Whether every one of the components declares every one of the capabilities."""
        return all(choice.can(*capabilities) for choice in self.choices)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __str__(self) -> str:
        return "/".join(map(str, self.choices))


@dataclass(frozen=True)
class Cell:
    """One combination: for every axis the pattern of its components over the layers.

    A model has one pool, so its pattern is one component.
    """

    attention: Pattern
    pe: Pattern
    norm: Pattern
    ffn: Pattern
    block: Pattern
    pool: Pattern

    @classmethod
    def parse(cls, registry: Registry, names: Mapping[str, str]) -> Cell:
        """The cell whose patterns have these names; ZooError where one is unknown."""
        return cls(**{axis: registry.pattern(axis, name) for axis, name in names.items()})

    @property
    def names(self) -> dict[str, str]:
        """Axis to pattern, as text: what a record holds and what ``parse`` reads."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All components that the cell is made of, axis by axis."""
        return tuple(choice for field in fields(self) for choice in getattr(self, field.name))

    def __str__(self) -> str:
        return "+".join(self.names.values())

    def too_long(self, layers: int) -> str:
        """The first pattern with more components than there are layers; empty where none has."""
        for axis in AXES:
            pattern: Pattern = getattr(self, axis)
            if len(pattern) > layers:
                what = f"{axis} '{pattern}' is a pattern of {len(pattern)} components"
                return f"{what}, and the model has {counted(layers, 'layer')}"
        return ""

    def bidirectional(self, needs: Mapping[str, Collection[str]]) -> bool:
        """Whether an encoder runs an attention of it in both directions, from either end.

        needs: axis to the capabilities that the task requires: an encoder is what needs no
        causal attention.
        """
        return "causal" not in needs.get("attention", ()) and any(
            choice.can("causal-only") for choice in self.attention
        )

    def refusal(self, sizes: Sizes, needs: Mapping[str, Collection[str]]) -> str:
        """Why this cell cannot be built at these sizes; empty where it can.

        Uses only declared capabilities: nothing is built. needs: axis to the
        capabilities that the task requires of its components.
        """
        if reason := self.too_long(sizes.layers):
            return reason
        for axis, capabilities in needs.items():
            for choice in getattr(self, axis):
                for capability in sorted(capabilities):
                    if not choice.can(capability):
                        return (
                            f"{choice} does not declare '{capability}', which the task needs "
                            f"({CAPABILITIES[axis][capability]})"
                        )
        for choice in self.attention:
            if choice.can("causal-only") and "cross" in needs.get("attention", ()):
                return f"{choice} attends only to the past, and the task needs a cross-attention"
        if "causal" in needs.get("attention", ()):
            for ffn in self.ffn:
                if ffn.can("neighbours") and not ffn.can("causal"):
                    return f"{ffn} reads later tokens too, which the task forbids"
        embedding = dict.fromkeys(str(choice) for choice in self.pe if choice.can("embed"))
        if len(embedding) > 1:
            return f"only one encoding can add to the embeddings, not {' and '.join(embedding)}"
        repeats = len(self.attention) * len(self.pe)  # later layers have the same pairs again
        for layer in range(min(sizes.layers, repeats)):
            reason = _pair_refusal(self.attention.at(layer), self.pe.at(layer), sizes)
            if reason:
                return reason if repeats == 1 else f"{reason} (layer {layer + 1})"
        return ""


def head_dim(attention: Choice, sizes: Sizes) -> int:
    """The width of one head of this attention."""
    return sizes.dim if attention.can("one-head") else sizes.dim // sizes.heads


def _pair_refusal(attention: Choice, pe: Choice, sizes: Sizes) -> str:
    """Why a layer cannot have this attention with this encoding; empty where it can."""
    for slot, action in SLOTS.items():
        if pe.can(slot) and not attention.can(slot):
            return f"{attention} cannot {action}, which {pe} needs"
    if not attention.can("one-head") and sizes.dim % sizes.heads:
        return f"width {sizes.dim} is not divisible into {sizes.heads} heads"
    if pe.can("rotate") and head_dim(attention, sizes) % 2:
        return f"{pe} needs an even head width, not {head_dim(attention, sizes)}"
    return ""
