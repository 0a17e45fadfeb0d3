"""What fills the answer under a table: which row to use, as far as the report's verdicts tell.

The sentences are in ``words/answer.txt`` and ``words/next_step.txt``.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.effects import Effects
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import NOISY, memory_verdict, too_noisy
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
    """At most five sentences.

    They say which choices make a difference; which cell is best and which tie with it; which of
    these is the fastest and which the smallest; and whether any beats the baselines.
    """
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    values: dict[str, Any] = {"run": run, "cells": cells, "NAMED": NAMED, "NOISY": NOISY}
    if not cells:
        return said("answer", **values)
    tied = tied_cells(run)
    best, better = (tied or cells)[0], run.metric.better
    pairs = [run.verdicts.pair(best.name, row.name) for row in tied[1:]]
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
    return said(
        "answer",
        **values,
        baselines=baselines,
        tied=tied,
        best=best,
        choices=_choices(run.effects),
        beaten_by_baseline=bool(baselines) and better(baselines[0].mean) > better(best.mean),
        equal=sum(pair is not None and pair.equal for pair in pairs),
        significantly_best=bool(others)
        and all(run.verdicts.verdict(best.name, row.name) == 1 for row in others),
        cheapest=_cheapest(run, tied),
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


def _cheapest(run: RunReport, tied: Sequence[Row]) -> dict[str, Any]:
    """The fastest of these rows in training, and the smallest; or that speeds do not compare."""
    found: dict[str, Any] = {"busy": False, "fastest": None, "least": None}
    if len(tied) < 2:
        return found
    timed = [row for row in tied if row.cost.get("train_tokens_per_s")]
    if timed[1:]:
        # Not how busy: the notes say that, of all rows and not only of these.
        found["busy"] = too_noisy(run.speeds.floor("train", [row.name for row in timed]))
    if timed[1:] and not found["busy"]:
        fastest = found["fastest"] = _fastest(run, timed)
        ratios = [run.speeds.ratio("train", fastest.name, o.name) for o in timed if o != fastest]
        found["close"] = sum(ratio is None or ratio.verdict != 1 for ratio in ratios)
        seconds = list(fastest.values_of("train_seconds").values())
        alike = seconds and trained_on_one_kind_of_machine(tied)
        found["seconds"] = statistics.fmean(seconds) if alike else None
    sizes = [row.parameters for row in tied]
    peaks = [float(row.cost.get("peak_memory_mib") or 0) for row in tied]
    if all(sizes) and len(set(sizes)) > 1:
        found |= {"least": tied[sizes.index(min(sizes))], "parameters": True}
        found["alike"] = sizes.count(min(sizes)) - 1
    elif all(peaks):
        found |= {"least": tied[peaks.index(min(peaks))], "parameters": False}
        found["alike"] = sum(memory_verdict(peak, min(peaks)) == 0 for peak in peaks) - 1
    return found


def _fastest(run: RunReport, timed: Sequence[Row]) -> Row:
    """By the ratios to the reference, from which what a round does to all rows is taken out.

    By throughput alone where a row has no such ratio.
    """
    ratios = {run.speeds.base: 1.0}
    for row in timed:
        if found := run.speeds.ratio("train", row.name, run.speeds.base):
            ratios[row.name] = found.value
    if all(row.name in ratios for row in timed):
        return max(timed, key=lambda row: ratios[row.name])
    return max(timed, key=lambda row: float(row.cost["train_tokens_per_s"]))


def next_step(run: RunReport) -> str:
    """What to do next; empty where nothing suggests itself."""
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    verdicts, tied = run.verdicts, tied_cells(run)
    if not cells:
        return ""
    values: dict[str, Any] = {"lacking": 0, "seeds": 0, "most": MOST_SEEDS, "unbeaten": False}
    lacking = ENOUGH - len(cells[0].values)
    if lacking > 0 and not verdicts.pairs:
        values["lacking"] = lacking if cells[1:] or baselines else 0
        return " ".join(said("next_step", **values, several=len(cells) > 1))
    apart = [verdicts.pair(tied[0].name, row.name) for row in tied[1:]]
    gap = max((abs(d.mean) for d in apart if d is not None and not d.equal), default=0.0)
    seeds = _seeds_for(gap, run) if gap else None
    # With as many seeds as there are, this pair is noisier than most: nothing is known of it.
    if seeds and seeds > max(len(row.values) for row in cells):
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
