"""A pattern: components of one kind that take turns over the layers. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from zoo.registry.component import Choice


@dataclass(frozen=True)
class Pattern:
    """Layer i has choice i mod n: ``window(size=4)/fused``. Most patterns are one choice alone.

    written: the choices as they were given, where that was longer than ``choices``.
    """

    choices: tuple[Choice, ...]
    written: tuple[Choice, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, choices: Sequence[Choice]) -> Pattern:
        """The shortest pattern with these choices: ``fused/fused`` is ``fused``."""
        names = [str(choice) for choice in choices]
        lengths = range(1, len(names) + 1)
        shortest = next(n for n in lengths if names[:n] * (len(names) // n) == names)
        return cls(tuple(choices[:shortest]), tuple(choices) if shortest < len(choices) else ())

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
