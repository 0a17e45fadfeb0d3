"""What each component bought, in whatever grid there is.

In a full grid the effects are those of ``make_effects``, averaged over everything else. Where the
grid is not full, as in a study of one factor at a time or where some cell failed, there is still
something to be said: what each choice bought in the reference's own company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zoo.errors import ZooError
from zoo.report.stats.effects import Effect, make_effects
from zoo.report.stats.paired import corrected
from zoo.report.tables.rows import Row


@dataclass(frozen=True)
class Bought:
    """about: what the effects are averages of, in a sentence."""

    effects: list[Effect]
    about: str


def effects_anyhow(rows: Sequence[Row], reference: str) -> Bought | None:
    """Effects in the full grid, or else around the reference; None where there are neither."""
    if not reference:
        return None
    try:
        found = make_effects(rows, reference)
    except ZooError:
        return _around(rows, reference)
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in found.grid.axes.items())
    return Bought(found.main, f"Averaged over the full grid of {shape}.")


def _around(rows: Sequence[Row], reference: str) -> Bought | None:
    """Each choice with all else as in the reference; those that lack a seed are left out."""
    base = next((row for row in rows if row.name == reference), None)
    if base is None:
        return None  # others were measured beside it, and its own records are not here
    effects: list[Effect] = []
    for row in rows:
        differing = [axis for axis in base.cell if row.cell.get(axis) != base.cell[axis]]
        if row.baseline or len(differing) != 1:
            continue
        try:
            effects += make_effects([base, row], reference).main
        except ZooError:
            continue  # it failed, or was skipped: there is nothing to compare
    if not effects:
        return None
    order = list(base.cell)
    effects.sort(key=lambda effect: order.index(effect.axis))
    found = corrected([effect.difference for effect in effects])
    effects = [replace(e, difference=d) for e, d in zip(effects, found, strict=True)]
    return Bought(effects, f"With everything else as in the reference, {reference}.")
