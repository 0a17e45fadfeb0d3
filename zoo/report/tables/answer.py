"""What fills the answer under a table: which row to use, as far as the report's verdicts tell.

The sentences are in ``words/answer.txt`` and ``words/next_step.txt``.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zoo.report.rows import Row
from zoo.report.stats.effects import Effects
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import Ratio, memory_verdict
from zoo.report.tables.words import said

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

NAMED = 3  # rows of a list that are named
MOST_SEEDS = 100  # no more are recommended


def by_score(run: RunReport, *, baseline: bool) -> list[Row]:
    """The cells, or the baselines, that have a score, the best mean first."""
    rows = [row for row in run.rows if row.values and bool(row.baseline) == baseline]
    return sorted(rows, key=lambda row: -run.metric.better(row.mean))


def tied_cells(run: RunReport) -> list[Row]:
    """The best cell and those that cannot be distinguished from it, the best mean first."""
    ties = set(run.verdicts.tied())
    return [row for row in by_score(run, baseline=False) if row.name in ties]


def findings(run: RunReport) -> list[str]:
    """At most four lines.

    They say which row is the best, and whether any cell beats the baselines; which choices make a
    difference; which cells compute the same; and which cells are the fastest and the smallest.
    """
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    values: dict[str, Any] = {"run": run, "cells": cells, "NAMED": NAMED}
    if not cells:
        return said("answer", **values)
    tied = tied_cells(run)
    best, better = (tied or cells)[0], run.metric.better
    verdicts: list[int | None] = []
    if baselines:
        verdicts = [run.verdicts.verdict(row.name, baselines[0].name) for row in cells]
        # With too few seeds for a test, the trained models of the best cell and baseline are
        # compared. The best of several was chosen: Bonferroni's correction for their number.
        p = p_of_models(cells[0], baselines[0])
        values["sure"] = p is not None and p * len(cells) * len(baselines) < ALPHA
        values["by_mean"] = [
            (run.short_name(cells[0]), plain_score(run, cells[0])),
            (f"the baseline {run.short_name(baselines[0])}", plain_score(run, baselines[0])),
        ]
        if better(baselines[0].mean) > better(cells[0].mean):
            values["by_mean"].reverse()
    others = [row for row in cells if row is not best]
    same = _same(run)
    equal = [[row for row in of if not row.baseline] for of in run.verdicts.equal_rows()]
    return said(
        "answer",
        **values,
        baselines=baselines,
        tied=tied,
        best=best,
        choices=_choices(run.effects),
        visible=run.verdicts.visible("effect"),
        beaten_by_baseline=bool(baselines) and better(baselines[0].mean) > better(best.mean),
        significantly_best=bool(others)
        and all(run.verdicts.verdict(best.name, row.name) == 1 for row in others),
        same=same,
        # Groups of cells with the same results, of which the line does not say that they must.
        alike=[of for of in equal if of[1:] and not (same and _one_function(of))],
        cheapest=_cheapest(run, tied or cells),
        verdicts=[verdict for verdict in verdicts if verdict is not None],
        plain_score=lambda row: plain_score(run, row),
    )


def plain_score(run: RunReport, row: Row) -> str:
    """The score without a remark."""
    return run.score_text(row).removesuffix(" (deterministic fit)")


def _choices(effects: Effects | None) -> list[str] | None:
    """The main effects that are real, the largest first; None where none was tested."""
    found = [(e, e.difference) for e in effects.main if e.difference] if effects else []
    tested = [(e, d) for e, d in found if d.p is not None and not d.equal]
    parts = []
    for effect, difference in sorted(tested, key=lambda pair: -abs(pair[1].mean)):
        metric, names = effect.metric, [effect.component, effect.against]
        if metric.better(difference.mean) < 0:
            names.reverse()
        gap = metric.format_difference(abs(difference.mean), difference.half).lstrip("+")
        if difference.real:
            parts.append(f"{names[0]} is better than {names[1]} by {gap}")
    return parts if tested else None


def _same(run: RunReport) -> dict[str, Any] | None:
    """The exact attentions that the reference's is compared with: these cells compute the same.

    names: the attentions, the reference's first. gap: the largest difference of two of these cells
    with one seed. speeds: of each other attention, the one of the two that trains faster, the other
    one, and how many times as fast.
    """
    found = [
        effect
        for effect in (run.effects.main if run.effects else [])
        if all(_one_function([one, other]) for one, other, _ in effect.pairs)
    ]
    if not found:
        return None
    gaps = [
        abs(value - other.values[seed])
        for effect in found
        for one, other, _ in effect.pairs
        for seed, value in one.values.items()
        if seed in other.values
    ]
    speeds = []
    for effect in found:
        ratio, names = effect.speed["train"], [effect.component, effect.against]
        if ratio and ratio.verdict == -1:
            names.reverse()
            ratio = run.speeds.contrast("train", {n: -w for n, w in effect.weights.items()})
        speeds.append((*names, ratio))
    return {
        "names": [found[0].component, *(effect.against for effect in found)],
        "gap": run.metric.format_difference(max(gaps)).lstrip("+") if any(gaps) else "",
        "speeds": [one for one in speeds if one[2]],
    }


def _one_function(rows: Sequence[Row]) -> bool:
    """Whether these cells differ in exact attentions alone, and so compute the same."""
    rest = [(row.chosen, {**row.cell, "attention": ""}) for row in rows]
    return all(row.exact for row in rows) and all(one == rest[0] for one in rest)


def _cheapest(run: RunReport, rows: Sequence[Row]) -> dict[str, Any]:
    """Of these rows the fastest in training, and the smallest.

    slower: those that it is told apart from, and how many times as fast as each it is, the fastest
    first. close: the others.
    """
    found: dict[str, Any] = {"fastest": None, "least": None}
    if len(rows) < 2 or _one_function(rows):
        return found

    def ratio(one: Row, other: str) -> Ratio | None:
        return Ratio(1.0) if one.name == other else run.speeds.ratio("train", one.name, other)

    timed = [(row, known.value) for row in rows if (known := ratio(row, run.speeds.base))]
    if timed[1:]:
        fastest, *others = (row for row, _ in sorted(timed, key=lambda pair: -pair[1]))
        against = [(row, ratio(fastest, row.name)) for row in others]
        slower = [(row, known) for row, known in against if known and known.verdict == 1]
        close = [row for row, known in against if not known or known.verdict != 1]
        found |= {"fastest": fastest, "slower": slower, "close": close}
    sizes = [row.parameters for row in rows]
    peaks = [float(row.cost.get("peak_memory_mib") or 0) for row in rows]
    if all(sizes) and len(set(sizes)) > 1:
        found |= {"least": rows[sizes.index(min(sizes))], "parameters": True}
        found["alike"] = sizes.count(min(sizes)) - 1
    elif all(peaks):
        alike = sum(memory_verdict(peak, min(peaks)) == 0 for peak in peaks) - 1
        if alike < len(rows) - 1:
            found |= {"least": rows[peaks.index(min(peaks))], "parameters": False, "alike": alike}
    return found


def next_step(run: RunReport) -> str:
    """What to do next; empty where nothing suggests itself."""
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    verdicts, tied = run.verdicts, tied_cells(run)
    if not cells:
        return ""
    values: dict[str, Any] = {"lacking": 0, "seeds": 0, "unbeaten": False}
    lacking = ENOUGH - len(cells[0].values)
    if lacking > 0 and not verdicts.pairs:
        values["lacking"] = lacking if cells[1:] or baselines else 0
        return " ".join(said("next_step", **values, several=len(cells) > 1))
    apart = [verdicts.pair(tied[0].name, row.name) for row in tied[1:]]
    gap = max((abs(d.mean) for d in apart if d is not None and not d.equal), default=0.0)
    seeds = _seeds_for(gap, run) if gap else None
    # With as many seeds as there are, this pair is noisier than most: nothing is known of it.
    if seeds and max(len(row.values) for row in cells) < seeds <= MOST_SEEDS:
        values["seeds"] = seeds
    beaten = [verdicts.verdict(row.name, baselines[0].name) for row in cells] if baselines else []
    values["unbeaten"] = 1 not in beaten and any(verdict is not None for verdict in beaten)
    shown = run.metric.format_difference(gap).lstrip("+")
    return " ".join(said("next_step", **values, gap=shown))


def _seeds_for(gap: float, run: RunReport) -> int | None:
    """How many seeds would show such a gap in 4 of 5 runs; None where that is unknown."""

    def shows(seeds: int) -> bool:
        visible = run.verdicts.visible(seeds=seeds)
        return visible is not None and visible <= gap

    if run.verdicts.visible() is None:
        return None
    tried = range(ENOUGH, MOST_SEEDS + 1)
    return ENOUGH + bisect.bisect_left(tried, True, key=shows)
