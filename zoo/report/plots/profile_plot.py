"""The picture of a profile: rows × data sets, each cell with its score on a colour."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from zoo.report.evaluated_run import SOLVED
from zoo.report.plots.plot import INK, PAPER, SMALL, WIDTH, Plot, finish, styled
from zoo.report.profile import Profile
from zoo.report.tables.text import plain

COLUMN, LETTER = 0.88, 0.085  # inches: of a column, and of a letter of a row's name
NAME, TITLE = 40, 60  # characters of a row's name, and of a data set's
LIGHT = 0.47  # the level from which on black is easier to read on its colour than white
NAMES = {"pe": "positional encoding", "ffn": "feed-forward network"}


def profile_plot(profile: Profile) -> Plot:
    """Rows × data sets, coloured between chance and the best possible score."""
    data_sets = profile.data_sets
    rows = list(profile.names)
    names = [plain(profile.names[row], NAME) for row in rows]
    titles = [plain(data.name, TITLE).replace("(", "\n(", 1) for data in data_sets]
    solved = all(data.run.goal is not None for data in data_sets)
    width = LETTER * (max(map(len, names)) + 3) + COLUMN * len(data_sets)
    longest = max(len(line) for title in titles for line in title.split("\n"))
    height = 1.5 + 0.27 * len(names) + 0.058 * longest
    with styled():
        figure = Figure(figsize=(max(WIDTH, width), height), layout="constrained")
        axes = figure.subplots()
        levels = np.array(
            [[data.scores.get(row, {}).get("level") for data in data_sets] for row in rows], float
        )
        # From dark blue to yellow, in an order that survives grey print.
        colours = axes.pcolormesh(levels, norm=Normalize(0, 1), cmap="cividis", edgecolor=PAPER)
        for (y, x), level in np.ndenumerate(levels):
            text = data_sets[x].text(rows[y]).replace(" solved", "")
            ink = PAPER if level < LIGHT else INK
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=ink, fontsize=SMALL)
        axes.set_xticks(np.arange(len(titles)) + 0.5, titles, rotation=40, ha="right")
        axes.set_yticks(np.arange(len(names)) + 0.5, names)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_ylabel(" + ".join(NAMES.get(axis, axis) for axis in profile.axes))
        title, ends = "Mean score on each data set", {0.0: "low", 1.0: "high"}
        if solved:
            title = "Which part solves which task\n2/3 · .79: solved in 2 of 3 seeds, mean .79"
            ends = {0.0: "chance", SOLVED: "solved"}
        figure.suptitle(title, fontsize=11)
        scale = figure.colorbar(
            colours, ax=axes, boundaries=np.linspace(0, 1, 11), location="top", aspect=50
        )
        scale.set_label("mean score")
        scale.set_ticks(list(ends), labels=list(ends.values()))
        about = "Dark is the chance level, light the best possible score."
        if not solved:
            about += " Where these are not known: dark is the worst row, light the best one."
        return finish("profile", "Score on each data set", about, figure)
