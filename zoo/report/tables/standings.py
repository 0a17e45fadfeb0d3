"""Where a run's own rows stand among rows from elsewhere, on streamed data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from zoo.errors import counted
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.stats.learning import exchanged_over
from zoo.report.tables.learned import times


def standings_of(runs: Sequence[EvaluatedRun], shown: Mapping[str, str]) -> list[str]:
    """A sentence for each own row: how many of the examples of the first other row it needs.

    That is over all these runs, which are on different data; of a single one also what the row
    learns, and its place. shown: row name to the one that tables print.
    """
    sentences = []
    for name in dict.fromkeys(record.name for run in runs for record in run.own):
        there = [run for run in runs if run.others and {name, _reference(run)} <= {*run.learning}]
        if not there or name == (reference := _reference(there[0])):
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


def _reference(run: EvaluatedRun) -> str:
    """The row that others are held against: the first of those from elsewhere."""
    return run.others[0].name
