"""Pairs of a source and its target, from an embedded task or a TSV file."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.data.sources.diagnostics.string_pairs import PARAMETERS, Pair, is_probe, make_pairs
from zoo.data.sources.split import TEST_SHARE
from zoo.errors import ZooError, nearest

DEFAULT = "reverse"


@dataclass(frozen=True)
class Pairs:
    """Training and test pairs, all with something on either side; no source is in both."""

    name: str
    train: list[Pair]
    test: list[Pair]
    notes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of pairs and split; the same on every machine."""
        digest = hashlib.sha256()
        for name, pairs in (("train", self.train), ("test", self.test)):
            digest.update(f"{name} {len(pairs)}:".encode())
            for text in (side for pair in pairs for side in pair):
                encoded = text.encode()
                digest.update(b"%d:" % len(encoded) + encoded)
        return digest.hexdigest()


def load_pairs(spec: str) -> Pairs:
    """The pairs of an embedded task, maybe with parameters, or of a TSV file.

    Raises ZooError where they cannot be had.
    """
    spec = spec.strip()
    if is_probe(spec):
        train, test = make_pairs(spec)
        return Pairs(spec, train, test, {"source": "built-in task", "split": "as written"})
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise ZooError(
            f"no pairs '{spec}', and no such file{nearest(spec, list(PARAMETERS))}; "
            "or a path of a TSV file, SOURCE<TAB>TARGET in every line"
        )
    return read_pairs(path)


def read_pairs(path: Path) -> Pairs:
    """A source and a target in every line, a tab between; a quarter of the sources are for test.

    Pairs of one source stay together. Raises ZooError, naming the line, for whatever is no pair.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not UTF-8: byte {error.start}") from error
    by_source: dict[str, list[Pair]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line.strip() and number == text.count("\n") + 1:
            continue  # after the last newline
        sides = line.split("\t")
        if len(sides) != 2:
            raise ZooError(
                f"{path}, line {number}: {len(sides) - 1} tabs, where SOURCE<TAB>TARGET has one"
            )
        source, target = (side.strip() for side in sides)
        if not source or not target:
            raise ZooError(
                f"{path}, line {number}: the {'target' if source else 'source'} is empty"
            )
        by_source.setdefault(source, []).append((source, target))
    sources = list(by_source)
    if len(sources) < 2:
        raise ZooError(f"{path} has {len(sources)} different sources; it takes two to hold one out")
    # Only random() is promised to stay the same from Python to Python.
    draw = random.Random(0).random
    held = set(sorted(sources, key=lambda _: draw())[: max(1, round(len(sources) * TEST_SHARE))])
    return Pairs(
        path.name,
        [pair for source in sources if source not in held for pair in by_source[source]],
        [pair for source in sources if source in held for pair in by_source[source]],
        {"split": f"by source, seed 0, {len(held)} of {len(sources)} for test"},
    )
