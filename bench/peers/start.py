"""How long the command takes to say anything, against importing the libraries of any such tool."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.peers.lines import Line, machine, made
from bench.peers.options import Options
from bench.peers.timing import race, ratio

ROOT = Path(__file__).parents[2]
BASE = "import typer, rich"
ROUNDS = 15  # at least; a start takes a tenth of a second
# What the installed command does.
ZOO = "import sys; from zoo.cli import main; sys.exit(main({}))"
REACH = {"--help": 3.0, "list": 4.0}


def against_imports(options: Options) -> Iterator[Line]:
    """``zoo --help`` and ``zoo list`` against ``python -c "import typer, rich"``."""
    against = f'python -c "{BASE}"'
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        needs = f"needs {missing[0]}: pip install -c constraints.txt -e '.[peers]'"
        yield Line(work="start", against=against, skipped=needs, **machine(options.runtime))
        return
    rounds = 3 if options.quick else max(ROUNDS, options.rounds)
    contenders = {"base": _command(BASE), "itself": _command(BASE)}
    contenders |= {word: _command(ZOO.format([word])) for word in REACH}
    times = race(contenders, rounds=rounds)
    noise = ratio(times["itself"], times["base"]).ratio
    for word, reach in REACH.items():
        yield made(
            f"start, zoo {word}",
            against,
            ratio(times[word], times["base"]),
            options.runtime,
            rounds=rounds,
            reach=reach,
            bound="at most",
            noise=round(noise, 4),
        )


def _command(code: str) -> Callable[[int], object]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

    def run(_: int) -> None:
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            check=True,
        )

    return run
