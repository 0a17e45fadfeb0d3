"""Published comparisons as the README's table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from bench.peers.comparison import Comparison, read


def as_markdown(file: Path, works: Sequence[str] = ()) -> str:
    """The table with notes on machine and noise; empty where nothing is published.

    works: those that are shown, by default all.
    """
    found = list(read(file)) if file.exists() else []
    measured = [c for c in found if not c.skipped and (not works or c.work in works)]
    if not measured:
        return ""
    runs: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in measured:
        runs.setdefault((comparison.work, comparison.against), []).append(comparison)
    rows = [[*name, _ratio(own), _reach(own), _reached(own)] for name, own in runs.items()]
    headers = ["work", "against", "ratio (95%)", "reach", "reached"]
    table = tabulate(rows, headers, "github", disable_numparse=True)
    return f"{table}\n\n{_notes(measured, [len(own) for own in runs.values()])}\n"


def _ratio(runs: Sequence[Comparison]) -> str:
    """The median of the runs' ratios, and the range of all their intervals."""
    ratios = [run.ratio for run in runs if run.ratio is not None]
    low = min(run.low for run in runs if run.low is not None)
    high = max(run.high for run in runs if run.high is not None)
    median = statistics.median(ratios)
    return f"{median:.3g}" if low == high else f"{median:.3g} ({low:.3g} to {high:.3g})"


def _reach(runs: Sequence[Comparison]) -> str:
    """The target; the median of the runs' where the target itself is measured."""
    targets = [run.reach for run in runs if run.reach is not None]
    if not targets:
        return ""
    return f"{'≥' if runs[0].bound == 'at least' else '≤'} {statistics.median(targets):.3g}"


def _reached(runs: Sequence[Comparison]) -> str:
    reached = [run.reached for run in runs if run.reached is not None]
    if len(set(reached)) > 1:
        return f"in {sum(reached)} of {len(reached)}"
    return {None: "", True: "yes", False: "no"}[reached[0] if reached else None]


def _notes(comparisons: Sequence[Comparison], runs: Sequence[int]) -> str:
    """A list of sentences; runs: how many runs each row of the table is made from."""
    first = comparisons[0]
    noise = [abs(c.noise - 1) for c in comparisons if c.noise is not None]
    notes = [
        f"Machine: {first.machine}, {first.threads} threads, torch {first.torch}.",
        "Ratio: their time divided by ours, or a share; the median over rounds in which all are "
        "timed in turns, and its 95% bootstrap interval.",
    ]
    if max(runs) > 1:
        number = f"{max(runs)} runs" if min(runs) == max(runs) else f"Up to {max(runs)} runs"
        notes.append(
            f"{number} of each comparison: the median of their ratios, and in brackets the lowest "
            "and the highest end of their intervals. Reached: by all runs, by none, or by how many."
        )
    if noise:
        notes.append(
            f"Noise: a second copy of the same model, timed in the same rounds, differed by up to "
            f"{max(noise):.1%}."
        )
    missed = {(c.work, c.against): c for c in comparisons if c.reached is False}
    notes += [f"Not reached: {c.work} against {c.against}: {c.detail}." for c in missed.values()]
    return "\n".join(f"- {note}" for note in notes)
