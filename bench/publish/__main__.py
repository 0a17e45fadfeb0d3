"""Make all published tables, plots and pages again from their records.

    python -m bench.publish [DIRECTORY]

Suites are in ``bench/suites`` beside the directory. A suite's ``[published]`` table says which
directory it made, and what is written on its page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.publish import claims
from bench.publish.carried import write_carried
from bench.publish.others import write_others
from bench.publish.page import PAGE, Run, overview, page
from bench.publish.published import published_pages, published_profile
from bench.publish.questions import questions_section
from zoo.errors import WriteError, ZooError
from zoo.report.run_report import RunReport
from zoo.report.write import write_file, write_report
from zoo.sweep.records import FILE, directories_of, read_run

ROOT = Path(__file__).parents[2]


def publish(source: Path, suites: Path | None = None, out: Path | None = None) -> list[Run]:
    """Make the report and the page of every directory that has records, and the overview.

    source: the published directory. suites: the directory of the suites that made its runs. out:
    where to write, by default where the records are. Nothing is written unless all records and
    suites can be read. Raises ZooError where there are no records, or where some cannot be read,
    and where a suite cannot be read or does not fit its records.
    """
    if not source.is_dir():
        raise ZooError(f"{source}: no such directory")
    source = source.resolve()
    # Claims have one page for all.
    homes = [h for h in directories_of(source) if source / claims.FOLDER not in h.parents]
    if not homes:
        raise ZooError(f"{source}: no directory with {FILE} in it")
    pages = published_pages(suites) if suites is not None else {}
    evaluated: dict[Path, RunReport] = {}
    for home in homes:
        _, published = pages.get(home.relative_to(source).as_posix(), (None, None))
        evaluated[home] = RunReport(read_run(home), published.metric if published else "")
    profiles = {
        source / place: published_profile(source / place, suite, evaluated)
        for place, (suite, _) in pages.items()
    }
    reports = evaluated | {home: profile for home, profile in profiles.items() if profile}
    runs = []
    for home, report in sorted(reports.items()):
        place = home.relative_to(source).as_posix()
        suite, published = pages.get(place, (None, None))
        whole = pages.get(place.rpartition("/")[0])  # of a run on several data sets
        title = published.title if published else place
        title = f"{whole[1].title}: {home.name}" if whole else title
        runs.append(Run(place, home, (out or source) / place, report, title, suite, published))
    for run in runs:
        run.directory.mkdir(parents=True, exist_ok=True)
        write_report(run.report, run.directory, run.title, inner=False)
        write_file(run.directory / PAGE, page(run))
    judgements = claims.judged(source)
    others = write_others(source, out or source, judgements)
    questions = questions_section({run.place: run.report for run in runs}, source, judgements)
    write_file((out or source) / PAGE, overview(runs, others, questions))
    for place, (suite, _) in pages.items():
        if source / place not in reports:
            print(f"notice: suite {suite} names {place}: no records there", file=sys.stderr)
    return runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and return the exit status: 1 if a file cannot be written, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m bench.publish", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("results"))
    parser.add_argument("--out", type=Path, help="write there instead of into the directory")
    options = parser.parse_args(arguments)
    suites = options.directory.resolve().parent / "bench" / "suites"
    try:
        runs = publish(options.directory, suites if suites.is_dir() else None, options.out)
        if options.out is None and options.directory.resolve() == ROOT / "results":
            write_carried(options.directory)
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, WriteError) else 2
    print("\n".join(str(run.directory) for run in runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
