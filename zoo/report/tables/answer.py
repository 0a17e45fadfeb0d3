"""What fills the answer under a table: which row to use, as far as the report's verdicts tell.

The sentences are in ``words/answer.txt`` and ``words/next_step.txt``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zoo.report.rows import Row
from zoo.report.stats.effects import Effects
from zoo.report.stats.intervals import ALPHA
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import Ratio
from zoo.report.tables.words import said

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

FEW = 50  # texts, below which the answer begins with how many there are
NAMED = 3  # rows of a list that are named


def by_score(run: RunReport, *, baseline: bool) -> list[Row]:
    """The cells, or the baselines, that have a score, the best mean first."""
    rows = [row for row in run.rows if row.values and bool(row.baseline) == baseline]
    return sorted(rows, key=lambda row: -run.metric.better(row.mean))


def tied_cells(run: RunReport) -> list[Row]:
    """The best cell and those that cannot be distinguished from it, the best mean first."""
    ties = set(run.verdicts.tied())
    return [row for row in by_score(run, baseline=False) if row.name in ties]


def findings(run: RunReport) -> list[str]:
    """At most four lines, the conclusion first.

    They say which row to use, and which axes are undecided; which choices make a difference; which
    cells compute the same; and which cell is the fastest. Where there are few texts, that is the
    first line.
    """
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    values: dict[str, Any] = {"run": run, "cells": cells, "few": few_texts(run), "NAMED": NAMED}
    if not cells:
        return said("answer", **values)
    tied = tied_cells(run)
    best, verdicts = (tied or cells)[0], run.verdicts
    others = [row for row in cells if row is not best]
    same = _same(run)
    equal = [[row for row in of if not row.baseline] for of in verdicts.equal_rows()]
    return said(
        "answer",
        **values,
        baseline=baselines[0] if baselines else None,
        standing=_standing(run, best, cells, baselines) if baselines else None,
        tied=tied,
        best=best,
        choices=_choices(run.effects),
        undecided=_undecided(run.effects),
        visible=verdicts.visible("effect"),
        significantly_best=bool(others)
        and all(verdicts.verdict(best.name, row.name) == 1 for row in others),
        same=same,
        # Groups of cells with the same results, of which the line does not say that they must.
        alike=[of for of in equal if of[1:] and not (same and _one_function(of))],
        fastest=_fastest(run, tied or cells),
        plain_score=lambda row: plain_score(run, row),
    )


def few_texts(run: RunReport) -> list[str]:
    """How many texts there are to train on, and to score, where these are few."""
    data, what = run.typical.config["data"] if run.records else {}, run.metric.scored
    counts = {"train on": data.get("train"), "score": data.get("test")}
    return [f"{n} {what} to {use}" for use, n in counts.items() if n is not None and n < FEW]


def _standing(run: RunReport, best: Row, cells: Sequence[Row], baselines: Sequence[Row]) -> int:
    """1 where a cell is better than the best baseline, -1 where the best cell is worse, else 0."""
    baseline, better = baselines[0], run.metric.better
    verdicts = [run.verdicts.verdict(row.name, baseline.name) for row in [best, *cells]]
    if verdicts[0] is not None:
        return 1 if 1 in verdicts else verdicts[0]
    # With too few seeds for a test, the trained models of the best cell and baseline are compared.
    # The best of several was chosen: Bonferroni's correction for their number.
    p = p_of_models(cells[0], baseline)
    if p is None or p * len(cells) * len(baselines) >= ALPHA:
        return 0
    return 1 if better(cells[0].mean) > better(baseline.mean) else -1


def plain_score(run: RunReport, row: Row) -> str:
    """The score without a remark."""
    return run.score_text(row).removesuffix(" (deterministic fit)")


def _choices(effects: Effects | None) -> list[str]:
    """The main effects that are real, the largest first."""
    found = [(e, e.difference) for e in effects.main if e.difference] if effects else []
    parts = []
    for effect, difference in sorted(found, key=lambda pair: -abs(pair[1].mean)):
        metric, names = effect.metric, [effect.component, effect.against]
        if metric.better(difference.mean) < 0:
            names.reverse()
        gap = metric.format_difference(abs(difference.mean), difference.half).lstrip("+")
        if difference.real:
            parts.append(f"{names[0]} is better than {names[1]} by {gap}")
    return parts


def _undecided(effects: Effects | None) -> list[str]:
    """The axes on which choices have different scores, and no effect is real."""
    found: dict[str, list[bool]] = {}
    for effect in effects.main if effects else []:
        if effect.difference and not effect.difference.equal:
            found.setdefault(effect.axis, []).append(effect.difference.real)
    return [axis for axis, real in found.items() if not any(real)]


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


def _fastest(run: RunReport, rows: Sequence[Row]) -> dict[str, Any]:
    """Of these rows the fastest in training; empty where that is not known.

    slower: those that it is told apart from, and how many times as fast as each it is, the fastest
    first. close: the others.
    """

    def ratio(one: Row, other: str) -> Ratio | None:
        return Ratio(1.0) if one.name == other else run.speeds.ratio("train", one.name, other)

    timed = [(row, known.value) for row in rows if (known := ratio(row, run.speeds.base))]
    if not timed[1:] or _one_function(rows):
        return {}
    fastest, *others = (row for row, _ in sorted(timed, key=lambda pair: -pair[1]))
    against = [(row, ratio(fastest, row.name)) for row in others]
    slower = [(row, known) for row, known in against if known and known.verdict == 1]
    close = [row for row, known in against if not known or known.verdict != 1]
    return {"row": fastest, "slower": slower, "close": close}


def next_step(run: RunReport) -> str:
    """What to do next; empty where nothing suggests itself."""
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    if not cells:
        return ""
    enough, alone = run.verdicts.enough, not cells[1:] and not baselines
    lacking = 0 if run.verdicts.pairs else max(0, enough - len(cells[0].values))
    beaten = [run.verdicts.verdict(row.name, one.name) for row in cells for one in baselines[:1]]
    unbeaten = not lacking and 1 not in beaten and any(one is not None for one in beaten)
    lacking = 0 if alone else lacking  # there is nothing to test
    return " ".join(said("next_step", lacking=lacking, enough=enough, unbeaten=unbeaten))
