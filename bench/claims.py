"""Run every published claim, the cheapest first, and publish its records in ``results/claims``.

    python -m bench.claims [--seeds N] [--jobs N] [NAME ...]

Runs are in ``build/claims``, where one that was interrupted goes on; its records are published when
it has ended. A training that another claim, or the published profile, has done already with the
same code and settings is taken over. ``make claims`` makes the page afterwards. Give ``--seeds 12``
for those that are undecided at eight.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.results import publish_records
from zoo import api
from zoo.cli.claim import claim_files
from zoo.config.claim import load_claim
from zoo.config.request import read_suite
from zoo.errors import ZooError
from zoo.execution.machine import own_cores
from zoo.registry.loading import load
from zoo.sweep.prepare import open_executor, places_of
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, RecordFile, directories_of
from zoo.sweep.run import PreparedRun

CLAIMS, WORK = Path("results/claims"), Path("build/claims")
# Where there may be trainings that a claim needs, besides its own.
PROFILES = (Path("results/diagnostics/cpu/profile"), Path("build/results/diagnostics/cpu/profile"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them and return the exit status: 1 if a claim could not be run."""
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="claims (default: all)")
    parser.add_argument("--seeds", type=int, help="default: as many as each claim needs")
    parser.add_argument("--jobs", type=int, default=own_cores())
    options = parser.parse_args(arguments)
    files, failed = claim_files(load()), 0
    if unknown := set(options.names) - set(files):
        parser.error(f"no claim {', '.join(sorted(unknown))}; 'zoo claims' lists them")
    # The cheapest first, and speeds last, when nothing else runs beside them.
    every = sorted(files, key=lambda name: (_times(files[name]), load_claim(files[name]).minutes))
    for name in options.names or every:
        start, seeds = time.monotonic(), options.seeds or load_claim(files[name]).seeds
        try:
            taken = take_over(files[name], WORK / name, seeds)
        except ZooError as error:  # a plug-in is missing, say
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        words = ["claim", name, "--seeds", str(seeds), "--jobs", str(options.jobs)]
        run = [sys.executable, "-m", "zoo", *words, "--out", str(WORK / name)]
        status = subprocess.run(run, check=False).returncode
        for place in directories_of(WORK / name) if status == 0 else ():
            publish_records(place, CLAIMS / place.relative_to(WORK))
        failed += bool(status)
        minutes = (time.monotonic() - start) / 60
        print(f"{name}: {taken} taken over, {minutes:.1f} minutes, status {status}", flush=True)
    return 1 if failed else 0


def _times(file: Path) -> bool:
    return "cost" in read_suite(file).get("phases", ())


def take_over(file: Path, out: Path, seeds: int) -> int:
    """Copy what is known of a claim's trainings to its directory; how many were new there."""
    zoo, taken = load(), 0
    requests = api.build_requests({"suite": file, "seeds": seeds}, zoo.registry)
    if _times(file) or any(request.chooses for request in requests):
        return 0
    known = {
        record.key: record
        for folder in (*PROFILES, CLAIMS, WORK)
        for place in directories_of(folder)
        for record in RecordFile(place).read()
        if record.kind == "train" and record.status in REUSABLE
    }
    with open_executor(zoo, "inline") as executor:
        runs = [PreparedRun(request, zoo, executor, Progress()) for request in requests]
        _, places = places_of([run.config for run in runs], file.stem, out)
        for run, place in zip(runs, places, strict=True):
            settings = dict.fromkeys((row.name for row in run.plan.runnable), run.request.training)
            trainings = run.plan.seed_trainings(settings)
            keys = {run.key("train", row, training, seed) for row, seed, training in trainings}
            new = (keys & known.keys()) - {record.key for record in RecordFile(place).read()}
            for key in new:
                place.mkdir(parents=True, exist_ok=True)
                RecordFile(place).append(known[key])
            taken += len(new)
    return taken


if __name__ == "__main__":
    sys.exit(main())
