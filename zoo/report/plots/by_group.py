"""Scores per group of test examples, such as ranges of length: a line for each row."""

from __future__ import annotations

from matplotlib.figure import Figure

from zoo.report.plots.plot import HUES, MARKERS, MUTED, WIDTH, Plot, finish, turn_long_labels
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import over_seeds
from zoo.report.tables.text import plain

COLUMNS, LINE = 2, 0.17  # of the legend; inches
NAME = 20  # characters of a name in the legend
MOST = 12  # rows that a plot shows, the best first


def group_plots(run: RunReport) -> list[Plot]:
    """One plot where records have scores per group; none elsewhere."""
    groups = list(dict.fromkeys(name for row in run.rows for name in row.groups))
    rows = [(n, row) for n, row in enumerate(run.rows) if row.groups][:MOST]
    if len(groups) < 2 or not rows:
        return []
    figure = Figure(figsize=(WIDTH, 3.2 + LINE * (len(rows) + 1) / COLUMNS), layout="constrained")
    axes, marks = figure.subplots(), {}
    for place, (number, row) in enumerate(rows):
        found = {name: over_seeds(list(row.groups.get(name, {}).values())) for name in groups}
        known = [(x, interval) for x, name in enumerate(groups) if (interval := found[name])]
        colour, gid = HUES[place % len(HUES)], f"row-{number}-group"
        # Side by side, so that equal scores do not hide one another.
        shift = 0.3 * (place / max(1, len(rows) - 1) - 0.5)
        axes.errorbar(
            [x + shift for x, _ in known],
            [interval.mean for _, interval in known],
            yerr=[interval.half or 0.0 for _, interval in known],
            color=colour,
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
            elinewidth=0.8,
            label=run.short_name(row, NAME),
            gid=gid,
        )
        marks[gid] = run.describe(number)
    if (chance := run.chance) is not None:
        axes.axhline(chance, color=MUTED, linestyle=":", linewidth=1, label="chance")
    axes.set_xticks(range(len(groups)), [plain(name, 20) for name in groups])
    axes.set_ylabel(run.metric_label)
    turn_long_labels(axes)
    figure.legend(loc="outside lower center", ncols=COLUMNS)
    about = (
        f"{run.metric.label} on each group of the test examples, mean over seeds; bars are 95% "
        "intervals over seeds."
    )
    return [finish("by-group", "Scores per group", about, figure, marks)]
