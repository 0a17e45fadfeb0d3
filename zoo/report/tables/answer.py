"""The answer under a table: which row to use, as far as the verdicts of the report tell."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zoo.errors import counted
from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.effects import Effects
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import NOISY, memory_verdict, too_noisy
from zoo.report.tables.text import listed, percent

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

NAMED = 3  # rows of a list that are named
MOST_SEEDS = 100  # no more are recommended


def findings(run: RunReport) -> list[str]:
    """At most five sentences.

    They say which choices make a difference; which cell is best and which tie with it; which of
    these is the fastest and which the smallest; and whether any beats the baselines.
    """
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    if not cells:
        return [f"No cell has a value of {run.metric.label}."] if run.rows else []
    tied = tied_cells(run)
    said = _choices(run.effects)
    if tied or not baselines:
        said.append(_best(run, cells, tied, baselines))
    said += _cheapest(run, tied)
    return said + _against_baselines(run, cells, baselines)


def by_score(run: RunReport, *, baseline: bool) -> list[Row]:
    """The cells, or the baselines, that have a score, the best mean first."""
    rows = [row for row in run.rows if row.values and bool(row.baseline) == baseline]
    return sorted(rows, key=lambda row: -run.metric.better(row.mean))


def tied_cells(run: RunReport) -> list[Row]:
    """The best cell and those that cannot be distinguished from it, the best mean first."""
    ties = run.verdicts.tied()
    return [row for row in by_score(run, baseline=False) if row.name in ties]


def _ahead(one: Row, other: Row) -> bool:
    """Whether the mean of the first is better."""
    return one.metric.better(one.mean) > one.metric.better(other.mean)


def _choices(effects: Effects | None) -> list[str]:
    """The main effects that are real, the largest first; nothing where none was tested."""
    found = [(e, e.difference) for e in effects.main if e.difference] if effects else []
    tested = [(e, d) for e, d in found if d.p is not None and not d.equal]
    if effects is None or not tested:
        return []
    averaged = effects.about.startswith("Averaged")
    where = "Averaged over the grid" if averaged else "Exchanged one at a time"
    real = sorted((pair for pair in tested if pair[1].real), key=lambda pair: -abs(pair[1].mean))
    if not real:
        return [f"{where}, no single choice makes a difference that shows."]
    parts = []
    for effect, difference in real[:NAMED]:
        metric, names = effect.metric, [effect.component, effect.against]
        if metric.better(difference.mean) < 0:
            names.reverse()
        gap = metric.format_difference(abs(difference.mean), difference.half).lstrip("+")
        parts.append(f"{names[0]} is better than {names[1]} by {gap}")
    more = f"; {len(real) - NAMED} more choices matter" if len(real) > NAMED else ""
    return [f"{where}, {'; '.join(parts)}{more}."]


def _best(
    run: RunReport, cells: Sequence[Row], tied: Sequence[Row], baselines: Sequence[Row]
) -> str:
    best, others = (tied or cells)[0], tied[1:]
    among = " of the cells" if baselines and _ahead(baselines[0], best) else ""
    text = f"{run.short_name(best)} has the best {run.metric.label}{among}: {run.score_text(best)}"
    if others:
        tie = "others tie" if others[1:] else "other ties"
        text += f"; {len(others)} {tie} with it: {listed(map(run.short_name, others), NAMED)}"
        if equal := sum(_equal(run, best, row) for row in others):
            some = f"{equal} of these {'are' if equal > 1 else 'is'} " if others[1:] else ""
            text += f" ({some}equal to it, "
            text += "example by example)" if best.examples else "with every seed)"
    rest = [row for row in cells if row is not best]
    if rest and all(run.verdicts.verdict(best.name, row.name) == 1 for row in rest):
        text += f"; it is significantly better than the {counted(len(rest), 'other')}"
    return f"{text}."


def _equal(run: RunReport, one: Row, other: Row) -> bool:
    found = run.verdicts.pair(one.name, other.name)
    return found is not None and found.equal


def _cheapest(run: RunReport, tied: Sequence[Row]) -> list[str]:
    """The fastest in training and the smallest of these rows; or that speeds do not compare."""
    if len(tied) < 2:
        return []
    said, parts, fastest = [], [], None
    timed = [row for row in tied if row.cost.get("train_tokens_per_s")]
    busy = too_noisy(run.speeds.floor("train", [row.name for row in timed]))
    if timed[1:] and busy:  # not how busy: the notes say that, of all rows and not only of these
        said.append(
            "This machine was too busy to compare speeds: its noise floor was above "
            f"{percent(NOISY)}."
        )
    elif timed[1:]:
        fastest = _fastest(run, timed)
        ratios = [run.speeds.ratio("train", fastest.name, o.name) for o in timed if o != fastest]
        close = sum(ratio is None or ratio.verdict != 1 for ratio in ratios)
        about = f"{fastest.cost['train_tokens_per_s']:,.0f} tokens/s"
        seconds = list(fastest.values_of("train_seconds").values())
        if seconds and trained_on_one_kind_of_machine(tied):
            about += f", {statistics.fmean(seconds):.3g} s a training"
        about += f"; {close} not reliably slower" if close else ""
        parts.append(f"{run.short_name(fastest)} trains fastest ({about})")
    least, size = _smallest(tied)
    if size:
        parts.append(size if least is fastest else f"{run.short_name(least)} {size}")
    return [*said, f"Of these, {' and '.join(parts)}."] if parts else said


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


def _smallest(tied: Sequence[Row]) -> tuple[Row, str]:
    """The row with the fewest parameters; where all have as many, with the least memory.

    And what is said of it; nothing where neither is known.
    """
    sizes = {row.name: row.parameters for row in tied}
    peaks = {row.name: float(row.cost.get("peak_memory_mib") or 0) for row in tied}
    if all(sizes.values()) and len(set(sizes.values())) > 1:
        least = min(tied, key=lambda row: sizes[row.name])
        same = sum(size == sizes[least.name] for size in sizes.values()) - 1
        more = f", as {same} more" if same else ""
        about = f"is the smallest ({sizes[least.name]:,} parameters{more})"
    elif all(peaks.values()):
        least = min(tied, key=lambda row: peaks[row.name])
        same = sum(memory_verdict(peak, peaks[least.name]) == 0 for peak in peaks.values()) - 1
        more = f", as {same} more within the error" if same else ""
        about = f"needs the least memory ({peaks[least.name]:,.0f} MiB{more})"
    else:
        return tied[0], ""
    return least, about


def _against_baselines(run: RunReport, cells: Sequence[Row], baselines: Sequence[Row]) -> list[str]:
    """Whether anything beats the best baseline."""
    if not baselines:
        return []
    found = [run.verdicts.verdict(row.name, baselines[0].name) for row in cells]
    known = [verdict for verdict in found if verdict is not None]
    if not known:
        return [_untested(run, cells, baselines)]
    what = f"the baseline {run.short_name(baselines[0])} with {_plain_score(run, baselines[0])}"
    better, worse = known.count(1), known.count(-1)
    if better == len(known):
        return [f"Every cell is significantly better than {what}."]
    if better:
        return [f"{better} of {counted(len(known), 'cell')} are significantly better than {what}."]
    which = "all cells" if worse == len(known) else f"{worse} of {len(known)} cells"
    return [f"Nothing here beats {what}{f': {which} are significantly worse' if worse else ''}."]


def _plain_score(run: RunReport, row: Row) -> str:
    return run.score_text(row).removesuffix(" (deterministic fit)")


def _untested(run: RunReport, cells: Sequence[Row], baselines: Sequence[Row]) -> str:
    """How the best cell compares with the best baseline where there are too few seeds for a test.

    It wins where the trained models differ by more than chance, on these examples. The best of
    several was chosen, so their number is corrected for (Bonferroni).
    """
    p = p_of_models(cells[0], baselines[0])
    sure = p is not None and p * len(cells) * len(baselines) < ALPHA
    named = [
        (run.short_name(cells[0]), _plain_score(run, cells[0])),
        (f"the baseline {run.short_name(baselines[0])}", _plain_score(run, baselines[0])),
    ]
    if _ahead(baselines[0], cells[0]):
        named.reverse()
    (first, its), (second, other) = named
    first = f"The{first[3:]}" if first.startswith("the baseline ") else first
    if sure:
        return f"{first} wins: {its} against {other} of {second}."
    return f"{first} has {its} and {second} {other}: that may be chance."


def next_step(run: RunReport) -> str:
    """What to do next: more seeds for what is not settled, other data where a baseline is as good.

    Empty where nothing suggests itself.
    """
    cells, baselines = by_score(run, baseline=False), by_score(run, baseline=True)
    verdicts, tied = run.verdicts, tied_cells(run)
    if not cells:
        return ""
    lacking = ENOUGH - len(cells[0].values)
    if lacking > 0 and not verdicts.pairs:
        open_question = "the cells differ" if cells[1:] else "it beats the baseline"
        if not (cells[1:] or baselines):
            return ""
        more = "One more seed" if lacking == 1 else "Two more seeds"
        return f"{more} would tell whether {open_question}; run with --seeds {ENOUGH}."
    said = []
    apart = [verdicts.pair(tied[0].name, row.name) for row in tied[1:]]
    gap = max((abs(d.mean) for d in apart if d is not None and not d.equal), default=0.0)
    # With as many seeds as there are, this pair is noisier than most: nothing is known of it.
    had = max(len(row.values) for row in cells)
    if gap and (seeds := _seeds_for(gap, run)) and seeds > had:
        shown = run.metric.format_difference(gap).lstrip("+")
        far = f"the largest gap among the rows that tie, {shown}"
        if seeds > MOST_SEEDS:
            said.append(f"More than {MOST_SEEDS} seeds are needed to show {far}.")
        else:
            said.append(f"About {seeds} seeds would show {far}; run with --seeds {seeds}.")
    beaten = [verdicts.verdict(row.name, baselines[0].name) for row in cells] if baselines else []
    if 1 not in beaten and any(verdict is not None for verdict in beaten):
        said.append("Try a task on which the order of words decides, longer texts, or more data.")
    return " ".join(said)


def _seeds_for(gap: float, run: RunReport) -> int | None:
    """How many seeds would show such a gap in 4 of 5 runs; None where that is unknown."""

    def shows(seeds: int) -> bool:
        visible = run.verdicts.visible(seeds=seeds)
        return visible is not None and visible <= gap

    if run.verdicts.visible() is None:
        return None
    tried = range(ENOUGH, MOST_SEEDS + 1)
    return ENOUGH + bisect.bisect_left(tried, True, key=shows)
