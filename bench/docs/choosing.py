"""What the published results say, task by task, from records alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from bench.docs.catalog import catalog
from bench.docs.place import RESULTS, ROOT
from bench.publish.markdown import code, link
from bench.publish.published import Published, published_pages, published_profile
from zoo.errors import ZooError
from zoo.report.page import run_text
from zoo.report.profile import DataSetReport
from zoo.report.run_report import RunReport
from zoo.report.tables.text import line
from zoo.sweep.records import directories_of, read_run

UP = "../results"  # from docs/


@functools.cache
def pages() -> list[tuple[str, Path, Published, Path]]:
    """Place, suite, what it says of the page, and directory of every published run."""
    of_suites = published_pages(ROOT / "bench" / "suites")
    return [(place, *of_suite, RESULTS / place) for place, of_suite in of_suites.items()]


def by_task() -> str:
    """A section for each published run on several data sets, and in it one for each of these."""
    parts = []
    for place, suite, published, directory in pages():
        if profile := published_profile(directory, suite):
            title = link(line(published.title), f"{UP}/{place}/README.md")
            parts += [f"## {title}", line(" ".join(profile.answer))]
            for data in profile.data_sets:
                parts += _task(data, f"{UP}/{place}/{data.directory}/README.md")
    return "\n\n".join(parts)


def on_text() -> str:
    """What each published run on one data set answers."""
    parts = []
    for place, _, published, directory in pages():
        if directories_of(directory, ""):
            report = RunReport(read_run(directory), published.metric)
            title = link(line(published.title), f"{UP}/{place}/README.md")
            parts += [f"### {title}", line(" ".join(report.answer)), line(run_text(report))]
    return "\n\n".join(parts)


def _task(data: DataSetReport, page: str) -> Iterator[str]:
    """What a task is, and what its report answers."""
    yield f"### {link(line(data.name), page)}: {data.run.metric.label}"
    try:
        component = catalog().choose("data", data.name).component
        yield f"{code(component.name)}: {line(component.summary)}."
    except ZooError:  # no data set of the zoo
        pass
    yield line(" ".join(data.run.answer))
