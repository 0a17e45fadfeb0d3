"""The table as a person reads it: ties look like ties, and every mark is told under it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from zoo.registry import AXES
from zoo.report.stats.intervals import ENOUGH, t_half
from zoo.report.stats.ratios import MEMORY_TIE
from zoo.report.tables.columns import scores_in
from zoo.report.tables.markdown import line
from zoo.report.tables.text import plain
from zoo.tasks.score import Score

FRONTS = {"front": "{}", "tied": "({})"}


def as_text(table: pd.DataFrame, style: str = "simple") -> str:
    """The readable table, laid out by tabulate: a line each, and in Markdown no markup."""
    from tabulate import tabulate

    shown = readable(table)
    told = line if style == "github" else plain
    others = {score.label for score in scores_in(table)[1:]}
    numbers, units = {"rank", "seeds", "params"} | others, ("/s", " ms", " MiB", " s")
    heads = [str(head) for head in shown.columns]
    align = ["right" if h in numbers or h.endswith(units) else "left" for h in heads]
    return str(
        tabulate(
            [[told(value) for value in row] for row in shown.values.tolist()],
            headers=heads,
            tablefmt=style,
            colalign=align if len(shown) else None,
            disable_numparse=True,
        )
    )


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The axes that differ, rounded numbers, units in the heads; columns of nothing left out."""
    cells = table[table["baseline"] == ""]
    axes = [axis for axis in AXES if cells[axis].nunique() > 1] or ["attention", "pe"]
    if "attention" not in axes:
        axes.insert(0, "attention")
    shown = table[axes].copy()
    if (table["status"] != "ok").any():
        shown["status"] = [
            status if status == "ok" else f"{status}: {reason}"
            for status, reason in zip(table["status"], table["reason"], strict=True)
        ]
    if table["rank"].notna().any():
        shown["rank"] = _ranks(table["rank"])
    score, *others = scores_in(table)
    if table[f"{score.name}_mean"].notna().any():
        shown[score.label] = [_value(row, score) for _, row in table.iterrows()]
        for other in others:
            if (values := table[f"{other.name}_mean"]).notna().any():
                shown[other.label] = [_number(value, other.form) for value in values]
        shown["seeds"] = [str(n) for n in table["seeds"]]
    shown["params"] = [_number(v, "{:,.0f}") for v in table["params"]]
    for phase in ("train", "infer"):
        if table[f"{phase}_tokens_per_s"].notna().any():
            speeds = table[f"{phase}_tokens_per_s"]
            shown[f"{phase} tok/s"] = [_number(value, "{:,.0f}") for value in speeds]
        if table[f"{phase}_ratio"].notna().any():
            shown[f"× {phase}"] = [_ratio(row, phase) for _, row in table.iterrows()]
    for head, column, form in (
        ("latency ms", "latency_ms", "{:.2f}"),
        ("memory MiB", "peak_memory_mib", "{:,.0f}"),
    ):
        if table[column].notna().any():
            shown[head] = [_number(value, form) for value in table[column]]
    # Trials may run beside other work: once there are probes, what they took tells nobody anything.
    if table["train_tokens_per_s"].isna().all() and table["train_seconds"].notna().any():
        shown["train s"] = [_number(value, "{:.1f}") for value in table["train_seconds"]]
    if (table[["pareto_speed", "pareto_memory"]] != "").any(axis=None):
        shown["front"] = [_fronts(row) for _, row in table.iterrows()]
    return shown


def _ranks(ranks: pd.Series) -> list[str]:
    counts = ranks.value_counts()
    return [
        "" if pd.isna(rank) else f"{rank:.0f}{'=' if counts[rank] > 1 else ''}" for rank in ranks
    ]


def _value(row: pd.Series, score: Score) -> str:
    mean = row[f"{score.name}_mean"]
    if pd.isna(mean) or row["seeds"] < ENOUGH:
        return _number(mean, score.form)
    half = t_half(row[f"{score.name}_std"], row["seeds"])
    return f"{score.form.format(mean)} ± {score.form.format(half)}"


def _ratio(row: pd.Series, phase: str) -> str:
    value, low, high = (row[f"{phase}_ratio{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return ""
    if pd.isna(low):
        return "reference" if _name(row) == row["reference"] else f"{value:.2f}"
    said = "tie" if row[f"{phase}_tie"] else f"{value:.2f}"
    return f"{said} ({low:.2f} to {high:.2f})"


def _name(row: pd.Series) -> str:
    return str(row["baseline"] or "+".join(row[axis] for axis in AXES))


def _fronts(row: pd.Series) -> str:
    return " ".join(
        FRONTS[row[f"pareto_{count}"]].format(count)
        for count in ("speed", "memory")
        if row[f"pareto_{count}"] in FRONTS
    )


def percent(share: float) -> str:
    """A noise floor as a person reads it."""
    return f"± {share:.0%}" if share >= 0.1 else f"± {share:.1%}"


def _number(value: Any, form: str) -> str:
    return "" if value is None or pd.isna(value) else form.format(value)


def notes(table: pd.DataFrame) -> list[str]:
    """What the marks and intervals of the table mean, and what noise there is: a line each."""
    lines = []
    score = scores_in(table)[0]
    if table[f"{score.name}_mean"].notna().any():
        lines += _score_notes(table, score)
    if table["train_ratio"].notna().any():
        lines += _speed_notes(table)
    if (table[["pareto_speed", "pareto_memory"]] != "").any(axis=None):
        lines.append(
            f"Front (of {score.label} and speed, of {score.label} and memory): nothing is really "
            "better on one count and at least a tie on the other; in brackets where something is, "
            f"but only by a tie. Memory is measured once; within {MEMORY_TIE:.0%} is a tie."
        )
    return lines


def _score_notes(table: pd.DataFrame, score: Score) -> list[str]:
    cells = table[(table["baseline"] == "") & (table["seeds"] > 0)]
    counts = (cells if len(cells) else table[table["seeds"] > 0])["seeds"]
    few, many = int(counts.min()), int(counts.max())
    seeds = f"Seeds: {few if few == many else f'{few} to {many}'} per row"
    if many < ENOUGH:
        lines = [f"{seeds}: too few seeds for an interval (it takes {ENOUGH}); nothing is ranked."]
    else:
        lines = [
            f"{seeds}, paired across rows. ± is the 95% t-interval of the mean over seeds"
            f"{'' if few >= ENOUGH else f'; too few seeds for one where there are under {ENOUGH}'}."
        ]
    if not score.higher_is_better:
        lines[-1] += f" Fewer {score.unit} are better."
    shares = bool(table["test_documents"].notna().any())
    ranked = int(table["rank"].notna().sum())
    if ranked:
        pairs = ranked * (ranked - 1) // 2
        lines.append(
            "Rank: 1= cannot be told apart from the best; others are 1 + the rows really better. "
            "Really: they would differ again with new seeds on this test set (paired t-test over "
            f"seeds{_MCNEMAR.format(score.of) if shares else ''}; 5%, Holm's correction "
            f"for {pairs} {'pair' if pairs == 1 else 'pairs'})."
        )
    if shares:
        error = 100 * table[f"{score.name}_sampling_error"].max()
        documents = table["test_documents"].max()
        lines.append(
            f"Test set: {documents:.0f} {score.of}; with others of their kind one model's "
            f"{score.label} would come out up to ± {error:.1f} points from this (95%, Wilson), on "
            "top of ±."
        )
    return lines


def _speed_notes(table: pd.DataFrame) -> list[str]:
    rounds = table["rounds"].dropna()
    few, many = int(rounds.min()), int(rounds.max())
    lines = [
        f"×: speed over the reference's in the same rounds ({few if few == many else f'{few} to '}"
        f"{'' if few == many else many} of them), with the 95% t-interval of their log ratios"
        f"{'' if few >= ENOUGH else f'; too few rounds for an interval (it takes {ENOUGH})'}. "
        "tie: the interval holds 1, or the ratio is within the noise floor.",
        f"Reference: {table['reference'].iloc[0]}.",
    ]
    missing = int((table["train_tokens_per_s"].notna() & table["train_ratio"].isna()).sum())
    if missing:
        lines[-1] += f" {missing} of the rows were measured beside another one: no ratio."
    floors = {phase: table[column].max() for phase, column in _FLOORS.items()}
    if all(pd.notna(floor) for floor in floors.values()):
        lines.append(
            f"Noise floor: {percent(floors['training'])} training, "
            f"{percent(floors['inference'])} inference; so far may the reference seem to be from "
            "its own twin."
        )
    else:
        lines.append("Noise floor: unknown, for the reference's twin has too few rounds.")
    return lines


_MCNEMAR = ", and McNemar's over the {} on which two disagree"
_FLOORS = {"training": "noise_floor", "inference": "infer_noise_floor"}


def counted(count: int, what: str) -> str:
    """``1 effect``, ``3 effects``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
