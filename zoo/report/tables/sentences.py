"""Effects in words, one line each."""

from __future__ import annotations

import math
from typing import Any

from zoo.report.stats.effects import Effect, Effects
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import Ratio, memory_verdict
from zoo.report.tables.layout import counted, percent
from zoo.report.tables.markdown import code
from zoo.tasks.score import Score

LARGEST = 3  # interactions that are told


def effects_text(effects: Effects) -> str:
    """Main effects, the largest interactions, and what the numbers mean."""
    lines = [sentence(effect) for effect in effects.main]
    chosen = largest(effects.interactions)
    if chosen:
        count = len(effects.interactions)
        lines += ["", f"Largest of {count} interactions:" if count > 1 else "Interaction:"]
        lines += [sentence(effect) for effect in chosen]
    return "\n".join([*lines, "", *_notes(effects)])


def largest(interactions: list[Effect]) -> list[Effect]:
    """The three that move the score most, then those among the three of speed that are not yet in.

    By the size of what was found, not by how sure it is: the line says that.
    """
    by_score = sorted(interactions, key=lambda e: -abs(e.difference.mean if e.difference else 0.0))
    by_speed = sorted(interactions, key=lambda e: -_moved(e.speed.get("train")))
    chosen = [e for e in by_score[:LARGEST] if e.difference is not None]
    return chosen + [e for e in by_speed[:LARGEST] if e.speed.get("train") and e not in chosen]


def _moved(ratio: Ratio | None) -> float:
    return abs(math.log(ratio.value)) if ratio else 0.0


def sentence(effect: Effect) -> str:
    """One effect: ``\\`rope\\` against \\`sin\\`: +0.4 ± 0.3 points, 0.93 × the speed``."""
    said = f"{code(effect.component)} against {code(effect.against)}"
    if effect.other:
        said += f", with {code(effect.other)} rather than {code(effect.other_against)}"
    parts = [_change(effect.difference, effect.score)] if effect.difference else []
    if train := effect.speed.get("train"):
        parts.append(_times(train, "the speed"))
    if infer := effect.speed.get("infer"):
        parts.append(_times(infer, "in inference"))
    if effect.memory is not None:
        tie = "" if memory_verdict(effect.memory, 1.0) else " (tie)"
        parts.append(f"{effect.memory:.2f} × the memory{tie}")
    return f"{said}: {', '.join(parts)}"


def _change(found: Difference, score: Score) -> str:
    said = score.told(found.mean, found.half)
    if found.half is None:
        return f"{said} ({counted(found.seeds, 'seed')}: too few seeds for an interval)"
    return f"{said}{'' if found.real else ' (tie)'}"


def _times(ratio: Ratio, what: str) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f} × {what}"
    tie = ", tie" if ratio.verdict == 0 else ""
    return f"{ratio.value:.2f} × {what} ({ratio.low:.2f} to {ratio.high:.2f}{tie})"


def _notes(effects: Effects) -> list[str]:
    grid = effects.grid
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in grid.axes.items())
    lines = [
        f"Averaged over a full grid: {shape}, {counted(len(grid.seeds), 'seed')}; what it says is "
        "of these combinations and this test set."
    ]
    score = effects.main[0].score
    if not score.higher_is_better:
        lines.append(f"Fewer {score.unit} are better.")
    if len(grid.seeds) >= ENOUGH:
        lines.append(
            "± is the 95% t-interval over seeds of each by itself; tie: not told apart from 0 at "
            f"5% after Holm's correction for {counted(len(effects.main), 'effect')}"
            + (
                f" and for {counted(len(effects.interactions), 'interaction')}"
                if effects.interactions
                else ""
            )
            + "."
        )
    floors = [e.speed["train"].floor for e in effects.main if e.speed["train"]]
    if known := [floor for floor in floors if floor is not None]:
        lines.append(
            "Speeds are geometric means, training unless it says inference, with 95% intervals "
            f"over rounds; tie: the interval holds 1, or the ratio is within the noise floor "
            f"({percent(max(known))})."
        )
    if effects.interactions:
        lines.append(
            "An interaction is how much more the first bought, with the one rather than with the "
            "other; those of three axes are not looked at."
        )
    return lines


def effects_data(effects: Effects) -> dict[str, Any]:
    """The same as plain values, for JSON: all interactions, not only the largest."""
    return {
        "grid": {axis: list(choices) for axis, choices in effects.grid.axes.items()},
        "seeds": list(effects.grid.seeds),
        "effects": [_data(effect) for effect in effects.main],
        "interactions": [_data(effect) for effect in effects.interactions],
    }


def _data(effect: Effect) -> dict[str, Any]:
    data: dict[str, Any] = {
        "axis": effect.axis,
        "component": effect.component,
        "against": effect.against,
    }
    if effect.other:
        data |= {
            "other_axis": effect.other_axis,
            "other": effect.other,
            "other_against": effect.other_against,
        }
    if found := effect.difference:
        low, high = found.interval.low, found.interval.high
        data[effect.score.name] = {
            "mean": found.mean,
            "low": low,
            "high": high,
            "p": found.p,
            "p_adjusted": found.adjusted,
            "tie": None if found.adjusted is None else not found.real,
        }
    for phase, ratio in effect.speed.items():
        if ratio:
            verdict = ratio.verdict
            data[f"{phase}_ratio"] = {
                "value": ratio.value,
                "low": ratio.low,
                "high": ratio.high,
                "noise_floor": ratio.floor,
                "tie": None if verdict is None else verdict == 0,
            }
    if effect.memory is not None:
        data["memory_ratio"] = effect.memory
    return data | {"text": sentence(effect)}
