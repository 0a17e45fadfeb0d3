"""One cell under two names, benchmarked repeatedly: how often do the tables call it a tie?

    python -m bench.aa --repeats 20

Each repeat is a ``zoo bench`` of two names for one attention, with its own five seeds and cost
measurement. Prints JSON lines: how many repeats called the two a tie in accuracy and in speed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import zoo

AGAIN = """
from zoo import hookimpl
from zoo.components.attention.fused import Fused

@hookimpl
def zoo_register(register):
    capabilities = ("rotate", "bias", "padding", "causal", "cross", "cache", "exact", "map")
    register("attention", "fused-again", Fused, summary="fused, again", capabilities=capabilities)
"""
REACH = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    accuracy = train = infer = 0
    for repeat in range(arguments.repeats):
        with tempfile.TemporaryDirectory() as directory:
            plugin = Path(directory) / "again.py"
            plugin.write_text(AGAIN)
            first = repeat * arguments.seeds
            result = zoo.bench(
                attention=["fused", "fused-again"],
                pe="sin",
                data="newswire(train=300,test=300)",
                seeds=tuple(range(first, first + arguments.seeds)),
                baseline="none",
                plugins=[str(plugin)],
                out=Path(directory) / "out",
                dim=32,
                heads=2,
                ffn_dim=64,
                layers=1,
                max_length=64,
                vocab_size=1000,
                epochs=2,
            )
        table = result.table
        again = table[table.attention == "fused-again"].iloc[0]
        accuracy += bool(table["tie"].all())
        train += bool(again.train_tie)
        infer += bool(again.infer_tie)
    for what, ties in (("accuracy", accuracy), ("training", train), ("inference", infer)):
        share = ties / arguments.repeats
        line = {
            "work": f"A/A sweep, {what}",
            "against": "itself under another name",
            "repeats": arguments.repeats,
            "ties": ties,
            "ratio": share,
            "reach": REACH,
            "reached": share >= REACH,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
