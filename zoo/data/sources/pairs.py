"""Pairs of a source and its target text, from a built-in task or a TSV file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.config.reading import TextReading, given_flags
from zoo.data.sources.corpus import split_digest
from zoo.data.sources.registered import build_registered, find_registered
from zoo.data.sources.text_encoding import read_text
from zoo.data.sources.train_test_split import stratified
from zoo.data.sources.usable_rows import dropped_rows, listed
from zoo.errors import ZooError, nearest
from zoo.registry import Registry

DEFAULT = "reverse"
READ_ALL = TextReading()
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


def load_pairs(
    spec: str,
    registry: Registry,
    reading: TextReading = READ_ALL,
    notices: list[str] | None = None,
) -> Pairs:
    """The pairs of registered data, with or without parameters, or of a TSV file.

    notices: what a user should know of a file is added to it. Raises ZooError where they cannot be
    loaded.
    """
    spec = spec.strip()
    if choice := find_registered(registry, spec):
        if given := given_flags(reading):
            raise ZooError(f"{listed(given.values())}: for files, and '{spec}' is none")
        return build_registered(choice, Pairs)
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise no_such_pairs(registry, spec)
    return read_pairs(path, reading, notices)


def no_such_pairs(registry: Registry, spec: str) -> ZooError:
    """The error for a spec that is no pairs, with the nearest registered name."""
    known = [registry.label(c) for c in registry.components("data") if c.can("pairs")]
    return ZooError(
        f"no pairs '{spec}', and no such file{nearest(spec, known)}; "
        "or a path of a TSV file, SOURCE<TAB>TARGET in every line"
    )


def read_pairs(
    path: Path, reading: TextReading = READ_ALL, notices: list[str] | None = None
) -> Pairs:
    """A source and a target in every line, separated by a tab; a quarter of the sources for test.

    All pairs of one source are in the same split. reading, notices: as of ``load_pairs``. Raises
    ZooError, naming the line, for a line that is not a pair, if it is not to be left out.
    """
    told: list[str] = []
    lines = read_text(path, reading.encoding, told).split("\n")
    if not lines[-1].strip():
        lines.pop()  # after the last newline
    by_source: dict[str, list[Pair]] = {}
    bad: dict[str, ZooError] = {}
    for number, line in enumerate(lines, start=1):
        try:
            pair = _pair(f"{path}, line {number}", line.removesuffix("\r"))
        except ZooError as error:
            if not reading.drop_bad_rows:
                raise
            bad[f"line {number}"] = error
        else:
            by_source.setdefault(pair[0], []).append(pair)
    if bad:
        told.append(dropped_rows(str(path), bad, len(lines)))
    if notices is not None:
        notices += told
    groups = list(by_source.values())
    if len(groups) < 2:
        raise ZooError(f"{path} has {len(groups)} different sources; a test split needs two")
    train, test = stratified([""] * len(groups), seed=0)
    return Pairs(
        path.name,
        [pair for index in train for pair in groups[index]],
        [pair for index in test for pair in groups[index]],
        {
            "split": f"by source, seed 0, {len(test)} of {len(groups)} for test",
            **({"reading": "; ".join(told).replace(str(path), path.name)} if told else {}),
        },
    )


def _pair(where: str, line: str) -> Pair:
    sides = line.split("\t")
    if len(sides) != 2:
        raise ZooError(f"{where}: {len(sides) - 1} tabs, where SOURCE<TAB>TARGET has one")
    source, target = (side.strip() for side in sides)
    if not source or not target:
        raise ZooError(f"{where}: the {'target' if source else 'source'} is empty")
    return source, target
