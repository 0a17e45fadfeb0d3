"""Effects of components in words, one line each, and as plain values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from zoo.errors import counted
from zoo.report.stats.effects import Effect, Effects
from zoo.report.stats.ratios import memory_verdict
from zoo.report.tables.text import ends, plain
from zoo.report.tables.text import ratio as ratio_text
from zoo.report.tables.words import said

LARGEST = 3  # interactions that are printed


def effects_text(effects: Effects) -> str:
    """Main effects, the largest interactions, and what the numbers mean.

    Of the interactions: the three that change the metric most, then those of speed's three that
    are not among them. The size of the estimate counts, not its certainty: the line states that.
    """

    def change(effect: Effect) -> float:
        return -abs(effect.difference.mean) if effect.difference else 0.0

    def speed(effect: Effect) -> float:
        ratio = effect.speed.get("train")
        return -abs(math.log(ratio.value)) if ratio else 0.0

    found = effects.interactions
    largest = [e for e in sorted(found, key=change)[:LARGEST] if e.difference]
    fastest = [e for e in sorted(found, key=speed)[:LARGEST] if e.speed.get("train")]
    lines = [sentence(effect) for effect in effects.main]
    if chosen := [*largest, *(effect for effect in fastest if effect not in largest)]:
        lines += ["", f"Largest of {len(found)} interactions:" if found[1:] else "Interaction:"]
        lines += [sentence(effect) for effect in chosen]
    return "\n".join([*lines, "", *_notes(effects)])


def sentence(effect: Effect, name: Callable[[object], str] = plain) -> str:
    """One effect: ``rope against sin: +0.4 ± 0.3 points, 0.93 × the speed``.

    name: how a component is written; in Markdown as ``code``.
    """
    names = f"{name(effect.component)} against {name(effect.against)}"
    if effect.other:
        names += f", with {name(effect.other)} rather than {name(effect.other_against)}"
    parts = []
    if found := effect.difference:
        text = effect.metric.format_difference(found.mean, found.half)
        if found.half is None:
            text += f" ({counted(found.seeds, 'seed')}: too few seeds for an interval)"
        tie = " (equal)" if found.equal else " (tie)"
        parts.append(text if found.half is None or found.real else f"{text}{tie}")
    for phase, what in (("train", "the speed"), ("infer", "in inference")):
        if ratio := effect.speed.get(phase):
            known = f" ({text})" if (text := ends(ratio.low, ratio.high)) else ""
            parts.append(f"{ratio_text(ratio.value, ratio.verdict)} × {what}{known}")
    if effect.memory is not None:
        memory = ratio_text(effect.memory, memory_verdict(effect.memory, 1.0))
        parts.append(f"{memory} × the memory")
    return f"{names}: {', '.join(parts)}"


def _notes(effects: Effects) -> list[str]:
    return said(
        "effects",
        effects=effects,
        missing=[f"{name} ({why})" for name, why in effects.missing.items()],
        more=effects.lacking - len(effects.missing),
        tested=any(e.difference and e.difference.half is not None for e in effects.main),
        timed=any(effect.speed["train"] for effect in effects.main),
    )


def effects_data(effects: Effects) -> dict[str, Any]:
    """The same as plain values, for JSON, with all interactions."""
    return {
        "grid": {axis: list(choices) for axis, choices in effects.axes.items()},
        "seeds": list(effects.seeds),
        "effects": [_data(effect) for effect in effects.main],
        "interactions": [_data(effect) for effect in effects.interactions],
    }


def _data(effect: Effect) -> dict[str, Any]:
    names = ["axis", "component", "against"]
    if effect.other:
        names += ["other_axis", "other", "other_against"]
    data: dict[str, Any] = {name: getattr(effect, name) for name in names}
    if found := effect.difference:
        shown = {name: getattr(found, name) for name in ("mean", "low", "high", "p", "equal")}
        tie = None if found.adjusted is None else not found.real
        data[effect.metric.name] = shown | {"p_adjusted": found.adjusted, "tie": tie}
    for phase, ratio in effect.speed.items():
        if ratio:
            shown = {name: getattr(ratio, name) for name in ("value", "low", "high", "contended")}
            tie = None if ratio.verdict is None else ratio.verdict == 0
            data[f"{phase}_ratio"] = shown | {"tie": tie}
    if effect.memory is not None:
        data["memory_ratio"] = effect.memory
    return data | {"text": sentence(effect)}
