"""Repeat the published results that are stale or missing, and no others.

    python -m bench.results [--data-dir DIR] [PLACE ...]

A suite's ``[published]`` table says what it needs and where its records go. What is still current
is taken over; the rest is done in ``build/results``, where a run that was interrupted goes on.
However a run ends, the data sets that are whole then take their place. ``make results`` publishes
everything afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.publish.published import Published, published_pages
from zoo.config.request import Request, load_suite, read_suite
from zoo.errors import ZooError, counted
from zoo.execution.machine import own_cores
from zoo.files import replacing
from zoo.inference.requests import build_requests
from zoo.registry.loading import load
from zoo.sweep.carry_out import directory_names
from zoo.sweep.keys import changes
from zoo.sweep.plan import Plan, make_plan
from zoo.sweep.prepare import load_data, recorded_config
from zoo.sweep.records import FILE, REUSABLE, Record, RecordFile, differing

ROOT = Path(__file__).parents[1]
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "pretraining")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run it and return the exit status: 1 if something failed. root: of the repository."""
    parser = argparse.ArgumentParser(prog="python -m bench.results", description=__doc__)
    parser.add_argument(
        "--data-dir", type=Path, default=root, help="where data/bbc-news is (default: here)"
    )
    parser.add_argument(
        "places", nargs="*", metavar="PLACE", help="directories below results (default: all)"
    )
    given = parser.parse_args(arguments)
    data_dir, failed = given.data_dir.resolve(), 0
    suites = published_pages(root / "bench" / "suites")
    places = given.places or list(suites)
    if unknown := set(places) - set(suites):
        parser.error(f"no suite makes {', '.join(unknown)}; there is: {', '.join(suites)}")
    for place, (suite, published) in suites.items():
        if place not in places:
            continue
        if place != published.directory[0]:
            print(f"{place}: left as it is: of another machine")
            continue
        try:
            wanted = _of_suite(suite, published, data_dir)
        except ZooError as error:
            print(f"{place}: left as it is: {error}")
            continue
        failed += not _repeat(root, place, wanted, suite_command(suite, published), data_dir)
    return 1 if failed else 0


def suite_command(suite: Path, published: Published) -> list[str]:
    """The arguments of ``zoo`` that make a suite's records, without their directory."""
    data = ["--data", published.source] if published.source else []
    jobs = ["--jobs", str(own_cores())] if "threads" in read_suite(suite) else []
    return ["bench", "--suite", str(suite), *data, *jobs]


@dataclass(frozen=True)
class Wanted:
    """What the records of one data set should be of.

    below: their directory below the run's. config: of the records, without what depends on the
    machine. files: plug-ins that the suite names, by their names.
    """

    below: str
    request: Request
    plan: Plan
    config: Mapping[str, Any]
    files: Mapping[str, Path]

    def fits(self, record: Record) -> bool:
        """Whether a record can be taken over: it is current, of these settings, and no failure."""
        if changes(record, self.files):
            return False
        now = {"task_options": self.plan.task.options().model_dump()}
        return record.status in REUSABLE and not differing(record.config, self.config, SHARED, now)

    def missing(self, records: Sequence[Record]) -> int:
        """How many trainings and costs have no record, whatever its code."""
        seeds, phases = self.request.seeds, self.request.phases
        wanted: set[tuple[str, str, int | None]] = set()
        for row in self.plan.runnable:
            own = [seed for seed in seeds if row.trained_with(seed, seeds)]
            wanted |= {("train", row.name, seed) for seed in own if "train" in phases}
            wanted |= {("cost", row.name, None)} if "cost" in phases else set()
        return len(wanted - {(record.kind, record.name, record.seed) for record in records})

    def is_whole(self, run: Path) -> bool:
        """Whether all its records are in a run's directory."""
        records = RecordFile(run / self.below).read()
        return not self.missing(list(filter(self.fits, records)))


def _of_suite(suite: Path, published: Published, data_dir: Path) -> list[Wanted]:
    """What a suite asks for, by data set; ZooError where something for it is not there."""
    options: dict[str, Any] = {"suite": str(suite)}
    if published.source:
        if not (source := data_dir / published.source).exists():
            raise ZooError(f"it needs {source}, which is not there (--data-dir)")
        options["data"] = str(source)
    files = {Path(file).name: Path(file) for file in load_suite(str(suite)).get("plugins", ())}
    zoo = load(tuple(files.values()))
    requests = build_requests(options, zoo.registry)
    plans = [make_plan(request, zoo.registry) for request in requests]
    found = []
    for request, plan in zip(requests, plans, strict=True):
        loaded = load_data(request, plan, zoo)
        config = recorded_config(request, loaded)
        config["pretraining"] = request.pretraining.model_dump()
        found.append(Wanted("", request, plan.with_data(loaded.conditions), config, files))
    if len(found) == 1:
        return found
    names = directory_names([one.config["data"]["name"] for one in found])
    return [replace(one, below=name) for one, name in zip(found, names, strict=True)]


def _repeat(
    root: Path, place: str, wanted: Sequence[Wanted], command: Sequence[str], data_dir: Path
) -> bool:
    """Make a directory's records current; whether they are in the end."""
    home, work = root / "results" / place, root / "build" / "results" / place
    stale = missing = 0
    for one in wanted:
        there = RecordFile(home / one.below).read()
        stale += sum(not one.fits(record) for record in there)
        missing += one.missing(there)
    if not stale and not missing:
        print(f"{place}: current")
        return True
    print(f"{place}: {counted(stale, 'record')} stale, {missing} missing", flush=True)
    for one in wanted:
        _write(one, [home, work], work)
    arguments = [sys.executable, "-m", "zoo", *command, "--out", str(work)]
    status = 1
    try:
        status = subprocess.run(arguments, cwd=data_dir, check=False).returncode
    finally:  # also after Ctrl-C, which the run gets too
        whole = [one for one in wanted if not status or one.is_whole(work)]
        for one in whole:
            _write(one, [work], home)
    if status:
        print(
            f"{place}: {len(whole)} of {counted(len(wanted), 'data set')} done, the rest left as "
            f"it is, for zoo {command[0]} ended with exit status {status}"
        )
        return False
    shutil.rmtree(work)
    return True


def _write(one: Wanted, sources: Sequence[Path], target: Path) -> None:
    """Write the records of the sources that fit, each once, as those of the target."""
    read = [RecordFile(source / one.below).read() for source in sources]
    found = {record.key: record for record in itertools.chain(*read) if one.fits(record)}
    file = target / one.below / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished, unfinished.open("w", encoding="utf-8") as out:
        for record in found.values():
            out.write(json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
