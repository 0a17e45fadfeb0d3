"""The effects of one component, each with the sign of the question what that component does."""

from __future__ import annotations

from dataclasses import replace

from zoo.errors import ZooError, nearest
from zoo.report.stats.effects import Effect, Effects
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import Ratio


def effects_of(effects: Effects, component: str) -> Effects:
    """The effects that compare this component with another, with the component first in each.

    Of the effects there are: those of the reference's choice on an axis and one other choice.
    Raises ZooError where none is of this component.
    """
    main = [one for effect in effects.main if (one := _of(effect, component))]
    if not main:
        known = dict.fromkeys(n for e in effects.main for n in (e.component, e.against))
        raise ZooError(f"--of {component}: no effect of it here{nearest(component, known)}")
    interactions = [one for effect in effects.interactions if (one := _of(effect, component))]
    return replace(effects, main=main, interactions=interactions)


def _of(effect: Effect, component: str) -> Effect | None:
    """The effect with the component first; None where it is not of that component.

    An interaction is the same number when its two axes change places.
    """
    if component in (effect.other, effect.other_against) and effect.other:
        effect = replace(
            effect,
            axis=effect.other_axis,
            component=effect.other,
            against=effect.other_against,
            other_axis=effect.axis,
            other=effect.component,
            other_against=effect.against,
        )
    if component == effect.component:
        return effect
    return _reversed(effect) if component == effect.against else None


def _reversed(effect: Effect) -> Effect:
    """The same effect, asked the other way round."""
    return replace(
        effect,
        component=effect.against,
        against=effect.component,
        difference=_negative(effect.difference),
        speed={phase: _inverse(ratio) for phase, ratio in effect.speed.items()},
        memory=None if effect.memory is None else 1 / effect.memory,
    )


def _negative(found: Difference | None) -> Difference | None:
    if found is None:
        return None
    ends = None if found.ends is None else (-found.ends[1], -found.ends[0])
    return replace(found, mean=-found.mean, ends=ends)


def _inverse(ratio: Ratio | None) -> Ratio | None:
    if ratio is None:
        return None
    low = None if ratio.high is None else 1 / ratio.high
    high = None if ratio.low is None else 1 / ratio.low
    return replace(ratio, value=1 / ratio.value, low=low, high=high)
