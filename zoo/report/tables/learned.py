"""What is said of runs on streamed diagnostics: answers, notes, and where own rows stand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from zoo.errors import counted, listed
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import ReportRow
from zoo.report.stats.learning import Exchange, exchanged, exchanged_over, thousands
from zoo.report.stats.verdicts import MOST_EXCHANGED
from zoo.report.tables.text import from_to

NAMED = 3  # rows that a sentence names
ENOUGH = 6  # seeds that an overview has
CELL = (
    "6/6 · 12k · 3 rates: solved in so many of the runs at the best rate, in the median after so "
    "many examples, and by more than half of the seeds at so many rates. >: the budget, where half "
    "or fewer solve. .53: the median test score, where none does."
)
FAMILY = (
    "These pairs are an exploratory family: of those that are told apart, at most one in twenty is "
    "wrong in the mean (Benjamini and Hochberg). A claim is tested by itself."
)


def learned_answer(run: EvaluatedRun) -> list[str]:
    """At most four lines: what learns first, what is slower, what never does, what is missing."""
    ranked = [row for row in run.by_score(baseline=False) if row.learning]
    first, verdicts = ranked[0], run.verdicts
    learning = run.learning[first.name]
    name = run.short_name(first)
    if not learning.times_solved:
        score = "" if learning.score is None else f" {run.metric.format(learning.score)}"
        needs = f", where {run.chance_text} needs no skill" if run.chance_text else ""
        return [f"No row solves it in any run: {name} comes to {run.metric.label}{score}{needs}."]
    solved = [row for row in ranked if run.learning[row.name].solved.any()]
    never = [row for row in ranked if row not in solved]
    after = "" if learning.median is None else f", after {thousands(learning.median)} examples"
    lines = [
        f"{name} needs the fewest examples: solved in {learning.times_solved} of "
        f"{counted(learning.runs, 'run')} at rate {learning.rate:g}{after}."
    ]
    slower = [row for row in solved if verdicts.verdict(row.name, first.name) == -1]
    ratios = [exchanged(run.learning[row.name], learning) for row in slower[:NAMED]]
    parts = [
        f"{run.short_name(row)} needs {times(ratio)} its examples"
        for row, ratio in zip(slower, ratios, strict=False)
    ]
    if slower[NAMED:]:
        parts.append(f"{counted(len(slower) - NAMED, 'more row')} also more")
    alike = [row for row in solved if row not in (first, *slower)]
    if alike and not verdicts.limited:
        parts.append(f"{'not' if parts else 'Not'} told apart from it: {names_of(run, alike)}")
    lines += [f"{'; '.join(parts)}."] if parts else []
    lines += [f"Never solved by {names_of(run, never)}."] if never else []
    if len(learning.seeds) < ENOUGH and set(verdicts.ranks().values()) == {1}:
        seeds = counted(len(learning.seeds), "seed")
        lines.append(f"No two rows are told apart by {seeds}; run with --seeds {ENOUGH}.")
    return lines


def times(exchange: Exchange) -> str:
    """``2.1 times (1.4 to 3.2)``; with one end alone ``at least 1.4 times``."""
    ratio, low, high = (f"{x:.2g}" for x in (exchange.ratio, exchange.low, exchange.high))
    if math.isinf(exchange.high):
        return f"at least {low} times" if exchange.low else f"{ratio} times (too few runs for ends)"
    return f"{ratio} times ({low} to {high})" if exchange.low else f"at most {high} times"


def standings_of(runs: Sequence[EvaluatedRun], shown: Mapping[str, str]) -> list[str]:
    """A sentence for each own row: how many of the examples of the first other row it needs.

    That is over all these runs, which are on different data; of a single one also what the row
    learns, and its place. shown: row name to the one that tables print.
    """
    beside_others = [run for run in runs if run.others]
    if not beside_others:
        return []
    reference, sentences = beside_others[0].others[0].name, []
    for name in dict.fromkeys(record.name for run in runs for record in run.own):
        there = [run for run in beside_others if {name, reference} <= {*run.learning}]
        if not there or name == reference:
            continue
        pairs = [(run.learning[name], run.learning[reference]) for run in there]
        if any(learning.solved.any() for pair in pairs for learning in pair):
            of, exchange = shown[reference], exchanged_over(pairs)
            needs = f"needs {times(exchange)} the examples of {of} (p = {exchange.p:.2g})"
        else:
            needs = f"solves nothing in any run, and neither does {shown[reference]}"
        if len(runs) > 1:
            sentences.append(f"Over {counted(len(there), 'data set')} {shown[name]} {needs}.")
            continue
        (run,) = there
        others = [other for other in run.learning if other != name]
        verdicts = Counter(run.verdicts.verdict(name, other) for other in others)
        place = f"faster {verdicts[-1]}, slower {verdicts[1]}, not told apart {verdicts[0]}"
        place = "" if run.verdicts.limited else f" Of {counted(len(others), 'other row')}: {place}."
        sentences.append(f"{shown[name]}: {pairs[0][0].text()}. It {needs}.{place}")
    return sentences


def learned_notes(run: EvaluatedRun) -> list[str]:
    """How the runs were made, what a cell says, and what a rank means."""
    learning = next(iter(run.learning.values()))
    rates = listed([f"{rate:g}" for rate in learning.rates])
    runs = sorted(of.runs for of in run.learning.values())
    seeds = f"{from_to(runs[0], runs[-1])} seed{'' if runs[-1] == 1 else 's'}"
    goal = run.solved_at
    until = "" if goal is None else f" with {run.metric.label} {run.metric.format(goal)} or more"
    notes = [
        f"Every row was trained at {counted(len(learning.rates), 'rate')} ({rates}) with "
        f"{seeds}, until two evaluations in a row on held-out texts ended{until}, or to the "
        f"budget of {learning.budget:,} examples. Nothing is tuned, and every run counts.",
        CELL,
    ]
    if run.verdicts.limited:
        notes.append(f"Of more than {MOST_EXCHANGED} rows none are ranked.")
    elif run.verdicts.ranks():
        notes.append(
            "Rank: 1 + the number of rows that learn significantly faster over these rates: the "
            "examples until solved, censored at the budget, are exchanged within pairs of runs of "
            f"one rate and one seed ({counted(run.verdicts.tests, 'comparison')}). {FAMILY}"
        )
    return notes


def names_of(run: EvaluatedRun, rows: Iterable[ReportRow]) -> str:
    """The names of rows in a sentence, which has a few of them."""
    return listed([run.short_name(row) for row in rows], NAMED)
