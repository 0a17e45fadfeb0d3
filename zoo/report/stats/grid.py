"""A full grid: every combination of its axes' choices, with every seed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zoo.errors import ZooError, nearest
from zoo.report.rows import Row, axes_of, varying_axes

SHOWN = 8  # missing cells that an error names
Levels = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Grid:
    """axes: those that vary, with their choices, the reference's first. cells: by choices."""

    axes: Levels
    cells: dict[tuple[str, ...], Row]
    seeds: tuple[int, ...]

    def others(self, *fixed: str) -> Iterator[dict[str, str]]:
        """Every combination of the axes that are not fixed."""
        free = [axis for axis in self.axes if axis not in fixed]
        for choices in itertools.product(*(self.axes[axis] for axis in free)):
            yield dict(zip(free, choices, strict=True))

    def at(self, choices: Mapping[str, str]) -> Row:
        """The cell of one choice for every axis."""
        return self.cells[tuple(choices[axis] for axis in self.axes)]


def full_grid(rows: Sequence[Row], reference: str, only: Mapping[str, Sequence[str]] = {}) -> Grid:
    """The grid that these rows are, or the part of it that ``only`` (axis to choices) keeps.

    A cell that was skipped, or lacks a seed or a cost measurement that others have, is missing.
    Raises ZooError that names what is missing and how to restrict the grid: an average over the
    cells that happen to exist would compare each choice with different companions.
    """
    cells = [row for row in rows if not row.baseline]
    _refuse_unknown(cells, only)
    cells = [r for r in cells if all(r.cell[a] in chosen for a, chosen in only.items())]
    # The reference's choices come first: the others are compared with them.
    axes = varying_axes(cells, reference)
    if not axes:
        raise ZooError(
            "effects need a grid in which some axis has two choices; here there is "
            f"{', '.join(row.name for row in cells) or 'no cell'}"
        )
    known = {tuple(row.cell[axis] for axis in axes): row for row in cells}
    seeds = tuple(sorted({seed for row in cells for seed in row.values}))
    measured = any(row.measured for row in cells)
    grid = itertools.product(*axes.values())
    lacks = {choices: _lack(known.get(choices), seeds, measured) for choices in grid}
    if missing := {choices: lack for choices, lack in lacks.items() if lack}:
        raise ZooError(_message(missing, axes))
    return Grid(axes, known, seeds)


def _refuse_unknown(cells: Sequence[Row], only: Mapping[str, Sequence[str]]) -> None:
    axes = axes_of(cells)
    for axis, chosen in only.items():
        if axis not in axes:
            raise ZooError(f"--only {axis}: no such axis{nearest(axis, axes)}")
        known = list(dict.fromkeys(row.cell[axis] for row in cells))
        for choice in chosen:
            if choice not in known:
                raise ZooError(f"--only {axis}: no '{choice}' here{nearest(choice, known)}")


def _lack(row: Row | None, seeds: Sequence[int], measured: bool) -> str:
    """What a cell lacks; empty where it is complete."""
    if row is None:
        return "not run"
    if row.bad is not None and row.bad.status == "skipped":
        return f"skipped: {row.bad.reason}"
    if absent := [seed for seed in seeds if seed not in row.values]:
        why = f", {row.bad.status}" if row.bad and row.bad.kind == "train" else ""
        if len(absent) == len(seeds):
            return f"not trained{why}"
        return f"no seed {', '.join(map(str, absent))}{why}"
    if measured and not row.measured:
        why = f", {row.cost_record.status}" if row.cost_record else ""
        return f"no cost measurement{why}"
    return ""


def _message(missing: Mapping[tuple[str, ...], str], axes: Levels) -> str:
    named = [f"{'+'.join(choices)} ({lack})" for choices, lack in missing.items()]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    text = f"the grid is not full; missing: {', '.join(named[:SHOWN])}{more}"
    restricted = _restricted(missing, axes)
    if not restricted:
        return f"{text}; run these, or restrict the grid with --only AXIS=NAME,NAME"
    words = " ".join(f"--only '{axis}={','.join(c)}'" for axis, c in restricted.items())
    return f"{text}; run these, or restrict the grid: {words}"


def _restricted(missing: Mapping[tuple[str, ...], str], axes: Levels) -> Levels:
    """Axes with choices left out until nothing is missing; empty where nothing would be left."""
    left, gone = dict(axes), set(missing)
    while gone:
        counts = Counter((axis, c) for cell in gone for axis, c in zip(axes, cell, strict=True))
        # Of equally good choices, leave out the last one of the axis with the most choices.
        axis, worst = max(
            counts, key=lambda x: (counts[x], len(left[x[0]]), left[x[0]].index(x[1]))
        )
        left[axis] = tuple(choice for choice in left[axis] if choice != worst)
        if not left[axis]:
            return {}
        position = list(axes).index(axis)
        gone = {cell for cell in gone if cell[position] != worst}
    if all(len(choices) < 2 for choices in left.values()):
        return {}
    return {axis: choices for axis, choices in left.items() if choices != axes[axis]}
