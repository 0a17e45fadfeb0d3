"""Published lines as the README's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from bench.peers.lines import Line, read


def as_markdown(file: Path) -> str:
    """The table, its machine and its noise; nothing where nothing is published."""
    lines = list(read(file)) if file.exists() else []
    measured = [line for line in lines if not line.skipped]
    if not measured:
        return ""
    rows = [
        [line.work, line.against, _ratio(line), _reach(line), _verdict(line)] for line in measured
    ]
    heads = ["work", "against", "ratio (95%)", "reach", "reached"]
    table = tabulate(rows, heads, "github", disable_numparse=True)
    return f"{table}\n\n{_notes(measured)}\n"


def _ratio(line: Line) -> str:
    assert line.ratio is not None
    assert line.low is not None
    assert line.high is not None
    if line.low == line.high:
        return f"{line.ratio:.3g}"
    return f"{line.ratio:.3g} ({line.low:.3g} to {line.high:.3g})"


def _reach(line: Line) -> str:
    if line.reach is None:
        return ""
    return f"{'≥' if line.bound == 'at least' else '≤'} {line.reach:.3g}"


def _verdict(line: Line) -> str:
    return {None: "", True: "yes", False: "no"}[line.reached]


def _notes(lines: Sequence[Line]) -> str:
    first = lines[0]
    noise = [abs(line.noise - 1) for line in lines if line.noise is not None]
    said = [
        f"Machine: {first.machine}, {first.threads} threads, torch {first.torch}.",
        "Ratio: their time over ours, or a share; the median over rounds in which all take turns, "
        "and its 95% bootstrap interval.",
    ]
    if noise:
        said.append(
            f"Noise: a thing measured against its own twin in the same rounds came out up to "
            f"{max(noise):.1%} away from 1."
        )
    return "\n".join(f"- {sentence}" for sentence in said)
