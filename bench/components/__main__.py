"""Take what is published of a run from pytest-benchmark's JSON.

python -m bench.components RUN.json DIRECTORY
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.components.timings import from_benchmark, write
from zoo.errors import WriteError, ZooError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and return the exit status: 1 if a file cannot be written, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.components",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="written by pytest bench --benchmark-json")
    parser.add_argument("directory", type=Path, help="such as results/components/cpu")
    given = parser.parse_args(arguments)
    try:
        write(from_benchmark(given.run), given.directory)
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, WriteError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
