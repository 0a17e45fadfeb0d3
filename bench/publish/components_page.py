"""The page of timings of single components, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.commit import commit_sentence
from bench.components.timings import FILE, Timing, read
from bench.publish.markdown import grid, link
from zoo.report.tables.text import code

COMPONENTS = "components"  # their folder among the published results; in it one for each machine
WAYS = ("forward", "backward")
ABOUT = """\
# Single components

Each part by itself, measured by `pytest bench --benchmark-only`: median seconds of a call with
gradients enabled, and of computing the gradients of its inputs and weights. Texts have between half
of the length and all of it. An encoding is timed in all its places (embeddings, queries, scores), a
block with fused attention, GELU and layer norms, a baseline whole. *IQR*: the widest interquartile
range of a row, as a share of its median. Parts are measured one after another and not in turns, so
that small differences mean nothing; how whole models compare is in the tables of runs."""


def components_places(source: Path) -> list[str]:
    """The folders of published timings, relative to the published directory."""
    return sorted(
        file.parent.relative_to(source).as_posix()
        for file in (source / COMPONENTS).glob(f"*/{FILE}")
    )


def components_page(directory: Path) -> str:
    """The page of one machine. Raises ZooError where the file is not one of timings."""
    environment, timings = read(directory)
    sizes = "; ".join(f"*{name}*: {shape}" for name, shape in environment.sizes.items())
    commit = commit_sentence([environment.commit])
    parts = [
        ABOUT,
        f"Sizes: {sizes}. Machine: {environment.machine}, {environment.threads} threads, torch "
        f"{environment.torch}. {commit} Measured {environment.measured}. The numbers: "
        f"{link(FILE, FILE)}.",
    ]
    for kind in dict.fromkeys(timing.kind for timing in timings):
        own = sorted((t for t in timings if t.kind == kind), key=_total)
        parts += [f"## {kind}", grid([_row(timing, list(environment.sizes)) for timing in own])]
    return "\n\n".join(parts) + "\n"


def components_link(source: Path, above: str = "") -> str:
    """A sentence that leads to the pages; above: the path to the published directory."""
    places = components_places(source)
    if not places:
        return "Forward and backward passes of every part by itself are not measured yet."
    links = [link(Path(place).name, f"{above}{place}/README.md") for place in places]
    return f"Forward and backward passes of every part by itself: {', '.join(links)}."


def _row(timing: Timing, sizes: Sequence[str]) -> dict[str, str]:
    shown = {"part": code(timing.component), "from": timing.distribution}
    for size in sizes:
        for way in WAYS:
            pair = timing.seconds.get(size, {}).get(way)
            shown[f"{size}, {way}"] = "" if pair is None else _seconds(pair[0])
    pairs = [pair for ways in timing.seconds.values() for pair in ways.values()]
    shown["IQR"] = f"{max(iqr / median for median, iqr in pairs):.0%}"
    return shown


def _total(timing: Timing) -> float:
    """Seconds of both ways at the last size that was measured, which is the largest."""
    *_, ways = timing.seconds.values()
    return sum(median for median, _ in ways.values())


def _seconds(value: float) -> str:
    """``12.3 µs``, ``4.56 ms``, ``1.20 s``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError(value)
