"""Effects of components in words."""

from __future__ import annotations

from collections.abc import Callable

from zoo.errors import counted
from zoo.report.stats.effects import Effect
from zoo.report.stats.ratios import memory_verdict
from zoo.report.tables.text import ends, plain, ratio_text


def sentence(effect: Effect, name: Callable[[object], str] = plain) -> str:
    """One effect: ``rope against sin: +0.4 ± 0.3 points, 0.93 × the speed``.

    name: how a component is written; in Markdown as ``code``.
    """
    names = f"{name(effect.component)} against {name(effect.against)}"
    parts = []
    if difference := effect.difference:
        text = effect.metric.format_difference(difference.mean, difference.half)
        if difference.half is None:
            text += f" ({counted(difference.seeds, 'seed')}: too few seeds for an interval)"
        # An interval by itself without 0 in it would not look like a tie.
        alone = difference.half is not None and abs(difference.mean) > difference.half
        tie = " (equal)" if difference.equal else " (undecided)" if alone else " (tie)"
        parts.append(text if difference.half is None or difference.real else f"{text}{tie}")
    for phase, what in (("train", "the speed"), ("infer", "in inference")):
        if ratio := effect.speed.get(phase):
            known = f" ({text})" if (text := ends(ratio.low, ratio.high)) else ""
            parts.append(f"{ratio_text(ratio.value, ratio.verdict)} × {what}{known}")
    if effect.memory is not None:
        memory = ratio_text(effect.memory, memory_verdict(effect.memory, 1.0))
        parts.append(f"{memory} × the memory")
    return f"{names}: {', '.join(parts)}"
