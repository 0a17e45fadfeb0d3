"""Published comparisons as a table: a row tells by itself what was compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.peers.comparison import Comparison, read
from bench.publish.markdown import grid
from zoo.errors import counted
from zoo.measure.turns import NARROW
from zoo.report.stats.ratios import CONTENDED, UNDECIDED

NO_GPU = "On a GPU: not yet measured."
VERDICTS = {1: "faster", -1: "slower", 0: "not told apart"}


def as_markdown(file: Path) -> str:
    """The table with notes on machine and intervals; empty without any comparison."""
    if not (shown := _shown(file)):
        return ""
    notes = "\n".join(f"- {note}" for note in _notes(shown))
    return f"{grid([_row(c) for c in shown])}\n\n{notes}\n"


def verdict_sentence(file: Path) -> str:
    """In how many comparisons the zoo is faster, slower or not told apart; empty without any."""
    if not (shown := _shown(file)):
        return ""
    names = [_verdict(c) for c in shown]
    counts = [f"{words} in {n}" for words in VERDICTS.values() if (n := names.count(words))]
    many = counted(len(shown), "comparison")
    return f"Of {many} of equal work the zoo is {', '.join(counts)}."


def summary(file: Path) -> str:
    """The verdicts, machine and commit, and whether a GPU was among the machines."""
    if not (shown := _shown(file)):
        return ""
    no_gpu = [] if any(c.device == "cuda" for c in shown) else [NO_GPU]
    return "\n".join([verdict_sentence(file), *_made_on(shown), *no_gpu, ""])


def _verdict(comparison: Comparison) -> str:
    return VERDICTS[comparison.estimate.verdict or 0]


def _shown(file: Path) -> list[Comparison]:
    """The comparisons with an interval."""
    return [c for c in read(file) if c.low is not None] if file.exists() else []


def _row(comparison: Comparison) -> dict[str, str]:
    precision = "" if comparison.precision in ("", "fp32") else comparison.precision
    interval = f"{comparison.low:#.4g} to {comparison.high:#.4g}"
    star = "*" if comparison.estimate.contended else ""
    return {
        "what is timed": ", ".join(filter(None, [comparison.work, comparison.sizes, precision])),
        "both compute": comparison.ours,
        "against": comparison.against,
        "their time / ours (95%)": f"{comparison.ratio:#.4g} ({interval}){star}",
        "the zoo is": _verdict(comparison),
    }


def _made_on(comparisons: Iterable[Comparison]) -> list[str]:
    """Machine and commit, and whether there are several."""
    made = [
        (
            f"{c.machine}, {counted(c.threads, 'thread')}, torch {c.torch}",
            c.commit[:12] + c.commit[40:],
        )
        for c in comparisons
    ]
    machines, commits = ("; ".join(dict.fromkeys(names)) for names in zip(*made, strict=True))
    notes = [f"Machine: {machines}. Commit: {commits or 'unknown'}."]
    if len(set(made)) > 1:
        notes.append("Rows of different machines or commits cannot be compared with each other.")
    return notes


def _notes(shown: Sequence[Comparison]) -> list[str]:
    notes = _made_on(shown)
    notes.append(
        f"Ratio: the Hodges-Lehmann centre of at least {min(c.blocks for c in shown)} blocks of "
        "one to three processes, in each of which all have a turn, with its 95% interval. At one "
        "thread of a CPU the time is CPU time, else wall time."
    )
    if wide := sum(math.log(c.high / c.low) / 2 > NARROW for c in shown if c.low and c.high):
        notes.append(
            f"The interval of {counted(wide, 'row')} reaches further than {NARROW:.0%} to a side: "
            "the limit of time or of blocks came first."
        )
    if any(c.estimate.contended for c in shown):
        notes.append(f"*: other work had the core; nothing under {CONTENDED:.0%} is decided.")
    # Comparisons of one case share their copy.
    if checks := list({c.check: c.checked for c in shown if c.checked is not None}.values()):
        notes.append(
            "Check: a second copy of the same model, timed in the same blocks, is told apart from "
            f"it in {sum(bool(r.verdict) for r in checks)} of {counted(len(checks), 'case')}; "
            f"it differs by up to {max(abs(r.value - 1) for r in checks):.1%}."
        )
    return [
        *notes,
        "Blocks kept: malloc keeps the memory that a step frees for the next one.",
        "Faster and slower: the interval does not contain 1, and the ratio is more than "
        f"{UNDECIDED:.0%} away from it.",
        "Before timing, equal logits and gradients are asserted on a batch that is timed; all have "
        "the same batches in the same order.",
    ]
