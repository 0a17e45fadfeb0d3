"""The effect of each component, as a forest plot: one line per effect, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter

from zoo.report.plots.plot import HUES, MUTED, NUMBERS, PAPER, WIDTH, Plot, finish
from zoo.report.stats.effects import Effect, Effects
from zoo.report.stats.ratios import memory_verdict
from zoo.report.tables.effects_text import sentence
from zoo.report.tables.text import plain

LINE, FRAME = 0.2, 0.65  # inches: of an effect, and of an axis with its label
MOST = 100  # effects that are drawn
LONG = 28  # characters of two names; longer ones are put below each other
BETTER, WORSE = HUES[0], HUES[1]
# Middle, low, high, and the verdict: 1 better, -1 worse, 0 tie, None unknown.
Estimate = tuple[float, float | None, float | None, int | None]


def forest_plots(all_effects: Effects | None) -> list[Plot]:
    """One plot with a panel each for metric, speed and memory; none without effects."""
    if all_effects is None or not all_effects.main:
        return []
    # The largest, in the order of the axes.
    size = [
        abs(effect.difference.mean) if effect.difference else 0.0 for effect in all_effects.main
    ]
    largest = sorted(range(len(size)), key=lambda n: -size[n])[:MOST]
    effects, metric = [all_effects.main[n] for n in sorted(largest)], all_effects.main[0].metric
    unit = "percentage points" if metric.unit == "points" else metric.unit
    labels = f"{metric.label}, {unit}", "training speed, ×", "peak memory, ×"
    estimated = zip(labels, zip(*map(_estimates, effects), strict=True), strict=True)
    shown = {label: estimates for label, estimates in estimated if any(estimates)}
    if not shown:
        return []
    # From the top down, with the space of a line between axes.
    places, last, at = [], effects[0].axis, 0.0
    names = [(plain(e.component, 24), plain(e.against, 24)) for e in effects]
    long = max(len(component) + len(against) for component, against in names) > LONG
    for effect in effects:
        at -= 1.0 + 0.7 * (effect.axis != last) + 0.6 * long
        places.append(at)
        last = effect.axis
    figure = Figure(figsize=(WIDTH, len(shown) * (FRAME + LINE * -at)), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False)[:, 0]
    marks = {}
    versus = "\nvs " if long else " vs "
    for place, (axes, (label, estimates)) in enumerate(zip(panels, shown.items(), strict=True)):
        for number, (effect, estimate) in enumerate(zip(effects, estimates, strict=True)):
            if estimate:
                gid = f"effect-{number}-{place}"
                marks[gid] = plain(sentence(effect))
                _draw(axes, places[number], estimate, gid)
        _scale(axes, label.endswith("×"), estimates)
        axes.set_xlabel(label)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_yticks(places, [versus.join(pair) for pair in names])
        axes.set_ylim(at - 0.8, -0.2)
    about = (
        f"{plain(all_effects.about)} Blue circles: significantly better; red squares: "
        "significantly worse; open circles: a tie, or too few seeds. Lines are 95% intervals, not "
        "corrected."
    )
    if len(effects) < len(all_effects.main):
        about += f" The {MOST} largest of {len(all_effects.main):,} effects."
    if any(effect.memory is not None for effect in effects):
        about += " Memory is measured once."
    return [finish("effects", "Effect of each component", about, figure, marks)]


def _estimates(effect: Effect) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    """Of the metric, the training speed and the memory."""
    metric, difference, ratio = effect.metric, effect.difference, effect.speed.get("train")
    scored = memory = None
    if difference is not None:
        low, high = (
            None if end is None else metric.scale * end for end in (difference.low, difference.high)
        )
        better = 1 if metric.better(difference.mean) > 0 else -1
        known = None if difference.adjusted is None else int(difference.real) * better
        scored = metric.scale * difference.mean, low, high, known
    if effect.memory is not None:
        memory = effect.memory, None, None, memory_verdict(effect.memory, 1.0)
    return scored, (ratio.value, ratio.low, ratio.high, ratio.verdict) if ratio else None, memory


def _draw(axes: Axes, place: float, estimate: Estimate, gid: str) -> None:
    middle, low, high, known = estimate
    hue = {1: BETTER, -1: WORSE}.get(known or 0, MUTED)
    if low is not None and high is not None:
        axes.hlines(place, low, high, color=hue, linewidth=1.4)
    axes.plot(
        middle,
        place,
        "s" if known == -1 else "o",
        markersize=5.5,
        markeredgecolor=hue,
        markerfacecolor=hue if known else PAPER,
        gid=gid,
    )


def _scale(axes: Axes, ratio: bool, estimates: Sequence[Estimate | None]) -> None:
    neutral = 1.0 if ratio else 0.0
    axes.axvline(neutral, color=MUTED, linewidth=0.9, zorder=1)
    if not ratio:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:+g}"))
        axes.margins(x=0.08)
        return
    ends = [v for e in estimates if e for v in e[:3] if v is not None] + [neutral]
    low, high = min(ends) / 1.06, max(ends) * 1.06
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(NUMBERS)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
