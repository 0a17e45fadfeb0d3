"""The answer under a table: which row to use, as far as the report's verdicts tell."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.errors import counted, listed
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row
from zoo.report.tables.text import ends, plain

LINES = 4  # of the answer
FEW = 50  # texts, below which the answer begins with how many there are
NAMED = 3  # rows of a list that are named
NUMBERS = ("No", "One", "Two", "Three", "Four")


def answer_of(run: EvaluatedRun) -> list[str]:
    """At most four lines: which row to use, which choices matter, the fastest cell, what to do."""
    cells = run.by_score(baseline=False)
    if cells:
        lines = [_conclusion(run, cells), _choices(run), _fastest(run, cells), _more_seeds(run)]
    else:
        lines = [f"No cell has a value of {run.metric.label}." if run.recorded_rows else ""]
    return [plain(line) for line in [_few_texts(run), *lines] if line][:LINES]


def _few_texts(run: EvaluatedRun) -> str:
    data = run.typical.config["data"] if run.records else {}
    counts = {"train on": data.get("train"), "score": data.get("test")}
    few = [
        f"{count} {run.metric.scored} to {use}"
        for use, count in counts.items()
        if count is not None and count < FEW
    ]
    only = f"Only {' and '.join(few)}: this may not hold for other {run.metric.scored}."
    return only if few else ""


def _conclusion(run: EvaluatedRun, cells: Sequence[Row]) -> str:
    """Which row to use, and what ties with it."""
    best, baseline = run.best or cells[0], next(iter(run.by_score(baseline=True)), None)
    others, ties = [row for row in cells if row is not best], run.tied_cells()[1:]
    verdict = run.verdicts.verdict
    name, score = run.short_name(best), f"{run.metric.label} {run.score_text(best.name)}"
    tied = f" Not told apart from {name}: {listed(run.short_names(ties), NAMED)}." if ties else ""
    better = ""
    if others and all(verdict(best.name, row.name) == 1 for row in others):
        better = f", better than the {f'{len(others)} other cells' if others[1:] else 'other cell'}"
    if baseline is None:
        if not others:
            return f"{name} has {score}."
        if not run.tied_cells():
            return f"Undecided: {name} has the best {score}."
        return f"Use {name}: {score}{better}.{tied}"
    rival, bar = run.short_name(baseline), run.score_text(baseline.name)
    against = [verdict(row.name, baseline.name) for row in [best, *cells]]
    if 1 in against:
        return f"Use {name}: {score}{better}. Best baseline: {bar} ({rival}).{tied}"
    if against[0] == -1:
        more = f"; {len(ties)} more {'tie' if ties[1:] else 'ties'} with it" if ties else ""
        transformer = f"Best transformer: {run.score_text(best.name)} ({name}{more})."
        return f"Use the baseline {rival}: {run.metric.label} {bar}. {transformer}"
    return f"Undecided: {name} has {score}, the baseline {rival} {bar}.{tied}"


def _choices(run: EvaluatedRun) -> str:
    """The effects that are real, the largest first."""
    effects = run.effects.main if run.effects else []
    known = [(effect, effect.difference) for effect in effects if effect.difference]
    parts = []
    for effect, difference in sorted(known, key=lambda pair: -abs(pair[1].mean)):
        names = effect.component, effect.against
        better, worse = names if run.metric.better(difference.mean) > 0 else names[::-1]
        if difference.real:
            size = run.metric.format_size(difference.mean, difference.half)
            parts.append(f"{better} is better than {worse} by {size}")
    if not parts or not run.effects:
        return ""
    how = "Averaged over the grid" if run.effects.averaged else "Exchanged one at a time"
    more = len(parts) - NAMED
    rest = f"; {counted(more, 'more choice')} {'matters' if more == 1 else 'matter'}"
    return f"{how}, {'; '.join(parts[:NAMED])}{rest if more > 0 else ''}."


def _fastest(run: EvaluatedRun, cells: Sequence[Row]) -> str:
    """Which of the cells that tie trains fastest; of all cells where none is ranked."""
    tied, speeds = run.tied_cells(), run.speeds
    timed = [(row, rate) for row in tied or cells if (rate := speeds.rate("train", row.name))]
    if not timed[1:]:
        return ""
    fastest, *others = (row for row, _ in sorted(timed, key=lambda pair: -pair[1]))
    ratios = [(row, speeds.ratio("train", fastest.name, row.name)) for row in others]
    slower = [(row, ratio) for row, ratio in ratios if ratio and ratio.verdict == 1]
    if not slower:
        return ""
    second, ratio = slower[0]
    close = [row for row, ratio in ratios if not ratio or ratio.verdict != 1]
    rest = f"; not told apart from it: {listed(run.short_names(close), NAMED)}" if close else ""
    return (
        f"Of {'the cells that tie' if tied else 'all cells'}, {run.short_name(fastest)} trains "
        f"fastest: {ratio.value:.2f} times as fast as {run.short_name(second)} "
        f"({ends(ratio.low, ratio.high)}){rest}."
    )


def _more_seeds(run: EvaluatedRun) -> str:
    """How many more seeds would allow a test; empty where there was one, or nothing to test."""
    enough, scored = run.verdicts.enough, [row for row in run.rows if row.values]
    lacking = enough - max(len(row.values) for row in scored if not row.baseline)
    if run.verdicts.pairs or lacking <= 0 or not scored[1:]:
        return ""
    seeds = "One more seed" if lacking == 1 else f"{NUMBERS[lacking]} more seeds"
    return f"{seeds} would allow a test; run with --seeds {enough}."
