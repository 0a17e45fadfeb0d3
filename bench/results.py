"""Repeat the published results that are stale, or have no records, and no others.

    python -m bench.results [--data-dir DIR] [--rounds N] [PLACE ...]

A suite's ``[published]`` table says what it needs and where its records go. A place is left as it
is where all its records are current; one that is named is run whatever it holds. What is current
is taken over; the rest is done in ``build/results``, where a run that was interrupted goes on, and
takes its place when the run, or one of its rounds, has ended well. Where a suite's settings have
changed, delete what is published first. ``make results`` publishes everything afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.publish.published import Published, published_pages
from zoo.config.request import load_suite, read_suite
from zoo.errors import counted
from zoo.execution.machine import own_cores
from zoo.files import replacing
from zoo.sweep.keys import changes
from zoo.sweep.records import FILE, REUSABLE, Record, RecordFile, directories_of, packed_file

ROOT = Path(__file__).parents[1]
LARGE = 2**20  # bytes of records that are published as they are, at most


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run it and return the exit status: 1 if something failed. root: of the repository."""
    parser = argparse.ArgumentParser(prog="python -m bench.results", description=__doc__)
    parser.add_argument(
        "--data-dir", type=Path, default=root, help="where data/bbc-news is (default: here)"
    )
    parser.add_argument(
        "places", nargs="*", metavar="PLACE", help="directories below results (default: all)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="N seeds, one after another, so that what is interrupted has as many of every row",
    )
    options = parser.parse_args(arguments)
    data_dir, failed = options.data_dir.resolve(), 0
    suites = published_pages(root / "bench" / "suites")
    if unknown := set(options.places) - set(suites):
        parser.error(f"no suite makes {', '.join(unknown)}; there is: {', '.join(suites)}")
    for place, (suite, published) in suites.items():
        if options.places and place not in options.places:
            continue
        source = data_dir / (published.source or "")
        if place != published.directory[0]:
            print(f"{place}: left as it is: of another machine")
        elif not source.exists():
            print(f"{place}: left as it is: it needs {source}, which is not there (--data-dir)")
        else:
            files = {Path(f).name: Path(f) for f in load_suite(str(suite)).get("plugins", ())}
            command, asked = suite_command(suite, published), place in options.places
            seeds = range(1, options.rounds + 1) if options.rounds else ()
            commands = [[*command, "--seeds", str(number)] for number in seeds] or [command]
            failed += not _repeat(root, place, commands, data_dir, files, asked=asked)
    return 1 if failed else 0


def suite_command(suite: Path, published: Published) -> list[str]:
    """The arguments of ``zoo`` that make a suite's records, without their directory."""
    data = ["--data", published.source] if published.source else []
    jobs = ["--jobs", str(own_cores())] if "threads" in read_suite(suite) else []
    return ["bench", "--suite", str(suite), *data, *jobs]


def _repeat(
    root: Path,
    place: str,
    commands: Sequence[Sequence[str]],
    data_dir: Path,
    files: Mapping[str, Path],
    *,
    asked: bool,
) -> bool:
    """Make a directory's records current; whether they are in the end. files: plug-ins by name."""
    home, work = root / "results" / place, root / "build" / "results" / place
    published = list(itertools.chain(*_read(home).values()))
    stale = sum(bool(changes(record, files)) for record in published)
    if published and not stale and not asked:
        print(f"{place}: current")
        return True
    print(f"{place}: {counted(stale, 'record')} stale", flush=True)
    done = _read(work)
    for below, records in _read(home).items():
        every = {record.key: record for record in (*records, *done.get(below, ()))}
        (work / below).mkdir(parents=True, exist_ok=True)
        (work / below / FILE).unlink(missing_ok=True)
        for record in every.values():
            if record.status in REUSABLE and not changes(record, files):
                RecordFile(work / below).append(record)
    for command in commands:
        run = [sys.executable, "-m", "zoo", *command, "--out", str(work)]
        if status := subprocess.run(run, cwd=data_dir, check=False).returncode:
            print(f"{place}: stopped, for zoo {command[0]} ended with exit status {status}")
            return False
        for below in _read(work):
            publish_records(work / below, home / below)
    shutil.rmtree(work)
    return True


def _read(directory: Path) -> dict[Path, list[Record]]:
    """The records of every data set, by their directory below."""
    places = directories_of(directory)
    return {place.relative_to(directory): RecordFile(place).read() for place in places}


def publish_records(source: Path, home: Path) -> None:
    """Copy the records of a run to where they are published; more than a megabyte compressed."""
    home.mkdir(parents=True, exist_ok=True)
    content, plain = (source / FILE).read_bytes(), home / FILE
    large = len(content) > LARGE
    with replacing(packed_file(plain) if large else plain) as unfinished:
        unfinished.write_bytes(lzma.compress(content) if large else content)
    (plain if large else packed_file(plain)).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
