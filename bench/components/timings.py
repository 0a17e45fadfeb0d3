"""Take what is published of a run from pytest-benchmark's JSON: few numbers of each component.

python -m bench.components.timings RUN.json DIRECTORY
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.commit import written
from zoo.report.write import write_file

FILE = "lines.jsonl"
DIGITS = 4


@dataclass(frozen=True)
class Environment:
    """Where and how a run was measured: its first line.

    commit: of the zoo's code, with "+" where it was changed. sizes: by name, in words.
    """

    machine: str
    threads: int
    torch: str
    commit: str
    measured: str
    sizes: dict[str, str]


@dataclass(frozen=True)
class Timing:
    """A component: by size and way (forward, backward) the median and the IQR in seconds."""

    kind: str
    component: str
    distribution: str
    seconds: dict[str, dict[str, Sequence[float]]] = field(default_factory=dict)


Run = tuple[Environment, list[Timing]]


def from_benchmark(file: Path) -> Run:
    """A run that ``pytest bench --benchmark-only --benchmark-json FILE`` wrote."""
    content, timings = json.loads(file.read_text(encoding="utf-8")), dict[tuple[str, str], Timing]()
    for each in content["benchmarks"]:
        info, stats = each["extra_info"], each["stats"]
        named = (info[name] for name in ("kind", "component", "distribution"))
        timing = timings.setdefault((info["kind"], info["component"]), Timing(*named))
        pair = [float(f"{stats[name]:.{DIGITS}g}") for name in ("median", "iqr")]
        timing.seconds.setdefault(info["size"], {})[info["way"]] = pair
    own = content["machine_info"]["zoo"]
    environment = Environment(
        machine=own["device_name"],
        threads=own["threads"],
        torch=own["torch"],
        commit=written(own["git"]),
        measured=content["datetime"][:10],
        sizes={e["extra_info"]["size"]: e["extra_info"]["shape"] for e in content["benchmarks"]},
    )
    return environment, list(timings.values())


def write(run: Run, directory: Path) -> None:
    """Write the run as lines, the environment first."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [asdict(run[0]), *map(asdict, run[1])]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    write_file(directory / FILE, text)


def read(directory: Path) -> Run:
    """What ``write`` wrote there."""
    lines = (directory / FILE).read_text(encoding="utf-8").splitlines()
    first, *others = map(json.loads, lines)
    return Environment(**first), [Timing(**line) for line in others]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.components.timings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="written by pytest bench --benchmark-json")
    parser.add_argument("directory", type=Path, help="such as results/components/cpu")
    options = parser.parse_args(arguments)
    write(from_benchmark(options.run), options.directory)


if __name__ == "__main__":
    main()
