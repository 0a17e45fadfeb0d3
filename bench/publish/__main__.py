"""Make all published tables, plots and pages again from their records.

    python -m bench.publish [DIRECTORY]

A suite's ``[published]`` table says which directory it made, and what is written on its page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import inventory
from bench.publish.components_page import components_link, components_page, components_places
from bench.publish.markdown import link
from bench.publish.overview import overview
from bench.publish.page import PAGE, Run, page
from bench.publish.peers_page import peers_overview, peers_page, peers_places
from bench.publish.profile_page import ProfileRun, profile_page
from bench.publish.published import Published, load_published, make_figures
from bench.publish.questions import questions_section
from bench.simulate.page import LINES, SIMULATIONS
from bench.simulate.page import page as simulation_page
from zoo.errors import WriteError, ZooError
from zoo.report.profile import Profile, read_profile
from zoo.report.run_report import RunReport
from zoo.report.write import write_file, write_report
from zoo.sweep.complete import read_run
from zoo.sweep.records import FILE

INVENTORY = "inventory"  # the folder of bench.inventory among the published results

PARTS = f"Every part, and which other libraries have it: [by name]({INVENTORY}/{PAGE})."
# Studies made once, whose pages stay as they are, by folder: heading, and what is said there.
STUDIES = {
    "recipe": ("The default recipe", "What the default settings were chosen by"),
    "costs": ("Equal models", "How equal the costs of equal models are"),
}


@dataclass(frozen=True)
class Made:
    """directories: those made. missing: suites and a directory that each names, without records."""

    directories: list[Path]
    missing: list[tuple[Path, str]]


def publish(source: Path, suites: Path | None = None, out: Path | None = None) -> Made:
    """Make the report and the page of every directory that has records, and the overview.

    source: the published directory. suites: the directory of the suites that made its runs. out:
    where to write, by default where the records are. Nothing is written unless everything can be
    made. Raises ZooError where there are no records, or where some cannot be read, and where a
    suite cannot be read, does not fit its records, or names a directory that another one names.
    """
    if not source.is_dir():
        raise ZooError(f"{source}: no such directory")
    source = source.resolve()
    homes = {path.parent.relative_to(source).as_posix(): path.parent for path in source.rglob(FILE)}
    if not homes:
        raise ZooError(f"{source}: no directory with {FILE} in it")
    pages = published_pages(suites) if suites is not None else {}
    runs: list[Run] = []
    for place, home in sorted(homes.items()):
        suite, published = pages.get(place, (None, None))
        wanted = (published.reference, published.metric) if published else ()
        report = RunReport(read_run(home), *wanted)
        wanted_figures = published.figures if published else ()
        figures = make_figures(report.recorded_rows, report.verdicts, wanted_figures)
        runs.append(Run(place, (out or source) / place, home, report, suite, published, figures))
    evaluated = {run.home: run.report for run in runs}
    profiles = [
        ProfileRun(place, profile, published, suite)
        for place, (suite, published) in pages.items()
        if (profile := read_profile(source / place, evaluated=evaluated))
    ]
    profile_pages = [profile_page(one.profile, one.published) for one in profiles]
    for run in runs:
        run.directory.mkdir(parents=True, exist_ok=True)
        write_report(run.report, run.directory, _name(run, pages))
        write_file(run.directory / PAGE, page(run))
    answering: dict[str, RunReport | Profile] = {run.place: run.report for run in runs}
    for one, text in zip(profiles, profile_pages, strict=True):
        directory = (out or source) / one.place
        write_report(one.profile, directory, one.published.title, inner=False)
        write_file(directory / PAGE, text)
        answering[one.place] = one.profile
    simulated = source / SIMULATIONS / LINES
    if simulated.exists():
        (out or source).joinpath(SIMULATIONS).mkdir(parents=True, exist_ok=True)
        write_file((out or source) / SIMULATIONS / PAGE, simulation_page(simulated))
    others, measured = _other_pages(source, out or source)
    questions = questions_section(answering, source)
    about = overview(
        runs,
        profiles,
        simulated=simulated.exists(),
        others=others,
        questions=questions,
    )
    write_file((out or source) / PAGE, about)
    there = {*homes, *(one.place for one in profiles)}
    missing = [(pages[place][0], place) for place in pages if place not in there]
    made = [run.directory for run in runs]
    made += [(out or source) / place for place in (*(one.place for one in profiles), *measured)]
    return Made(made, missing)


def _other_pages(source: Path, out: Path) -> tuple[list[str], list[str]]:
    """Write the pages that are not of runs; what the overview says of them, and measured places."""
    measured, peers = components_places(source), peers_places(source)
    makers = dict.fromkeys(peers, peers_page) | dict.fromkeys(measured, components_page)
    for place, make in makers.items():
        (out / place).mkdir(parents=True, exist_ok=True)
        write_file(out / place / PAGE, make(source / place))
    said = peers_overview(source, peers)
    said += ["## Single components", components_link(source)] if measured else []
    if (source / INVENTORY / inventory.FILE).exists():
        inventory.publish(source / INVENTORY, out / INVENTORY)
        said += ["## Inventory", PARTS]
    for folder, (heading, sentence) in STUDIES.items():
        if (source / folder / PAGE).exists():
            said += [f"## {heading}", f"{sentence}: {link('table', f'{folder}/{PAGE}')}."]
    return said, list(makers)


def _name(run: Run, pages: Mapping[str, tuple[Path, Published]]) -> str:
    """A run's title; one data set of a run on several has the title of that run before its own."""
    whole, _, part = run.place.rpartition("/")
    return f"{pages[whole][1].title}: {part}" if whole in pages else run.title


def published_pages(suites: Path) -> dict[str, tuple[Path, Published]]:
    """Directory to the suite that made it and what the suite says of its page."""
    pages: dict[str, tuple[Path, Published]] = {}
    if not suites.is_dir():
        raise ZooError(f"--suites {suites}: no such directory")
    for file in sorted(suites.glob("*.toml")):
        published = load_published(file)
        if published is None:
            continue
        for place in published.directory:
            if place in pages:
                raise ZooError(f"suite {file}: {place} is published by {pages[place][0]} already")
            pages[place] = file, published
    return pages


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and return the exit status: 1 if a file cannot be written, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m bench.publish", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("results"))
    parser.add_argument(
        "--suites",
        type=Path,
        help="the suites that made the results (default: bench/suites in the same folder)",
    )
    parser.add_argument("--out", type=Path, help="write there instead of into the directory")
    options = parser.parse_args(arguments)
    default = options.directory.resolve().parent / "bench" / "suites"
    suites = options.suites or (default if default.is_dir() else None)
    try:
        made = publish(options.directory, suites, options.out)
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, WriteError) else 2
    print("\n".join(str(path) for path in made.directories))
    for suite, place in made.missing:
        print(f"notice: suite {suite} names {place}: no records there", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
