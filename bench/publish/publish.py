"""Everything under a published directory, made again from its records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.publish.overview import overview
from bench.publish.page import Run, page
from bench.publish.published_figures import make_figures
from bench.publish.scaling import find_scales, write_scale_page
from bench.publish.suite_page import Published
from zoo.config.suite import load_published
from zoo.errors import ZooError
from zoo.report.read import read_run
from zoo.report.tables.rows import make_rows
from zoo.report.tables.table import find_reference
from zoo.report.write import write_file, write_report
from zoo.sweep.records import FILE, Record

PAGE = "README.md"


@dataclass(frozen=True)
class Made:
    """directories: those made. missing: suite to a directory that it names, without records."""

    directories: list[Path]
    missing: list[tuple[Path, str]]


def publish(source: Path, suites: Path | None = None, out: Path | None = None) -> Made:
    """Make the report and the page of every directory that has records, and the overview.

    source: the published directory. suites: the directory of the suites that made its runs; their
    ``[published]`` tables say which. out: where to write, by default where the records are.
    Nothing is written unless all can be. Raises ZooError where there are no records, or where some
    cannot be read, and where a suite cannot be read, does not fit its records, or names a directory
    that another one names too.
    """
    source = source.resolve()
    places = sorted(path.parent for path in source.rglob(FILE))
    if not places:
        raise ZooError(f"{source}: no directory with {FILE} in it")
    told = _told(suites) if suites is not None else {}
    homes = {home.relative_to(source).as_posix(): home for home in places}
    found = {place: read_run(home) for place, home in homes.items()}
    scales = find_scales(source)
    for place in told:
        if place in found:
            _check(found[place], *told[place])
    runs: list[Run] = []
    for place, records in found.items():
        directory = (out or source) / place
        directory.mkdir(parents=True, exist_ok=True)
        suite, published = told.get(place, (None, None))
        table = write_report(records, directory, _reference(suite))
        run = Run(place, directory, homes[place], records, table, suite, published)
        write_file(directory / PAGE, page(run))
        runs.append(run)
    for scale in scales:
        directory = (out or source) / scale.place
        directory.mkdir(parents=True, exist_ok=True)
        write_scale_page(scale, directory)
    write_file((out or source) / PAGE, overview(runs, scales))
    missing = [(told[place][0], place) for place in told if place not in found]
    made = [run.directory for run in runs] + [(out or source) / scale.place for scale in scales]
    return Made(made, missing)


def _check(records: Sequence[Record], suite: Path, published: Published) -> None:
    """That a suite fits the records: its reference and its published figures are of their rows."""
    rows = make_rows(records)
    find_reference(rows, _reference(suite))
    make_figures(rows, published.beside)


def _told(suites: Path) -> dict[str, tuple[Path, Published]]:
    """Directory to the suite that it was made by and what that says of it."""
    told: dict[str, tuple[Path, Published]] = {}
    for file in _files(suites):
        published = load_published(file)
        for place in published.directory if published else ():
            if place in told:
                raise ZooError(f"suite {file}: {place} is published by {told[place][0]} already")
            assert published is not None
            told[place] = file, published
    return told


def _files(suites: Path) -> Sequence[Path]:
    if not suites.is_dir():
        raise ZooError(f"--suites {suites}: no such directory")
    return sorted(suites.glob("*.toml"))


def _reference(suite: Path | None) -> str:
    """The reference that a suite names; by default that of the records."""
    from zoo.config.suite import load_suite

    return str(load_suite(suite).get("reference", "")) if suite is not None else ""
