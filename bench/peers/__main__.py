"""The command ``python -m bench.peers``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import bench.peers
from bench.peers import bf16, encoders, overhead, ragged, tutorial
from bench.peers.comparison import Comparison, Output, skipped
from bench.peers.model_pairs import UnequalError
from bench.peers.options import Options
from bench.peers.turns import LEAST_ROUNDS
from zoo.config.settings import Execution
from zoo.errors import ZooError, nearest, one_line
from zoo.training.device import resolve

# In the order of the published table; each can be named alone.
WORKS: dict[str, Callable[[Options], Iterator[Comparison]]] = {
    "training": encoders.compare_training,
    "inference": encoders.compare_inference,
    "articles": ragged.compare,
    "positions": encoders.compare_positions,
    "tutorial": tutorial.compare,
    "dropout": encoders.compare_dropout,
    "blocks": encoders.compare_blocks,
    "bf16": bf16.compare,
    "padding": ragged.compare_padding,
    "sweep": overhead.compare_sweep,
    "start": overhead.compare_start,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named works, or all.

    Returns 0 if all were measured or skipped, 1 if one failed or its models were not equal. Bad
    usage exits with 2. A work that fails does not stop the others.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=bench.peers.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("work", nargs="*", metavar="WORK", help=f"any of {', '.join(WORKS)}")
    parser.add_argument(
        "--rounds", type=_positive, default=LEAST_ROUNDS, help="of every comparison, at least 5"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, at most two rounds")
    parser.add_argument("--out", type=Path, help="also append the lines to this file")
    parser.add_argument("--data", type=Path, help="a directory with BBC news")
    parser.add_argument("--threads", type=_positive, help="torch's threads (default: its choice)")
    parser.add_argument("--device", default="cpu", choices=("auto", "cpu", "cuda", "mps"))
    parser.add_argument(
        "--precision", default="fp32", choices=("fp32", "bf16"), help="where a work has both"
    )
    given = parser.parse_args(arguments)
    for name in given.work:
        if name not in WORKS:
            parser.error(f"no work '{name}'{nearest(name, list(WORKS))}")
    if given.rounds < LEAST_ROUNDS and not given.quick:
        parser.error(f"--rounds {given.rounds}: at least {LEAST_ROUNDS}, or intervals are too wide")
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
        runtime = resolve(Execution(device=given.device, precision=given.precision, compile=False))
    except (ZooError, ValueError) as error:
        parser.error(" ".join(str(error).split()))
    rounds = min(2, given.rounds) if given.quick else given.rounds
    options = Options(runtime, rounds, given.quick, given.data)
    output = Output(given.out)
    status = 0
    for name in given.work or WORKS:
        try:
            for comparison in WORKS[name](options):
                output.add(comparison)
        except UnequalError as error:
            print(f"python -m bench.peers: {name}: not timed: {error}", file=sys.stderr)
            status = 1
        except (ZooError, RuntimeError, OSError) as error:  # out of memory is a RuntimeError
            output.add(skipped("own", name, "all", f"failed: {one_line(error)}", runtime))
            status = 1
    return status


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
