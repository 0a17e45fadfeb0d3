"""Where the trained models of a run are, where it kept them."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.rows import Row
from zoo.wording import counted


def model_of(row: Row) -> str:
    """The directory of the row's model with the lowest seed that was kept; empty where none was."""
    return next((r.model for _, r in sorted(row.trained.items()) if r.model), "")


def models_note(rows: Sequence[Row], best: Row | None) -> list[str]:
    """One line with the number of models and the best row's; nothing where none was kept."""
    count = sum(bool(record.model) for row in rows for record in row.trained.values())
    if not count:
        return []
    own = model_of(best) if best else ""
    of_best = f"; of the best row: {own}" if own else ""
    return [f"{counted(count, 'model')} kept in this directory, for zoo predict{of_best}."]
