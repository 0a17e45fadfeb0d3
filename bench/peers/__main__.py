"""``python -m bench.peers``: see the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import bench.peers
from bench.peers import deep, inference, ragged, start, sweep, tutorial
from bench.peers.lines import Line, Out, machine
from bench.peers.options import Options
from bench.peers.rivals import UnequalError
from zoo.config.settings import Execution
from zoo.errors import ZooError, nearest, one_line
from zoo.train.device import resolve

# In the order of the table; each can be named alone.
WORKS: dict[str, Callable[[Options], Iterator[Line]]] = {
    "tutorial": tutorial.against_loop,
    "deep": deep.against_peers,
    "level": deep.level,
    "rate": deep.matrix_rates,
    "ragged": ragged.against_peers,
    "padding": ragged.padding_cost,
    "sweep": sweep.against_steps,
    "inference": inference.against_peers,
    "start": start.against_imports,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 0 all measured or skipped, 2 bad usage, 1 what failed or is unequal.

    One work that fails is a line that says so, and the others go on.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=bench.peers.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("work", nargs="*", metavar="WORK", help=f"of {', '.join(WORKS)}")
    parser.add_argument("--rounds", type=_positive, default=5, help="of every comparison")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one or two rounds")
    parser.add_argument("--out", type=Path, help="append the lines to this file as well")
    parser.add_argument("--data", type=Path, help="a directory with BBC news")
    parser.add_argument("--threads", type=_positive, help="of torch (default: its own choice)")
    parser.add_argument("--device", default="cpu", choices=("auto", "cpu", "cuda", "mps"))
    parser.add_argument(
        "--precision", default="fp32", choices=("fp32", "bf16"), help="where a work has both"
    )
    given = parser.parse_args(arguments)
    for name in given.work:
        if name not in WORKS:
            parser.error(f"no work '{name}'{nearest(name, list(WORKS))}")
    if given.data and not given.data.exists():
        parser.error(f"--data {given.data}: no such directory")
    if given.out:
        try:
            given.out.open("a").close()
        except OSError as error:
            parser.error(f"--out {given.out}: {error.strerror}")
    if given.threads:
        torch.set_num_threads(given.threads)
    try:
        runtime = resolve(Execution(device=given.device, precision=given.precision))
    except (ZooError, ValueError) as error:
        parser.error(" ".join(str(error).split()))
    rounds = min(2, given.rounds) if given.quick else given.rounds
    options = Options(runtime, rounds, given.quick, given.data)
    out = Out(given.out)
    status = 0
    for name in given.work or WORKS:
        try:
            for line in WORKS[name](options):
                out.add(line)
        except UnequalError as error:
            print(f"python -m bench.peers: {name}: not timed: {error}", file=sys.stderr)
            status = 1
        except (ZooError, RuntimeError, OSError) as error:  # out of memory is a RuntimeError
            reason = f"failed: {one_line(error)}"
            out.add(Line(work=name, against="all", skipped=reason, **machine(runtime)))
            status = 1
    return status


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
