"""Published lines as the README's table."""

from __future__ import annotations

import statistics
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
    # A comparison that several runs made, whichever came first, is one row.
    runs: dict[tuple[str, str], list[Line]] = {}
    for line in measured:
        runs.setdefault((line.work, line.against), []).append(line)
    rows = [[*name, _ratio(own), _reach(own), _verdict(own)] for name, own in runs.items()]
    heads = ["work", "against", "ratio (95%)", "reach", "reached"]
    table = tabulate(rows, heads, "github", disable_numparse=True)
    return f"{table}\n\n{_notes(measured, [len(own) for own in runs.values()])}\n"


def _ratio(runs: Sequence[Line]) -> str:
    """The median of the runs' ratios; from the lowest end of their intervals to the highest."""
    ratios = [line.ratio for line in runs if line.ratio is not None]
    low = min(line.low for line in runs if line.low is not None)
    high = max(line.high for line in runs if line.high is not None)
    middle = statistics.median(ratios)
    return f"{middle:.3g}" if low == high else f"{middle:.3g} ({low:.3g} to {high:.3g})"


def _reach(runs: Sequence[Line]) -> str:
    """What was hoped for; a reach that is itself measured differs by run, and the median stands."""
    reaches = [line.reach for line in runs if line.reach is not None]
    if not reaches:
        return ""
    return f"{'≥' if runs[0].bound == 'at least' else '≤'} {statistics.median(reaches):.3g}"


def _verdict(runs: Sequence[Line]) -> str:
    reached = [line.reached for line in runs if line.reached is not None]
    if len(reached) < 2 or len(set(reached)) == 1:
        return {None: "", True: "yes", False: "no"}[reached[0] if reached else None]
    return f"in {sum(reached)} of {len(reached)}"


def _notes(lines: Sequence[Line], runs: Sequence[int]) -> str:
    first = lines[0]
    noise = [abs(line.noise - 1) for line in lines if line.noise is not None]
    said = [
        f"Machine: {first.machine}, {first.threads} threads, torch {first.torch}.",
        "Ratio: their time over ours, or a share; the median over rounds in which all take turns, "
        "and its 95% bootstrap interval.",
    ]
    if max(runs) > 1:
        often = f"{max(runs)} runs" if min(runs) == max(runs) else f"Up to {max(runs)} runs"
        said.append(
            f"{often} in a row: the median of their ratios, from the lowest end of an interval "
            "to the highest. Reached is what every run reached, or in how many of them."
        )
    if noise:
        said.append(
            f"Noise: a thing measured against its own twin in the same rounds came out up to "
            f"{max(noise):.1%} away from 1."
        )
    missed = {(line.work, line.against): line for line in lines if line.reached is False}
    said += [
        f"Not reached: {line.work} against {line.against}: {line.detail}."
        for line in missed.values()
    ]
    return "\n".join(f"- {sentence}" for sentence in said)
