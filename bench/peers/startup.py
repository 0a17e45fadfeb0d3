"""How long the command takes to start, compared with importing libraries of the command line."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.options import Options
from bench.peers.turns import Step, ratio, time_in_turns

ROOT = Path(__file__).parents[2]
IMPORTS = "import typer, rich"
LEAST_ROUNDS = 15  # a start takes a tenth of a second
COMMAND = "import sys; from zoo.cli import main; sys.exit(main({}))"  # as the installed command
REACH = {"--help": 3.0, "list": 4.0}


def compare(options: Options) -> Iterator[Comparison]:
    """``zoo --help`` and ``zoo list`` against ``python -c "import typer, rich"``."""
    against = f'python -c "{IMPORTS}"'
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"needs {missing[0]}: pip install -c constraints.txt -e '.[peers]'"
        yield skipped("own", "start", against, reason, options.runtime)
        return
    rounds = 2 if options.quick else max(LEAST_ROUNDS, options.rounds)
    steps = {"imports": _python(IMPORTS), "imports again": _python(IMPORTS)}
    steps |= {word: _python(COMMAND.format([word])) for word in REACH}
    times = time_in_turns(steps, rounds=rounds)
    for word, reach in REACH.items():
        yield measured(
            "own",
            "start",
            against,
            ratio(times[word], times["imports"]),
            options.runtime,
            rounds=rounds,
            reach=reach,
            bound="at most",
            noise=ratio(times["imports again"], times["imports"]),
            ours=f"zoo {word}",
            theirs="Python that imports two libraries of the command line",
        )


def with_checkout(**variables: str) -> dict[str, str]:
    """This process's environment with the checkout first on Python's path, and more variables."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def _python(code: str) -> Step:
    def run(_: int) -> None:
        subprocess.run(
            [sys.executable, "-c", code],
            env=with_checkout(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    return run
