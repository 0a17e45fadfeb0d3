"""A cell: components for every axis and layer, and which cells cannot work. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoo.errors import counted
from zoo.registry.catalog import Registry, layers_text
from zoo.registry.component import Choice, PartSpec
from zoo.registry.kinds import AXES, CAPABILITIES

if TYPE_CHECKING:
    from zoo.config.sizes import Sizes

# What an encoding may do in every layer, and an attention must then be able to do.
SLOTS = {
    "rotate": "rotate queries and keys",
    "bias": "add a score bias",
    "content-bias": "add a bias that depends on queries and keys",
}


# What is trained or measured, in plain values that every process can read: axis to the parts that
# take turns over the layers; or, of a baseline, ``{"baseline": (part,)}``.
ModelParts = Mapping[str, tuple[PartSpec, ...]]


def names_of(model: Mapping[str, Sequence[PartSpec | Choice]]) -> dict[str, str]:
    """Axis, or ``baseline``, to its parts as text."""
    return {kind: layers_text(parts) for kind, parts in model.items()}


def model_name(model: ModelParts) -> str:
    """The name of the row in tables."""
    return "+".join(names_of(model).values())


@dataclass(frozen=True)
class Cell:
    """One combination, with the components found.

    axes: axis to its choices; of n choices for an axis, layer i has i mod n. A model has one pool.
    """

    axes: Mapping[str, tuple[Choice, ...]]

    @classmethod
    def parse(cls, registry: Registry, names: Mapping[str, str]) -> Cell:
        """The cell whose axes have these names; ZooError where one is unknown."""
        return cls({axis: registry.layers(axis, names[axis]) for axis in AXES})

    @classmethod
    def resolve(cls, registry: Registry, parts: ModelParts) -> Cell:
        """The cell of these parts; ZooError where one is not among the components here."""
        return cls({a: tuple(registry.resolve(a, spec) for spec in parts[a]) for a in AXES})

    @property
    def parts(self) -> ModelParts:
        """The cell in plain values."""
        return {axis: tuple(c.spec for c in choices) for axis, choices in self.axes.items()}

    @property
    def names(self) -> dict[str, str]:
        """Axis to its choices, as text: what a record holds and what ``parse`` reads."""
        return names_of(self.axes)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All components that the cell is made of, axis by axis."""
        return tuple(choice for choices in self.axes.values() for choice in choices)

    def at(self, axis: str, layer: int) -> Choice:
        """The choice of a layer, counted from 0."""
        choices = self.axes[axis]
        return choices[layer % len(choices)]

    def __str__(self) -> str:
        return "+".join(self.names.values())

    def too_long(self, layers: int) -> str | None:
        """The first axis with more choices than there are layers, in words."""
        for axis, choices in self.axes.items():
            if len(choices) > layers:
                what = f"{axis} '{layers_text(choices)}' is a pattern of {len(choices)} components"
                return f"{what}, and the model has {counted(layers, 'layer')}"
        return None

    def bidirectional(self, needs: Mapping[str, Collection[str]]) -> bool:
        """Whether an encoder runs an attention of it in both directions, from either end.

        needs: axis to the capabilities that the task requires: an encoder is what needs no
        causal attention.
        """
        return "causal" not in needs.get("attention", ()) and any(
            choice.can("causal-only") for choice in self.axes["attention"]
        )

    def refusal(self, sizes: Sizes, needs: Mapping[str, Collection[str]]) -> str | None:
        """Why this cell cannot be built at these sizes; None where it can.

        Uses only declared capabilities: nothing is built. needs: axis to the
        capabilities that the task requires of its components.
        """
        if reason := self.too_long(sizes.layers):
            return reason
        for axis, capabilities in needs.items():
            for choice in self.axes[axis]:
                for capability in sorted(capabilities):
                    if not choice.can(capability):
                        return (
                            f"{choice} does not declare '{capability}', which the task needs "
                            f"({CAPABILITIES[axis][capability]})"
                        )
        for choice in self.axes["attention"]:
            if choice.can("causal-only") and "cross" in needs.get("attention", ()):
                return f"{choice} attends only to the past, and the task needs a cross-attention"
        if "causal" in needs.get("attention", ()):
            for ffn in self.axes["ffn"]:
                if ffn.can("neighbours") and not ffn.can("causal"):
                    return f"{ffn} reads later tokens too, which the task forbids"
        embedding = dict.fromkeys(str(choice) for choice in self.axes["pe"] if choice.can("embed"))
        if len(embedding) > 1:
            return f"only one encoding can add to the embeddings, not {' and '.join(embedding)}"
        # Later layers have the same pairs again.
        repeats = len(self.axes["attention"]) * len(self.axes["pe"])
        for layer in range(min(sizes.layers, repeats)):
            reason = _pair_refusal(self.at("attention", layer), self.at("pe", layer), sizes)
            if reason:
                return reason if repeats == 1 else f"{reason} (layer {layer + 1})"
        return None


def _pair_refusal(attention: Choice, pe: Choice, sizes: Sizes) -> str | None:
    """Why a layer cannot have this attention with this encoding; None where it can."""
    for slot, action in SLOTS.items():
        if pe.can(slot) and not attention.can(slot):
            return f"{attention} cannot {action}, which {pe} needs"
    heads = 1 if attention.can("one-head") else sizes.heads
    if sizes.dim % heads:
        return f"width {sizes.dim} is not divisible into {heads} heads"
    if pe.can("rotate") and sizes.dim // heads % 2:
        return f"{pe} needs an even head width, not {sizes.dim // heads}"
    return None
