"""The answer under a table: which row to use, as far as the report's verdicts tell."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from zoo.errors import counted, listed
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row
from zoo.report.stats.effects import Effect
from zoo.report.stats.intervals import ALPHA
from zoo.report.stats.paired import p_of_models
from zoo.report.stats.ratios import Ratio
from zoo.report.tables.text import ends, plain

LINES = 4  # of the answer
FEW = 50  # texts, below which the answer begins with how many there are
NAMED = 3  # rows of a list that are named


def answer_of(run: EvaluatedRun) -> list[str]:
    """At most four lines, the conclusion first; where there is room, what to do next.

    They say which row to use, and which axes are undecided; which choices make a difference; which
    cells compute the same; and which cell is the fastest. Where there are few texts, that is the
    first line.
    """
    few = few_texts(run)
    lines = [
        f"Only {' and '.join(few)}: this may not hold for other {run.metric.scored}." if few else ""
    ]
    cells = run.by_score(baseline=False)
    if cells:
        lines += [
            f"{_conclusion(run, cells)} {_undecided_axes(run)}",
            _choices(run),
            _same_computation(run),
            _fastest(run, cells),
            _next_step(run, cells),
        ]
    elif run.recorded_rows:
        lines.append(f"No cell has a value of {run.metric.label}.")
    return [plain(line) for line in lines if line.strip()][:LINES]


def few_texts(run: EvaluatedRun) -> list[str]:
    """How many texts there are to train on, and to score, where these are few."""
    data = run.typical.config["data"] if run.records else {}
    counts = {"train on": data.get("train"), "score": data.get("test")}
    return [
        f"{count} {run.metric.scored} to {use}"
        for use, count in counts.items()
        if count is not None and count < FEW
    ]


def _conclusion(run: EvaluatedRun, cells: Sequence[Row]) -> str:
    """Which row to use, and what ties with it."""
    baselines, best = run.by_score(baseline=True), run.best or cells[0]
    others = run.tied_cells()[1:]
    name, score = run.short_name(best), f"{run.metric.label} {run.score_text(best.name)}"
    ties = ""
    if others:
        ties = f" Not told apart from {name}: {listed(run.short_names(others), NAMED)}."
    if not baselines:
        if not cells[1:]:
            return f"{name} has {score}."
        if not run.tied_cells():
            return f"Undecided: {name} has the best {score}."
        return f"Use {name}: {score}{_better_than(run, best, cells)}.{ties}"
    baseline, its_score = run.short_name(baselines[0]), run.score_text(baselines[0].name)
    standing = _standing(run, best, cells, baselines)
    if standing == -1:
        more = f"; {len(others)} more {'tie' if others[1:] else 'ties'} with it" if others else ""
        return (
            f"Use the baseline {baseline}: {run.metric.label} {its_score}. "
            f"Best transformer: {run.score_text(best.name)} ({name}{more})."
        )
    if standing == 0:
        return f"Undecided: {name} has {score}, the baseline {baseline} {its_score}.{ties}"
    better = _better_than(run, best, cells)
    return f"Use {name}: {score}{better}. Best baseline: {its_score} ({baseline}).{ties}"


def _better_than(run: EvaluatedRun, best: Row, cells: Sequence[Row]) -> str:
    """That a cell is better than all others; empty where it is not."""
    others = [row for row in cells if row is not best]
    if not others or any(run.verdicts.verdict(best.name, row.name) != 1 for row in others):
        return ""
    return f", better than {f'the {len(others)} other cells' if others[1:] else 'the other cell'}"


def _standing(run: EvaluatedRun, best: Row, cells: Sequence[Row], baselines: Sequence[Row]) -> int:
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


def _undecided_axes(run: EvaluatedRun) -> str:
    """The axes on which choices have different scores, and no effect is real."""
    real: dict[str, list[bool]] = {}
    for effect in run.effects.main if run.effects else []:
        if effect.difference and not effect.difference.equal:
            real.setdefault(effect.axis, []).append(effect.difference.real)
    axes = [axis for axis, effects in real.items() if not any(effects)]
    return f"{', '.join(axes)}: undecided." if axes else ""


def _choices(run: EvaluatedRun) -> str:
    """The effects that are real, the largest first; without any, what would have shown."""
    effects = run.effects.main if run.effects else []
    known = [(effect, effect.difference) for effect in effects if effect.difference]
    parts = []
    for effect, difference in sorted(known, key=lambda pair: -abs(pair[1].mean)):
        names = effect.component, effect.against
        better, worse = names if run.metric.better(difference.mean) > 0 else names[::-1]
        if difference.real:
            size = run.metric.format_size(difference.mean, difference.half)
            parts.append(f"{better} is better than {worse} by {size}")
    if parts and run.effects:
        how = "Averaged over the grid" if run.effects.averaged else "Exchanged one at a time"
        more, matter = len(parts) - NAMED, "matters" if len(parts) == NAMED + 1 else "matter"
        rest = f"; {counted(more, 'more choice')} {matter}" if more > 0 else ""
        return f"{how}, {'; '.join(parts[:NAMED])}{rest}."
    visible = run.verdicts.visible("effect")
    if visible is None or not _undecided_axes(run):
        return ""
    return f"An effect of {run.metric.format_size(visible)} would have shown in 4 of 5 such runs."


def _one_function(rows: Sequence[Row]) -> bool:
    """Whether these cells differ in exact attentions alone, and so compute the same."""
    rest = [(row.chosen, {**row.cell, "attention": ""}) for row in rows]
    return all(row.exact for row in rows) and all(other == rest[0] for other in rest)


def _same_computation(run: EvaluatedRun) -> str:
    """Which attentions compute the same, how far their scores are apart, and which are faster."""
    effects = [
        effect
        for effect in (run.effects.main if run.effects else [])
        if all(_one_function([plus, minus]) for plus, minus, _ in effect.pairs)
    ]
    if not effects:
        return ""
    gaps = [
        abs(value - minus.values[seed])
        for plus, minus, _ in itertools.chain(*(effect.pairs for effect in effects))
        for seed, value in plus.values.items()
        if seed in minus.values
    ]
    names = [effects[0].component, *(effect.against for effect in effects)]
    scores = ": equal scores with every seed, as they should be"
    if any(gaps):
        size = run.metric.format_size(max(gaps))
        scores = f", and with one seed their scores differ by at most {size}"
    speeds = [text for effect in effects if (text := _speed_text(run, effect))][:NAMED]
    return f"{'; '.join([f'{listed(names, NAMED + 1)} compute the same{scores}', *speeds])}."


def _speed_text(run: EvaluatedRun, effect: Effect) -> str:
    """Which of two choices trains faster, and how many times as fast."""
    ratio, fast, slow = effect.speed["train"], effect.component, effect.against
    if ratio and ratio.verdict == -1:
        fast, slow = slow, fast
        weights = {name: -weight for name, weight in effect.weights.items()}
        ratio = run.speeds.contrast("train", weights)
    if ratio is None:
        return ""
    interval = f" ({ends(ratio.low, ratio.high)})" if ratio.low else ""
    if ratio.verdict == 1:
        return f"{fast} trains {ratio.value:.2f} times as fast as {slow}{interval}"
    return f"{fast} and {slow} are not told apart in training speed{interval}"


def _fastest(run: EvaluatedRun, cells: Sequence[Row]) -> str:
    """Which of the cells that tie trains fastest; of all cells where none is ranked."""
    tied = run.tied_cells()
    rows = tied or cells

    def ratio(row: Row, other: str) -> Ratio | None:
        return Ratio(1.0) if row.name == other else run.speeds.ratio("train", row.name, other)

    timed = [(row, known.value) for row in rows if (known := ratio(row, run.speeds.base))]
    if not timed[1:] or _one_function(rows):
        return ""
    fastest, *others = (row for row, _ in sorted(timed, key=lambda pair: -pair[1]))
    against = [(row, ratio(fastest, row.name)) for row in others]
    slower = [(row, known) for row, known in against if known and known.verdict == 1]
    close = [row for row, known in against if not known or known.verdict != 1]
    which = "Of the cells that tie" if tied else "Of all cells"
    if not slower:
        return f"{which}, none trains measurably faster than the others."
    second, known = slower[0]
    rest = f"; not told apart from it: {listed(run.short_names(close), NAMED)}" if close else ""
    return (
        f"{which}, {run.short_name(fastest)} trains fastest: {known.value:.2f} times as fast as "
        f"{run.short_name(second)} ({ends(known.low, known.high)}){rest}."
    )


def _next_step(run: EvaluatedRun, cells: Sequence[Row]) -> str:
    """How many more seeds would allow a test; empty where there was one, or nothing to test."""
    enough = run.verdicts.enough
    lacking = enough - len(cells[0].values)
    nothing = not cells[1:] and not run.by_score(baseline=True)
    if run.verdicts.pairs or lacking <= 0 or nothing:
        return ""
    seeds = "One more seed" if lacking == 1 else f"{NUMBERS[lacking]} more seeds"
    return f"{seeds} would allow a test; run with --seeds {enough}."


NUMBERS = ("No", "One", "Two", "Three", "Four")
