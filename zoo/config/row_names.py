"""Which row a user means by a short name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from zoo.errors import ZooError, listed, nearest

SHOWN = 6  # of the names that fit


def find_cell(cells: Mapping[str, Mapping[str, str]], wanted: str, option: str) -> str:
    """The name of the cell that is meant: its whole name, or parts of it such as ``fused+sin``.

    cells: name to its parts by axis. An axis on which all cells agree counts only where no cell is
    found by the others. option: how an error begins. Raises ZooError where no cell is meant, or
    several may be.
    """
    parts = [part.strip() for part in wanted.split("+")]
    first = next(iter(cells.values()), {})
    varied = [a for a in first if any(cell[a] != first[a] for cell in cells.values())]
    short = {name: [cell[axis] for axis in varied] for name, cell in cells.items()}
    for fitting in (
        [name for name in cells if name == "+".join(parts)],
        [name for name, own in short.items() if own == parts],
        [name for name, own in short.items() if not Counter(parts) - Counter(own)],
        [name for name, cell in cells.items() if not Counter(parts) - Counter(cell.values())],
    ):
        if len(fitting) > 1:
            raise ZooError(f"{option} {wanted} may be {listed(fitting, SHOWN)}; say which")
        if fitting:
            return fitting[0]
    raise ZooError(f"{option} {wanted}: no such cell{nearest(wanted, cells)}")
