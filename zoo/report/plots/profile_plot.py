"""The picture of a profile: rows × data sets, each cell a text on a colour."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.plots.plot import HUES, INK, MUTED, PAPER, RULE, SMALL, WIDTH, Plot, finish, styled
from zoo.report.profile import Profile
from zoo.report.tables.text import plain

COLUMN, LETTER = 0.88, 0.085  # inches: of a column, and of a letter of a row's name
NAME, TITLE = 40, 60  # characters of a row's name, and of a data set's
LIGHT = 0.47  # the level from which on black is easier to read on its colour than white
NAMES = {"pe": "positional encoding", "ffn": "feed-forward network"}
FRAMES = {"positive": "-", "negative": ":"}  # lines around a control
LEARNED = "What each part learns, and after how many examples"
HOW = (
    "6/6 · 12k: solved in 6 of 6 seeds, in the median after 12,000 examples;\n"
    "0/6 · .53: never, and its score. Framed: a control that must solve it. Dotted: one that cannot"
)


@styled()
def profile_plot(profile: Profile) -> Plot:
    """Rows × data sets, coloured by how often and how fast it is learned, or by the score."""
    data_sets = profile.data_sets
    rows = list(profile.names)
    names = [plain(profile.label(row), NAME) for row in rows]
    titles = [plain(data.name, TITLE).replace("(", "\n(", 1) for data in data_sets]
    learned = len(profile.streamed) == len(data_sets)
    width = LETTER * (max(map(len, names)) + 3) + COLUMN * len(data_sets)
    longest = max(len(line) for title in titles for line in title.split("\n"))
    height = 1.5 + 0.27 * len(names) + 0.058 * longest
    figure = Figure(figsize=(max(WIDTH, width), height), layout="constrained")
    axes = figure.subplots()
    lines = [[data.scores.get(row, {}) for data in data_sets] for row in rows]
    levels = np.array([[line.get("level") for line in of_row] for of_row in lines], float)
    # From white to dark blue, or from dark blue to yellow: both survive grey print.
    cmap, edges = ("Blues", RULE) if learned else ("cividis", PAPER)
    colours = axes.pcolormesh(levels, vmin=0, vmax=1, cmap=cmap, edgecolor=edges)
    for (y, x), level in np.ndenumerate(levels):
        text = " · ".join(data_sets[x].text(rows[y]).rstrip(" +-").split(" · ")[:2])
        ink = PAPER if (level > 1 - LIGHT if learned else level < LIGHT) else INK
        ink = MUTED if learned and level == 0 else ink
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=ink, fontsize=SMALL)
        if dashes := FRAMES.get(lines[y][x].get("control", "")):
            frame = Rectangle((x + 0.04, y + 0.08), 0.92, 0.84, fill=False, linestyle=dashes)
            frame.set(edgecolor=HUES[1], linewidth=1.6)
            axes.add_patch(frame)
    axes.set_xticks(np.arange(len(titles)) + 0.5, titles, rotation=40, ha="right")
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_ylabel(" + ".join(NAMES.get(axis, axis) for axis in profile.axes))
    title, ends = "Mean score on each data set", {0.0: "low", 1.0: "high"}
    if learned:
        title = f"{LEARNED}\n{HOW}"
        ends = {0.0: "never", 0.5: "every seed, at the budget", 1.0: "every seed, the fastest"}
    figure.suptitle(title, fontsize=11)
    steps = np.linspace(0, 1, 11)
    scale = figure.colorbar(colours, ax=axes, boundaries=steps, location="top", aspect=50)
    scale.set_label("" if learned else "mean score")
    scale.set_ticks(list(ends), labels=list(ends.values()))
    if learned:
        about = f"Rows are parts, plain attention first; columns are skills. {HOW}."
        return finish("profile", LEARNED, " ".join(about.split()), figure)
    about = "Dark is the chance level, light the best possible score. Where these are not "
    about += "known: dark is the worst row, light the best one."
    return finish("profile", "Score on each data set", about, figure)
