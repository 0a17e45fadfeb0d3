"""The answer under a table: which row to use, as far as the verdicts of the report tell."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.effects import Effects
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import NOISY, Speeds, memory_verdict, too_noisy
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.text import percent
from zoo.wording import counted

NAMED = 3  # rows of a list that are named
MOST_SEEDS = 100  # no more are recommended

Text = Callable[[Row], str]


def answer(
    rows: Sequence[Row],
    verdicts: Verdicts,
    speeds: Speeds,
    effects: Effects | None,
    name: Text,
    value: Text,
) -> list[str]:
    """At most five sentences.

    They say which choices make a difference; which cells cannot be distinguished from the best one;
    which of them is the fastest and which the smallest; whether any beats the baselines; and what
    to try next. name: of a row; value: its mean with the interval, as the table shows it.
    """
    cells, baselines = _by_score(rows, baseline=False), _by_score(rows, baseline=True)
    if not cells:
        return [f"No cell has a value of {rows[0].metric.label}."] if rows else []
    tied = _tied(cells, verdicts)
    said = _choices(effects)
    said.append(_best(cells, tied, baselines, verdicts, name, value))
    said += _cheapest(tied or cells[:1], speeds, name)
    said += _against_baselines(cells, baselines, verdicts, name, value)
    return said + _next(cells, tied, baselines, verdicts)


def best_cell(rows: Sequence[Row], verdicts: Verdicts) -> Row | None:
    """The cell that the answer calls the best; None where no cell has a score."""
    cells = _by_score(rows, baseline=False)
    return next(iter([*_tied(cells, verdicts), *cells]), None)


def _by_score(rows: Sequence[Row], *, baseline: bool) -> list[Row]:
    """The cells, or the baselines, that have a score, the best mean first."""
    return sorted(
        (row for row in rows if row.values and bool(row.baseline) == baseline),
        key=lambda row: -row.metric.better(statistics.fmean(row.values.values())),
    )


def _tied(cells: Sequence[Row], verdicts: Verdicts) -> list[Row]:
    """Those that cannot be distinguished from the best one, in their order."""
    ties = verdicts.tied()
    return [row for row in cells if row.name in ties]


def _choices(effects: Effects | None) -> list[str]:
    """The main effects that are real, the largest first; nothing where none was tested."""
    all_effects = [(e, e.difference) for e in effects.main if e.difference] if effects else []
    tested = [e for e, found in all_effects if found.p is not None and not found.equal]
    if not effects or not tested:
        return []
    real = [(abs(e.difference.mean), e) for e in tested if e.difference and e.difference.real]
    where = "averaged over the grid" if effects.about.startswith("Averaged") else "one at a time"
    if not real:
        return [f"No single choice makes a difference that shows ({where})."]
    parts = []
    for _, effect in sorted(real, key=lambda pair: -pair[0])[:NAMED]:
        found, metric = effect.difference, effect.metric
        assert found is not None
        better = metric.better(found.mean) > 0
        names = (effect.component, effect.against) if better else (effect.against, effect.component)
        gap = metric.format_difference(abs(found.mean), found.half).lstrip("+")
        parts.append(f"{names[0]} is better than {names[1]} by {gap}")
    more = f", and {len(real) - NAMED} more" if len(real) > NAMED else ""
    return [f"Choices that matter ({where}): {'; '.join(parts)}{more}."]


def _best(
    cells: Sequence[Row],
    tied: Sequence[Row],
    baselines: Sequence[Row],
    verdicts: Verdicts,
    name: Text,
    value: Text,
) -> str:
    best, others = (tied or cells)[0], tied[1:]
    # The score of a cell is not the best one where a baseline has a better mean.
    ahead = baselines and _ahead(baselines[0], best)
    what = "cell" if ahead else best.metric.label
    text = f"Best {what}: {name(best)} with {value(best)}"
    if others:
        text += f"; {counted(len(others), 'other')} cannot be distinguished from it: "
        text += _listed([name(row) for row in others])
        if equal := sum(_equal(verdicts, best, row) for row in others):
            text += f" ({equal} of these {'are' if equal > 1 else 'is'} equal to it, "
            text += "example by example)" if best.examples else "with every seed)"
    elif len(cells) > 1 and not tied:
        text += (
            f"; with fewer than {ENOUGH} seeds nothing can be said of the differences between cells"
        )
    elif len(cells) > 1 and all(
        verdicts.verdict(best.name, row.name) == 1 for row in cells if row is not best
    ):
        text += f", really better than the {counted(len(cells) - 1, 'other')}"
    return f"{text}."


def _equal(verdicts: Verdicts, one: Row, other: Row) -> bool:
    found = verdicts.pair(one.name, other.name)
    return found is not None and found.equal


def _cheapest(tied: Sequence[Row], speeds: Speeds, name: Text) -> list[str]:
    """The fastest in training and the smallest of these rows; or that speeds do not compare."""
    if len(tied) < 2:
        return []
    said, parts = [], []
    timed = [row for row in tied if row.cost.get("train_tokens_per_s")]
    floor = speeds.floor("train", [row.name for row in timed])
    if len(timed) > 1 and too_noisy(floor):
        timed = []
        # Not how high it is: the notes say that, of all rows and not only of these.
        said.append(
            "This machine was too busy to compare speeds: its noise floor was above "
            f"{percent(NOISY)}."
        )
    if len(timed) > 1:
        fastest = _fastest(timed, speeds)
        others = (speeds.ratio("train", fastest.name, row.name) for row in timed if row != fastest)
        close = sum(ratio is None or ratio.verdict != 1 for ratio in others)
        text = f"{name(fastest)} trains fastest ({fastest.cost['train_tokens_per_s']:,.0f} tokens/s"
        seconds = [r.metrics.get("train_seconds") for r in fastest.trained.values()]
        known = [float(one) for one in seconds if one is not None]
        if known and trained_on_one_kind_of_machine(tied):
            text += f", {statistics.fmean(known):.3g} s a training"
        parts.append(f"{text}{f'; {close} not reliably slower' if close else ''})")
    if small := _smallest(tied, name):
        named = f"{name(fastest)} " if len(timed) > 1 else ""
        parts.append(small.removeprefix(named) if named else small)
    return [*said, f"Of these, {' and '.join(parts)}."] if parts else said


def _fastest(timed: Sequence[Row], speeds: Speeds) -> Row:
    """By the ratios to the reference, from which what a round does to all rows is taken out.

    By throughput alone where a row has no such ratio.
    """
    ratios = {speeds.base: 1.0}
    for row in timed:
        if found := speeds.ratio("train", row.name, speeds.base):
            ratios[row.name] = found.value
    if all(row.name in ratios for row in timed):
        return max(timed, key=lambda row: ratios[row.name])
    return max(timed, key=lambda row: float(row.cost["train_tokens_per_s"]))


def _smallest(tied: Sequence[Row], name: Text) -> str:
    sizes = {row.name: _parameters(row) for row in tied}
    known = [row for row in tied if sizes[row.name]]
    if len(known) == len(tied) and len(set(sizes.values())) > 1:
        least = min(known, key=lambda row: sizes[row.name] or 0)
        same = sum(sizes[row.name] == sizes[least.name] for row in known) - 1
        more = f", as {same} more" if same else ""
        return f"{name(least)} is the smallest ({sizes[least.name]:,} parameters{more})"
    peaks = {row.name: float(row.cost.get("peak_memory_mib") or 0) for row in tied}
    if not all(peaks.values()):
        return ""
    least = min(tied, key=lambda row: peaks[row.name])
    same = sum(memory_verdict(peaks[row.name], peaks[least.name]) == 0 for row in tied) - 1
    more = f", as {same} more within the error" if same else ""
    return f"{name(least)} needs the least memory ({peaks[least.name]:,.0f} MiB{more})"


def _parameters(row: Row) -> int | None:
    found = row.cost.get("params") or next(
        (record.metrics.get("params") for record in row.trained.values()), None
    )
    return int(found) if found else None


def _against_baselines(
    cells: Sequence[Row],
    baselines: Sequence[Row],
    verdicts: Verdicts,
    name: Text,
    value: Text,
) -> list[str]:
    """Whether anything beats the best baseline."""
    if not baselines:
        return []
    best = baselines[0]
    found = {row.name: verdicts.verdict(row.name, best.name) for row in cells}
    known = [verdict for verdict in found.values() if verdict is not None]
    what = f"the baseline {name(best)} with {value(best).removesuffix(' (deterministic fit)')}"
    if not known:
        return [_untested(cells, baselines, what, name)]
    better, worse = known.count(1), known.count(-1)
    if better == len(known):
        return [f"Every cell is really better than {what}."]
    if better:
        return [f"{better} of {counted(len(known), 'cell')} are really better than {what}."]
    text = f"Nothing here beats {what}"
    if worse:
        which = "all cells" if worse == len(known) else f"{worse} of {len(known)} cells"
        text += f": {which} are really worse"
    return [f"{text}."]


def _untested(cells: Sequence[Row], baselines: Sequence[Row], what: str, name: Text) -> str:
    """How the best cell compares with the best baseline, ``what``, where seeds are too few."""
    unknown = "cannot be said with so few seeds"
    # The best of several was chosen: their number is corrected for (Bonferroni).
    p = p_of_models(cells[0], baselines[0])
    by_chance = p is None or p * len(cells) * len(baselines) >= ALPHA
    if _ahead(baselines[0], cells[0]):
        text = f"The best of all is {what}"
        if by_chance:
            return f"{text}; whether anything beats it {unknown}."
    elif by_chance:
        return f"Whether anything beats {what} {unknown}."
    else:
        text = f"{name(cells[0])} beats {what}"
    scored = cells[0].metric.scored
    return (
        f"{text}, by more than chance on these {scored}; what other seeds would give cannot be "
        "said with so few."
    )


def _ahead(one: Row, other: Row) -> bool:
    """Whether the mean of the first is better."""
    means = (statistics.fmean(row.values.values()) for row in (one, other))
    first, second = map(one.metric.better, means)
    return first > second


def _next(
    cells: Sequence[Row], tied: Sequence[Row], baselines: Sequence[Row], verdicts: Verdicts
) -> list[str]:
    """More seeds for the largest gap among ties; another task where a baseline is as good."""
    metric, said = cells[0].metric, []
    apart = [verdicts.pair(tied[0].name, row.name) for row in tied[1:]]
    gap = max((abs(d.mean) for d in apart if d is not None and not d.equal), default=0.0)
    if len(cells) > 1 and not verdicts.pairs and len(cells[0].values) < ENOUGH:
        return [f"Try at least {ENOUGH} seeds; 5 tell much more."]
    # With as many seeds as there are, this pair is noisier than most: nothing is known of it.
    had = max(len(row.values) for row in cells)
    if gap and (seeds := _seeds_for(gap, verdicts)) and seeds > had:
        shown = metric.format_difference(gap).lstrip("+")
        said.append(
            f"The largest gap among the rows that tie, {shown}, would take "
            + (f"about {seeds} seeds" if seeds <= MOST_SEEDS else f"more than {MOST_SEEDS} seeds")
            + " to show."
        )
    beaten = [verdicts.verdict(row.name, baselines[0].name) for row in cells] if baselines else []
    if baselines and 1 not in beaten and any(verdict is not None for verdict in beaten):
        said.append(
            "where a baseline is as good, try a task on which the order of words decides, longer "
            "texts, or more data."
        )
    text = "; ".join(one.rstrip(".") for one in said)
    return [f"{text[0].upper()}{text[1:]}."] if text else []


def _seeds_for(gap: float, verdicts: Verdicts) -> int | None:
    """How many seeds would show such a gap in 4 of 5 runs; None where that is unknown."""
    if verdicts.visible() is None:
        return None
    low, high = ENOUGH, MOST_SEEDS + 1
    while low < high:
        middle = (low + high) // 2
        visible = verdicts.visible(seeds=middle)
        if visible is not None and visible <= gap:
            high = middle
        else:
            low = middle + 1
    return low


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
