"""Take what is published of a run from pytest-benchmark's JSON: few numbers of each component.

python -m bench.components.timings RUN.json DIRECTORY
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.commit import written
from zoo.errors import WriteError, ZooError
from zoo.report.write import write_file

FILE = "lines.jsonl"
DIGITS = 4


class Environment(BaseModel):
    """Where and how a run was measured: its first line.

    commit: of the zoo's code, with "+" where it was changed. sizes: by name, in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: str
    threads: int
    torch: str
    commit: str
    measured: str
    sizes: dict[str, str]


class Timing(BaseModel):
    """A component: by size and way (forward, backward) the median and the IQR in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    component: str
    distribution: str
    seconds: dict[str, dict[str, tuple[float, ...]]] = {}


Run = tuple[Environment, list[Timing]]


def from_benchmark(file: Path) -> Run:
    """A run that ``pytest bench --benchmark-only --benchmark-json FILE`` wrote.

    Raises ZooError where the file is something else, and for a run without measurements.
    """
    timings: dict[tuple[str, str], Timing] = {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        own, infos = content["machine_info"]["zoo"], []
        for each in content["benchmarks"]:
            info, stats = each["extra_info"], each["stats"]
            infos.append(info)
            named = {name: info[name] for name in ("kind", "component", "distribution")}
            timing = timings.setdefault((info["kind"], info["component"]), Timing(**named))
            pair = (float(f"{stats[name]:.{DIGITS}g}") for name in ("median", "iqr"))
            timing.seconds.setdefault(info["size"], {})[info["way"]] = tuple(pair)
        environment = Environment(
            machine=own["device_name"],
            threads=own["threads"],
            torch=own["torch"],
            commit=written(own["git"]),
            measured=content["datetime"][:10],
            sizes={info["size"]: info["shape"] for info in infos},
        )
    except OSError as error:
        raise ZooError(f"{file}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise ZooError(
            f"{file}: not what pytest bench --benchmark-only --benchmark-json FILE writes"
        ) from None
    if not timings:
        raise ZooError(f"{file}: nothing was measured; was --benchmark-only given?")
    return environment, list(timings.values())


def write(run: Run, directory: Path) -> None:
    """Write the run as lines, the environment first."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [line.model_dump_json() for line in (run[0], *run[1])]
    write_file(directory / FILE, "".join(f"{line}\n" for line in lines))


def read(directory: Path) -> Run:
    """What ``write`` wrote there; ZooError where the file is something else."""
    file = directory / FILE
    try:
        first, *others = file.read_text(encoding="utf-8").splitlines()
        environment = Environment.model_validate_json(first)
        return environment, [Timing.model_validate_json(line) for line in others]
    except (ValueError, ValidationError):
        raise ZooError(f"{file}: not the timings of components") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and return the exit status: 1 if a file cannot be written, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.components.timings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="written by pytest bench --benchmark-json")
    parser.add_argument("directory", type=Path, help="such as results/components/cpu")
    options = parser.parse_args(arguments)
    try:
        write(from_benchmark(options.run), options.directory)
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, WriteError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
