"""The command ``python -m bench.peers``."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import torch

import bench.peers
from bench.peers import encoders, ragged
from bench.peers.comparison import Comparison, add, joined, skipped
from bench.peers.steps import Options
from zoo.config.places import refuse_unwritable
from zoo.config.settings import Execution
from zoo.errors import ZooError, nearest, one_line
from zoo.execution.cost_job import PROCESSES
from zoo.measure.turns import LEAST_BLOCKS, MOST_BLOCKS
from zoo.training.device import resolve

# In the order of the published table; each can be named alone.
WORKS: dict[str, Callable[[Options], Iterator[Comparison]]] = {
    "training": encoders.compare_training,
    "inference": encoders.compare_inference,
    "articles": ragged.compare,
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
    until = f"{LEAST_BLOCKS} to {MOST_BLOCKS}, until intervals reach at most 2% to each side"
    parser.add_argument(
        "--blocks", type=int, default=0, help=f"of every comparison (default: {until})"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one block, one process")
    parser.add_argument("--out", type=Path, help="also add the lines to this file")
    parser.add_argument("--data", type=Path, help="a directory with BBC news")
    parser.add_argument("--threads", type=int, default=1, help="torch's (default: 1)")
    parser.add_argument("--device", default="cpu", choices=("auto", "cpu", "cuda", "mps"))
    parser.add_argument(
        "--precision", default="fp32", choices=("fp32", "bf16"), help="where a work has both"
    )
    parsed = parser.parse_args(arguments)
    for name in parsed.work:
        if name not in WORKS:
            parser.error(f"no work '{name}'{nearest(name, list(WORKS))}")
    if parsed.blocks and parsed.blocks < LEAST_BLOCKS:
        parser.error(
            f"--blocks {parsed.blocks}: at least {LEAST_BLOCKS}, or intervals are too wide"
        )
    try:
        if parsed.out:
            refuse_unwritable(parsed.out, is_file=True)
        runtime = resolve(
            Execution(device=parsed.device, precision=parsed.precision, compile=False)
        )
    except (ZooError, ValueError) as error:
        parser.error(" ".join(str(error).split()))
    options = Options(runtime, 1 if parsed.quick else parsed.blocks, parsed.quick, parsed.data)
    torch.set_num_threads(parsed.threads)
    status = 0
    for name in parsed.work or WORKS:
        try:
            for comparison in _compared(name, options, parsed.threads):
                add(comparison, parsed.out)
                if comparison.skipped.startswith(encoders.UNEQUAL):
                    print(f"python -m bench.peers: {name}: {comparison.skipped}", file=sys.stderr)
                    status = 1
        except (ZooError, RuntimeError, OSError) as error:  # out of memory is a RuntimeError
            add(skipped(name, "all", f"failed: {one_line(error)}", runtime), parsed.out)
            status = 1
    return status


def _compared(name: str, options: Options, threads: int) -> Iterator[Comparison]:
    """The comparisons of a work: after each of two processes, with what is known by then."""
    if options.quick:
        yield from WORKS[name](options)
        return
    lines: dict[tuple[object, ...], list[Comparison]] = {}
    for process in range(PROCESSES):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            own = replace(options, process=process)
            for line in pool.submit(_lines, name, own, threads).result():
                lines.setdefault(line.identity, []).append(line)
        yield from map(joined, lines.values())


def _lines(name: str, options: Options, threads: int) -> list[Comparison]:
    """The comparisons of a work in this process alone."""
    torch.set_num_threads(threads)
    return list(WORKS[name](options))


if __name__ == "__main__":
    # By its own name, under which the processes that measure find its functions too.
    from bench.peers.__main__ import main as run

    sys.exit(run())
