"""``report.html`` of a run on several data sets: the profile, and links to each report."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.html.report_page import inline_svg, page_environment
from zoo.report.plots.plot import Plot
from zoo.report.profile.profile import Profile
from zoo.report.profile.profile_answer import profile_answer
from zoo.report.profile.profile_text import effects_table, profile_notes, scores_table


def profile_page(profile: Profile, plots: Sequence[Plot]) -> str:
    """The page as text; the same run gives the same text."""
    return (
        page_environment()
        .get_template("profile.html")
        .render(
            title=f"Profile over {len(profile.data_sets)} data sets",
            answer=" ".join(profile_answer(profile)),
            tables=[("Scores", scores_table(profile)), ("Effects", effects_table(profile))],
            notes=profile_notes(profile),
            plots=[(plot, inline_svg(plot.svg)) for plot in plots],
            data_sets=profile.data_sets,
        )
    )
