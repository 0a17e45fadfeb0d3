"""Published comparisons as tables: a row tells by itself what was compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from tabulate import tabulate

from bench.peers.comparison import Comparison, Kind, read
from bench.peers.turns import LEAST_ROUNDS
from zoo.wording import counted

Runs = Sequence[Comparison]  # of one comparison
FIELDS = ("kind", "work", "sizes", "ours", "against", "theirs", "device", "precision", "threads")


def as_markdown(file: Path, kind: Kind) -> str:
    """The table of one kind, with notes on machine and noise; empty without any file.

    Lines that do not say what each side computes, and those of too few rounds, are not shown; a
    sentence says how many there are.
    """
    shown, hidden = _shown(file, kind)
    if not shown:
        return "\n".join([*hidden, ""])
    rows, columns = _grouped(shown), COLUMNS[kind]
    cells = [[column.text(runs) for column in columns] for runs in rows]
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
    works = [one.work.partition(" ")[0] for one in shown]
    for work in dict.fromkeys(works):
        rows = _grouped(one for one, own in zip(shown, works, strict=True) if own == work)
        ratios, verdicts = [_ratio(runs) for runs in rows], [verdict(runs) for runs in rows]
        counts = [f"{words} in {n}" for v, words in SAID.items() if (n := verdicts.count(v))]
        sentences.append(
            f"Doing the same work, the others take {min(ratios):.2f} to {max(ratios):.2f} times as "
            f"long as the zoo in {work}; of {len(rows)} comparisons the zoo is {', '.join(counts)}."
        )
    if shown:
        sentences += _made_on(shown)
        sentences += [] if any(one.device == "cuda" for one in shown) else [NO_GPU]
    return "\n".join([*sentences, ""]) if sentences else ""


def _shown(file: Path, kind: Kind) -> tuple[list[Comparison], list[str]]:
    """The comparisons of a kind that are shown, and in sentences what is not."""
    if not file.exists():
        return [], []
    comparisons, others = read(file)
    wanted = [one for one in comparisons if one.kind == kind and not one.skipped]
    shown = [one for one in wanted if one.rounds >= LEAST_ROUNDS]
    counts = (
        (others, "that do not say what each side computes"),
        (len(wanted) - len(shown), f"of fewer than {LEAST_ROUNDS} rounds"),
    )
    hidden = "; ".join(f"{counted(number, 'line')} {which}" for number, which in counts if number)
    sentences = [f"Not shown of {file.name}: {hidden}."] if hidden else []
    return shown, sentences or ([] if shown else ["Nothing is measured yet."])


NO_GPU = "On a GPU: not yet measured."
SAID = {"faster": "faster", "slower": "slower", "tie": "not distinguished"}


def verdict(runs: Runs) -> str:
    """``faster`` or ``slower`` where no interval of a run contains 1, else ``tie``."""
    low, high = _ends(runs)
    if low is None or high is None:
        return ""
    above, below = ("slower", "faster") if runs[0].bound == "at most" else ("faster", "slower")
    return above if low > 1 else below if high < 1 else "tie"


def _grouped(comparisons: Iterable[Comparison]) -> list[Runs]:
    """The runs of each comparison."""
    found: dict[tuple[object, ...], list[Comparison]] = {}
    for one in comparisons:
        found.setdefault(tuple(getattr(one, name) for name in FIELDS), []).append(one)
    return list(found.values())


def _ratio(runs: Runs) -> float:
    return statistics.median(run.ratio for run in runs if run.ratio is not None)


def _ends(runs: Runs) -> tuple[float | None, float | None]:
    """The lowest and the highest end of the runs' intervals."""
    lows = [run.low for run in runs if run.low is not None]
    highs = [run.high for run in runs if run.high is not None]
    return (min(lows), max(highs)) if lows and highs else (None, None)


def _interval(runs: Runs) -> str:
    low, high = _ends(runs)
    if low is None or high is None:
        return _text(_ratio(runs))
    return f"{_text(_ratio(runs))} ({_text(low)} to {_text(high)})"


def _text(ratio: float) -> str:
    """Four digits, zeros among them: 1.098 is seen to miss a goal of 1.1, and 1.100 to reach it."""
    return f"{ratio:#.4g}"


def _goal(runs: Runs) -> str:
    """``≥ 1.1: yes``; of several runs in how many."""
    first, reached = runs[0], [run.reached for run in runs if run.reached is not None]
    if first.reach is None or not reached:
        return ""
    if len(set(reached)) > 1:
        found = f"in {sum(reached)} of {len(reached)}"
    else:
        found = "yes" if reached[0] else "no"
    return f"{'≥' if first.bound == 'at least' else '≤'} {first.reach:.3g}: {found}"


def _share(runs: Runs) -> str:
    """``80% (85%)``: our share of the matrix rate, in brackets with recomputation."""
    shares = [
        [value for run in runs if (value := getattr(run, name)) is not None]
        for name in ("matrix_share", "recomputed_share")
    ]
    texts = [f"{statistics.median(values):.0%}" for values in shares if values]
    return f"{texts[0]} ({texts[1]})" if len(texts) > 1 else "".join(texts)


def _timed(runs: Runs) -> str:
    first = runs[0]
    precision = "" if first.precision in ("", "fp32") else f", {first.precision}"
    return f"{first.work}, {first.sizes}{precision}" if first.sizes else f"{first.work}{precision}"


class Column(NamedTuple):
    """A heading, and the text of a cell."""

    head: str
    text: Callable[[Runs], str]


RATIO = Column("their time / ours (95%)", _interval)
TIMED, GOAL = Column("what is timed", _timed), Column("goal", _goal)
OURS, THEIRS = Column("ours", lambda runs: runs[0].ours), Column("theirs", lambda r: r[0].theirs)
AGAINST = Column("against", lambda runs: runs[0].against)
VERDICT = Column("the zoo is", verdict)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "equal": (
        TIMED,
        OURS._replace(head="both compute"),
        AGAINST,
        RATIO,
        VERDICT,
        GOAL,
        Column("of the matrix rate", _share),
    ),
    "left out": (TIMED, OURS, AGAINST, THEIRS, RATIO, GOAL),
    "own": (TIMED, OURS, AGAINST, THEIRS, RATIO._replace(head="ratio (95%)"), GOAL),
}
assert set(COLUMNS) == set(get_args(Kind))


def _made_on(comparisons: Iterable[Comparison]) -> list[str]:
    """Machine and commit, and whether there are several."""
    made = [
        (f"{c.machine}, {c.threads} threads, torch {c.torch}", c.commit[:12] + c.commit[40:])
        for c in comparisons
    ]
    machines, commits = ("; ".join(dict.fromkeys(names)) for names in zip(*made, strict=True))
    notes = [f"Machine: {machines}. Commit: {commits or 'unknown'}."]
    if len(set(made)) > 1:
        notes.append("Rows of different machines or commits cannot be compared with each other.")
    return notes


def _notes(rows: Sequence[Runs]) -> list[str]:
    comparisons = [run for runs in rows for run in runs]
    notes = _made_on(comparisons)
    kind, least = comparisons[0].kind, min(c.rounds for c in comparisons)
    about = f"the geometric mean over at least {least} rounds, in which all are timed in turns, "
    about += "with the 95% t-interval of its logarithm."
    notes.append(f"{ABOUT[kind]}{about}")
    most = max(map(len, rows))
    if most > 1:
        notes.append(
            f"Up to {most} runs of each comparison: the median of their ratios, and in brackets "
            "the lowest and the highest end of their intervals."
        )
    if noise := [abs(c.noise - 1) for c in comparisons if c.noise is not None]:
        notes.append(
            "Noise: a second copy of the same model, timed in the same rounds, differed by up to "
            f"{max(noise):.1%}."
        )
    if any("blocks kept" in c.ours for c in comparisons):
        notes.append("Blocks kept: malloc keeps the memory that a step frees for the next one.")
    if kind == "equal":
        notes.append(
            "Tie: the interval contains 1. Before timing, equal logits and gradients are "
            "asserted on a batch that is timed; all have the same batches in the same order."
        )
        notes.append(
            "Of the matrix rate: our operations by formula over those of the machine's own large "
            "products, timed in the same rounds; in brackets with what the attention kernel "
            "computes a second time in its backward pass. Nothing that computes as much can be "
            "faster than 100%."
        )
    return notes


ABOUT = {
    "equal": "Ratio: ",
    "left out": "Ratio: their time over ours. What of it is not from the thing left out is in the "
    "rows of equal work. It is ",
    "own": "Ratio: a share or theirs over ours where the goal is ≥, ours over theirs where it is "
    "≤: ",
}
