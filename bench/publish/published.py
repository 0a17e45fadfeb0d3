"""What a suite's ``[published]`` table says of the page that its results become."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from zoo.config.claim import read_table
from zoo.config.request import PUBLISHED, read_suite
from zoo.errors import ZooError
from zoo.report.profile import Profile, read_profile
from zoo.report.run_report import RunReport

Text = Annotated[str, Field(min_length=1)]


class Published(BaseModel):
    """What is on a page besides the contents of its records.

    directory: where the results are, under the published directory: one, or one per machine.
    source: the data that ``--data`` names, where that is no data set of the zoo. text: sentences
    below the title. data: where the data come from. notes: what else to know. metric: the
    suite's, which ranks its rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: Annotated[tuple[Text, ...], Field(min_length=1)]
    title: Text
    source: str = ""
    text: str = ""
    data: str = ""
    notes: tuple[Text, ...] = ()
    metric: str = ""

    @field_validator("directory", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


def load_published(file: Path) -> Published | None:
    """The ``[published]`` table of a suite; None where it has none.

    Raises ZooError, in one line, where the file cannot be read or the table is wrong.
    """
    suite = read_suite(file)
    table, where = suite.get(PUBLISHED), f"suite {file}: [published]"
    if table is None:
        return None
    if isinstance(table, dict):
        table = {"metric": suite.get("metric", "")} | table
    return read_table(Published, table, where)


def published_pages(suites: Path) -> dict[str, tuple[Path, Published]]:
    """Directory to the suite that made it and what the suite says of its page.

    Raises ZooError where a suite cannot be read, and where two name one directory.
    """
    pages: dict[str, tuple[Path, Published]] = {}
    for file in sorted(suites.glob("*.toml")):
        if (published := load_published(file)) is None:
            continue
        for place in published.directory:
            if place in pages:
                raise ZooError(f"suite {file}: {place} is published by {pages[place][0]} already")
            pages[place] = file, published
    return pages


def published_profile(
    directory: Path, suite: Path, evaluated: Mapping[Path, RunReport] = {}
) -> Profile | None:
    """As ``read_profile``, with the data sets in the order of the suite.

    They may not have been measured in this order, where trainings were taken over.
    """
    profile, asked = read_profile(directory, evaluated=evaluated), read_suite(suite).get("data")
    if profile is None or not isinstance(asked, list):
        return profile
    names = [data["name"] if isinstance(data, dict) else data for data in asked]
    return Profile(sorted(profile.data_sets, key=lambda data: [*names, data.name].index(data.name)))
