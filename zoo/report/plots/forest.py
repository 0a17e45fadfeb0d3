"""The effect of each component, as a forest plot: one line per effect, with its interval."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from zoo.report.plots.plot import HUES, MUTED, PAPER, WIDTH, Plot, finish
from zoo.report.stats.effects import Effect, Effects, sentence
from zoo.report.stats.ratios import memory_verdict
from zoo.report.tables.text import plain

LINE, FRAME = 0.36, 0.65  # inches: of an effect, and of an axis with its label
MOST = 100  # effects that are drawn
# Middle, low, high, and the verdict: 1 better, -1 worse, 0 tie, None unknown.
Estimate = tuple[float, float | None, float | None, int | None]


def forest_plots(all_effects: Effects | None) -> list[Plot]:
    """One plot with a panel each for metric, speed and memory; none without effects."""
    if all_effects is None or not all_effects.main:
        return []
    effects, metric = all_effects.main[:MOST], all_effects.main[0].metric
    unit = "percentage points" if metric.unit == "points" else metric.unit
    labels = f"{metric.label}, {unit}", "training speed, ×", "peak memory, ×"
    estimated = zip(labels, zip(*map(_estimates, effects), strict=True), strict=True)
    shown = {label: estimates for label, estimates in estimated if any(estimates)}
    if not shown:
        return []
    names = [f"{plain(e.component, 24)}\nvs {plain(e.against, 24)}" for e in effects]
    height = len(shown) * (FRAME + LINE * len(effects))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False)[:, 0]
    marks = {}
    for place, (axes, (label, estimates)) in enumerate(zip(panels, shown.items(), strict=True)):
        for number, (effect, estimate) in enumerate(zip(effects, estimates, strict=True)):
            if estimate:
                marks[gid := f"effect-{number}-{place}"] = plain(sentence(effect))
                _draw(axes, number, estimate, gid)
        axes.axvline(1.0 if label.endswith("×") else 0.0, color=MUTED, linewidth=0.9, zorder=1)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axes.set_xlabel(label)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
    about = (
        f"{plain(all_effects.about)} Blue circles: significantly better; red squares: "
        "significantly worse; open circles: a tie, or too few seeds. Lines are 95% intervals, not "
        "corrected."
    )
    if len(effects) < len(all_effects.main):
        about += f" The first {MOST} of {len(all_effects.main):,} effects."
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
    middle, low, high, verdict = estimate
    hue = {1: HUES[0], -1: HUES[1]}.get(verdict or 0, MUTED)
    if low is not None and high is not None:
        axes.hlines(place, low, high, color=hue, linewidth=1.4)
    style, fill = "s" if verdict == -1 else "o", hue if verdict else PAPER
    axes.plot(middle, place, style, markersize=5.5, color=hue, markerfacecolor=fill, gid=gid)
