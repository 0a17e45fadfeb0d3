"""Published comparisons as tables: a row tells by itself what was compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from tabulate import tabulate

from bench.peers.comparison import Comparison, Kind, read
from zoo.errors import counted
from zoo.measure.turns import NARROW
from zoo.report.stats.ratios import CONTENDED, UNDECIDED

CONDITIONS = ("work", "sizes", "against", "device", "precision", "threads")
NO_GPU = "On a GPU: not yet measured."
SAID = {1: "faster", -1: "slower", 0: "not told apart"}


def as_markdown(file: Path, kind: Kind) -> str:
    """The table of one kind, with notes on machine and intervals; empty without any file.

    Lines of too few blocks are not shown; a sentence says how many there are.
    """
    shown, hidden = _shown(file, kind)
    if not shown:
        return "\n".join([*hidden, ""])
    equal = shown if kind == "equal" else _shown(file, "equal")[0]
    rows, columns = _rows(shown, equal), COLUMNS[kind]
    cells = [[column.text(row) for column in columns] for row in rows]
    heads = [column.head for column in columns]
    filled = [n for n in range(len(heads)) if any(row[n] for row in cells)]
    table = tabulate(
        [[row[n] for n in filled] for row in cells],
        [heads[n] for n in filled],
        "github",
        disable_numparse=True,
    )
    notes = "\n".join(f"- {note}" for note in [*_notes(rows), *hidden])
    return f"{table}\n\n{notes}\n"


def summary(file: Path) -> str:
    """What the comparisons of equal work say, in a sentence for training and one for inference.

    Then machine and commit, and whether a GPU was among the machines.
    """
    shown, hidden = _shown(file, "equal")
    sentences = [] if shown else hidden
    rows = _rows(shown, shown)
    works = [row.run.work.partition(" ")[0] for row in rows]
    for work in dict.fromkeys(works):
        of_work = [row for row, own in zip(rows, works, strict=True) if own == work]
        ratios, verdicts = [row.ratio for row in of_work], [row.verdict for row in of_work]
        counts = [f"{words} in {n}" for words in SAID.values() if (n := verdicts.count(words))]
        times = f"{min(ratios):.2f} to {max(ratios):.2f} times"
        sentences.append(
            f"Doing the same work, the others take {times} as long as the zoo in {work}; "
            f"of {counted(len(of_work), 'comparison')} the zoo is {', '.join(counts)}, and the "
            f"whole interval is at 1 or above in {sum((row.run.low or 0) >= 1 for row in of_work)}."
        )
    if shown:
        sentences += _made_on(shown)
        sentences += [] if any(one.device == "cuda" for one in shown) else [NO_GPU]
    return "\n".join([*sentences, ""]) if sentences else ""


def verdict_counts(file: Path) -> dict[str, int]:
    """What the zoo is in comparisons of equal work, and in how many: ``faster``, and so on."""
    shown, _ = _shown(file, "equal")
    verdicts = [row.verdict for row in _rows(shown, shown)]
    return {words: n for words in SAID.values() if (n := verdicts.count(words))}


def _shown(file: Path, kind: Kind) -> tuple[list[Comparison], list[str]]:
    """The comparisons of a kind that are shown, and in a sentence what is not."""
    if not file.exists():
        return [], []
    wanted = [one for one in read(file) if one.kind == kind and not one.skipped]
    shown = [one for one in wanted if one.low is not None]
    if few := len(wanted) - len(shown):
        lines = f"{counted(few, 'line')} of too few blocks for an interval"
        return shown, [f"Not shown of {file.name}: {lines}."]
    return shown, [] if shown else ["Nothing is measured yet."]


@dataclass(frozen=True)
class Row:
    """One comparison. equal: equal work of the same sizes against the same side."""

    run: Comparison
    equal: Comparison | None = None

    @property
    def ratio(self) -> float:
        """The centre over blocks."""
        assert self.run.ratio is not None
        return self.run.ratio

    @property
    def verdict(self) -> str:
        """What the zoo is: ``faster``, ``slower`` or ``not told apart``."""
        return SAID[self.run.found.verdict or 0]


def _rows(comparisons: Sequence[Comparison], equal: Iterable[Comparison]) -> list[Row]:
    known = {_conditions(run): run for run in equal}
    return [Row(run, known.get(_conditions(run))) for run in comparisons]


def _conditions(run: Comparison) -> tuple[object, ...]:
    return tuple(getattr(run, name) for name in CONDITIONS)


def _interval(row: Row) -> str:
    """``1.200 (1.180 to 1.220)``, with a star where other work had the core."""
    star = "*" if row.run.found.contended else ""
    return f"{_text(row.ratio)} ({_text(row.run.low)} to {_text(row.run.high)}){star}"


def _text(ratio: float | None) -> str:
    """Four digits, zeros among them: 1.098 is seen to miss a goal of 1.1, and 1.100 to reach it."""
    return "" if ratio is None else f"{ratio:#.4g}"


def _goal(run: Comparison) -> str:
    """``≥ 1.1: yes``."""
    if run.reach is None or run.reached is None:
        return ""
    return f"≥ {run.reach:.3g}: {'yes' if run.reached else 'no'}"


def _timed(run: Comparison) -> str:
    precision = "" if run.precision in ("", "fp32") else f", {run.precision}"
    return f"{run.work}, {run.sizes}{precision}" if run.sizes else f"{run.work}{precision}"


class Column(NamedTuple):
    """A heading, and the text of a cell."""

    head: str
    text: Callable[[Row], str]


RATIO = Column("their time / ours (95%)", _interval)
TIMED = Column("what is timed", lambda row: _timed(row.run))
GOAL = Column("goal", lambda row: _goal(row.run))
OURS = Column("ours", lambda row: row.run.ours)
THEIRS = Column("theirs", lambda row: row.run.theirs)
AGAINST = Column("against", lambda row: row.run.against)
VERDICT = Column("the zoo is", lambda row: row.verdict)
AT_EQUAL_WORK = Column("at equal work", lambda row: _text(row.equal.ratio) if row.equal else "")
SHARE = Column(
    "of the matrix rate",
    lambda row: "" if row.run.matrix_share is None else f"{row.run.matrix_share:.0%}",
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "equal": (
        TIMED,
        OURS._replace(head="both compute"),
        AGAINST,
        RATIO,
        VERDICT,
        GOAL,
        SHARE,
    ),
    "left out": (TIMED, OURS, AGAINST, THEIRS, RATIO, AT_EQUAL_WORK, GOAL),
}
assert set(COLUMNS) == set(get_args(Kind))


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


def _notes(rows: Sequence[Row]) -> list[str]:
    comparisons = [row.run for row in rows]
    notes = _made_on(comparisons)
    kind, least = comparisons[0].kind, min(c.blocks for c in comparisons)
    notes.append(
        f"{ABOUT[kind]}the Hodges-Lehmann centre of at least {least} blocks of one to three "
        "processes, in each of which all have a turn, with its 95% interval. At one thread of a "
        "CPU the time is CPU time, else wall time."
    )
    if wide := sum(math.log(c.high / c.low) / 2 > NARROW for c in comparisons if c.low and c.high):
        notes.append(
            f"The interval of {counted(wide, 'row')} reaches further than {NARROW:.0%} to a side: "
            "the limit of time or of blocks came first."
        )
    if any(c.found.contended for c in comparisons):
        notes.append(f"*: other work had the core; nothing under {CONTENDED:.0%} is decided.")
    if any(run.reached is not None for run in comparisons):
        notes.append("Goal: reached or not by the ratio itself, wherever its interval ends.")
    # Comparisons of one case share their copy.
    if checks := list({c.check: c.checked for c in comparisons if c.checked is not None}.values()):
        notes.append(
            "Check: a second copy of the same model, timed in the same blocks, is told apart from "
            f"it in {sum(bool(one.verdict) for one in checks)} of {counted(len(checks), 'case')}; "
            f"it differs by up to {max(abs(one.value - 1) for one in checks):.1%}."
        )
    if any("blocks kept" in c.ours for c in comparisons):
        notes.append("Blocks kept: malloc keeps the memory that a step frees for the next one.")
    if kind == "equal":
        notes.append(
            "Faster and slower: the interval does not contain 1, and the ratio is more than "
            f"{UNDECIDED:.0%} away from it."
        )
        notes.append(
            "Before timing, equal logits and gradients are asserted on a batch that is timed; all "
            "have the same batches in the same order."
        )
        notes.append(
            "Of the matrix rate: our operations by formula over those of the machine's own large "
            "products, timed in the same blocks. Nothing that computes as much can be faster than "
            "100%."
        )
    return notes


ABOUT = {
    "equal": "Ratio: ",
    "left out": "Ratio: their time over ours; at equal work: the ratio of the same models and "
    "batches with nothing left out, so that the rest is what leaving it out gives. The ratio is ",
}
