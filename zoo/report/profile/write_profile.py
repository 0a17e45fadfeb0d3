"""Writes the profile of a run on several data sets: tables, plots and a page."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from zoo.report.profile.profile import Profile
from zoo.report.profile.profile_answer import profile_answer
from zoo.report.profile.profile_text import as_text, effects_table, profile_notes, scores_table
from zoo.report.tables.text import bullets, line
from zoo.report.write import PAGE, PLOTS, write_file, write_plots, write_report

NAMES = ("profile", "critical-difference")  # of plots


def write_profile(profile: Profile, directory: Path) -> None:
    """Write ``profile.csv`` and ``profile.md`` into the run's directory.

    Raises WriteError where a file cannot be written.
    """
    parts = [
        "# Profile",
        line(" ".join(profile_answer(profile))),
        as_text(scores_table(profile), "github"),
    ]
    parts.append(bullets([line(note) for note in profile_notes(profile)]))
    if effects := as_text(effects_table(profile), "github"):
        parts += ["## Effects", effects]
    links = [f"[{line(d.name)}]({quote(d.directory)}/table.md)" for d in profile.data_sets]
    parts += ["## Data sets", bullets(links)]
    write_file(directory / "profile.csv", profile.table.to_csv(index=False))
    write_file(directory / "profile.md", "\n\n".join(parts) + "\n")


def write_whole_profile(profile: Profile, directory: Path, name: str) -> None:
    """Write also the plots and the page, and the report of each data set. name: of the run."""
    for data in profile.data_sets:
        write_report(data.run, directory / data.directory, f"{name}: {data.name}")
    write_profile_page(profile, directory, name)


def write_profile_page(profile: Profile, directory: Path, name: str) -> None:
    """Write tables, plots and page of the profile alone. name: of the run, for the page."""
    from zoo.report.html.profile_page import profile_page
    from zoo.report.plots.plot import styled
    from zoo.report.profile.profile_plot import profile_plots

    write_profile(profile, directory)
    with styled():
        plots = list(profile_plots(profile))
    write_plots(plots, NAMES, directory / PLOTS)
    write_file(directory / PAGE, profile_page(profile, plots, name))
