"""``report.html`` of a run on several data sets: the profile, and links to each report."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.html.report_page import inline_svg, page_environment
from zoo.report.plots.plot import Plot
from zoo.report.profile import Profile
from zoo.report.profile_text import effects_table, profile_answer, profile_notes, scores_table
from zoo.wording import counted


def profile_page(profile: Profile, plots: Sequence[Plot], name: str = "") -> str:
    """The page as text; the same run gives the same text. name: of the run, for the title."""
    return (
        page_environment()
        .get_template("profile.html")
        .render(
            title=name or f"Profile over {counted(len(profile.data_sets), 'data set')}",
            answer=profile_answer(profile),
            scores=scores_table(profile),
            effects=effects_table(profile),
            notes=profile_notes(profile),
            plots=[(plot, inline_svg(plot.svg)) for plot in plots],
            data_sets=profile.data_sets,
        )
    )
