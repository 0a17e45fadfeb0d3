"""Pairs of a source and its target text, from a built-in task or a TSV file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.data.sources.corpus import split_digest
from zoo.data.sources.registered import build_registered, find_registered
from zoo.data.sources.text_encoding import read_utf8
from zoo.data.sources.train_test_split import stratified
from zoo.errors import ZooError, nearest
from zoo.registry import Registry

DEFAULT = "reverse"
Pair = tuple[str, str]


@dataclass(frozen=True)
class Pairs:
    """Training and test pairs; no side is empty, and no source is in both splits."""

    name: str
    train: list[Pair]
    test: list[Pair]
    notes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of pairs and split; the same on every machine."""
        return split_digest({"train": self.train, "test": self.test})


def load_pairs(spec: str, registry: Registry) -> Pairs:
    """The pairs of registered data, with or without parameters, or of a TSV file.

    Raises ZooError where they cannot be loaded.
    """
    spec = spec.strip()
    if choice := find_registered(registry, spec):
        return build_registered(choice, Pairs)
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        known = [registry.label(c) for c in registry.components("data") if c.can("pairs")]
        raise ZooError(
            f"no pairs '{spec}', and no such file{nearest(spec, known)}; "
            "or a path of a TSV file, SOURCE<TAB>TARGET in every line"
        )
    return read_pairs(path)


def read_pairs(path: Path) -> Pairs:
    """A source and a target in every line, separated by a tab; a quarter of the sources for test.

    All pairs of one source are in the same split. Raises ZooError, naming the line, for a line
    that is not a pair.
    """
    lines = read_utf8(path).split("\n")
    if not lines[-1].strip():
        lines.pop()  # after the last newline
    by_source: dict[str, list[Pair]] = {}
    for number, line in enumerate(lines, start=1):
        sides = line.removesuffix("\r").split("\t")
        if len(sides) != 2:
            raise ZooError(
                f"{path}, line {number}: {len(sides) - 1} tabs, where SOURCE<TAB>TARGET has one"
            )
        source, target = (side.strip() for side in sides)
        if not source or not target:
            side = "target" if source else "source"
            raise ZooError(f"{path}, line {number}: the {side} is empty")
        by_source.setdefault(source, []).append((source, target))
    groups = list(by_source.values())
    if len(groups) < 2:
        raise ZooError(f"{path} has {len(groups)} different sources; a test split needs two")
    train, test = stratified([""] * len(groups), seed=0)
    return Pairs(
        path.name,
        [pair for index in train for pair in groups[index]],
        [pair for index in test for pair in groups[index]],
        {"split": f"by source, seed 0, {len(test)} of {len(groups)} for test"},
    )
