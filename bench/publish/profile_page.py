"""The page of a published run on several data sets, as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.publish.markdown import link
from bench.publish.page import currency
from bench.publish.published import Published
from zoo.report.profile import Profile
from zoo.report.profile_text import (
    as_text,
    effects_table,
    profile_answer,
    profile_notes,
    scores_table,
)
from zoo.report.tables.text import bullets, escaped, line
from zoo.report.write import PLOTS

PICTURE = f"{PLOTS}/profile.svg"


@dataclass(frozen=True)
class ProfileRun:
    """One published run on several data sets. place: its directory under the published one."""

    place: str
    profile: Profile
    published: Published
    suite: Path


def profile_page(profile: Profile, published: Published) -> str:
    """The whole page."""
    rows = (row for data in profile.data_sets for row in data.run.recorded_rows)
    records = [record for row in rows for record in row.used]
    parts = [
        f"# {line(published.title)}",
        *(escaped(text.strip()) for text in (published.text, published.data)),
        f"![Which row solves which task]({PICTURE})",
        line(" ".join(profile_answer(profile))),
        "## Scores",
        as_text(scores_table(profile), "github"),
        currency(records, {}),
        bullets([line(note) for note in [*profile_notes(profile), *published.notes]]),
    ]
    if effects := as_text(effects_table(profile), "github"):
        parts += ["## Effects", effects]
    links = [link(line(data.name), f"{data.directory}/README.md") for data in profile.data_sets]
    parts += ["## Data sets", bullets(links)]
    return "\n\n".join(part for part in parts if part) + "\n"
