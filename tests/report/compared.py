"""Pairs of runs to compare, and the rows and changes of a comparison."""

import numpy as np
from factory import MACHINE, cell, cost_record, name

SIN, NAIVE = cell(pe="sin"), cell(attention="naive")


def only_row(comparison, **choices):
    (row,) = [row for row in comparison.rows if row.name == name(**choices)]
    return row


def change(comparison, metric, **choices):
    (found,) = [c for c in only_row(comparison, **choices).changes if c.metric == metric]
    return found


def measured(generator, factor=1.0, *, drift=1.0, session="a", machine=MACHINE, **memory):
    """Cost records of a reference and of a cell so many times as fast, on a noisy machine."""
    base, _, own = drift * np.exp(generator.normal(0, 0.01, (3, 12)))
    common = {"session": session, "environment": machine}
    return [
        cost_record(cell(), base, name(), base, **common, **memory),
        cost_record(SIN, factor * own, name(), base, **common, **memory),
    ]
