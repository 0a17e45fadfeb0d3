"""Make all published tables, plots and pages again from their records.

    python -m bench.publish [DIRECTORY]

A suite's ``[published]`` table says which directory it made, and what is written on its page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.publish.publish import publish
from zoo.errors import WriteError, ZooError


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
