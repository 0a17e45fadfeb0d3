"""Five seeds of one cell trained as one program, against one seed, and against one by one.

    python -m bench.together --device cuda
    python -m bench.together --quick

Each round trains every side for an epoch of made-up news, in turn; what is compared is trained
once before, and its losses and scores held against each other. Prints a JSON line per
comparison. The reach is a GPU's: a CPU has no idle units that four more seeds could use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bench.peers.lines import Line, Out, made
from bench.peers.rivals import UnequalError
from bench.peers.timing import race, ratio
from zoo import plugins
from zoo.data.batches import Split
from zoo.data.encode import Encoded, encode
from zoo.data.load import load_corpus
from zoo.errors import ZooError
from zoo.harness.allocator import keep_blocks
from zoo.harness.device import Runtime, resolve
from zoo.harness.ensemble_trainer import EnsembleTrainer
from zoo.harness.request import Request
from zoo.harness.settings import Execution, Training
from zoo.harness.trainer import Trainer
from zoo.models.build import build_classifier
from zoo.models.cell import Cell
from zoo.models.sizes import Sizes
from zoo.models.streams import ApartError
from zoo.registry import AXES
from zoo.tasks.classifying import classification_loss, predict

SEEDS = (0, 1, 2, 3, 4)
DATA, QUICK = "newswire(train=320,test=60)", "newswire(train=90,test=30)"
SMALL = Sizes(dim=16, heads=2, hidden=32, layers=1, max_length=32, vocab_size=300)
REACH = 1.5
# Of losses and scores after an epoch: rounding, which every step of Adam carries on.
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Scene:
    """The cell, what it is trained on, and where."""

    encoded: Encoded
    sizes: Sizes
    training: Training
    runtime: Runtime
    cell: dict[str, str]

    def model(self, seed: int) -> nn.Module:
        """The cell's classifier with a seed's weights."""
        return build_classifier(
            Cell.parse(plugins.load().registry, self.cell),
            self.sizes,
            vocab_size=self.encoded.vocab_size,
            classes=len(self.encoded.label_names),
            seed=seed,
            dropout=self.training.dropout,
        ).to(self.runtime.device)

    def train(self) -> Split:
        """The documents to learn from."""
        return Split(self.encoded.split("train"), self.runtime.device)

    def alone(self, seed: int) -> Trainer:
        """One seed by itself."""
        return Trainer(
            self.model(seed),
            self.train(),
            classification_loss,
            self.training,
            self.runtime,
            seed,
        )

    def together(self) -> EnsembleTrainer:
        """All seeds; ApartError where they cannot."""
        return EnsembleTrainer(
            [self.model(seed) for seed in SEEDS],
            self.train(),
            self.training,
            self.runtime,
            SEEDS,
            vocab_size=self.encoded.vocab_size,
            max_length=self.sizes.max_length,
        )


def must_be_equal(scene: Scene) -> None:
    """Train an epoch both ways in fp32; UnequalError unless losses and scores are the same."""
    exact = Runtime(scene.runtime.device, "fp32")
    scene = Scene(scene.encoded, scene.sizes, scene.training, exact, scene.cell)
    ensemble, held = scene.together(), Split(scene.encoded.split("test"), exact.device)
    for number, epoch in enumerate(ensemble.run_epoch()):
        trainer = scene.alone(SEEDS[number])
        off = abs(trainer.run_epoch().loss - epoch.loss)
        ours = predict(ensemble.ensemble.member(number), held, 64, exact)
        off = max(off, float(np.abs(ours - predict(trainer.model, held, 64, exact)).max()))
        if not off <= TOLERANCE:
            raise UnequalError(f"seed {SEEDS[number]} differs by {off:.2g} after an epoch")


def compare(scene: Scene, rounds: int) -> Iterator[Line]:
    """Both lines, once the sides are known to be equal."""
    must_be_equal(scene)
    one, ensemble = scene.alone(SEEDS[0]), scene.together()
    each = [scene.alone(seed) for seed in SEEDS]
    sides: dict[str, Callable[[int], object]] = {
        "one": lambda _: one.run_epoch(),
        "together": lambda _: ensemble.run_epoch(),
        "apart": lambda _: [trainer.run_epoch() for trainer in each],
    }
    times = race(sides, rounds=rounds, synchronise=scene.runtime.synchronise)
    s = scene.sizes
    detail = (
        f"{'+'.join(scene.cell.values())}, {len(SEEDS)} seeds, {s.layers} layers, width {s.dim}, "
        f"batch {scene.training.batch_size}, {len(one.train)} documents"
    )
    seconds = None
    if scene.runtime.device.type == "cuda":
        seconds = {name: float(np.median(found)) for name, found in times.items()}
    yield made(
        "seeds together",
        "one seed",
        ratio(times["together"], times["one"]),
        scene.runtime,
        rounds=rounds,
        reach=REACH,
        bound="at most",
        detail=detail,
        seconds=seconds,
    )
    yield made(
        "seeds one by one",
        "seeds together",
        ratio(times["apart"], times["together"]),
        scene.runtime,
        rounds=rounds,
        detail=detail,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines; 0 measured, 1 unequal or not to be run together, 2 bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.together",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, two rounds")
    parser.add_argument("--out", type=Path, help="append the lines to this file as well")
    parser.add_argument("--threads", type=int, help="of torch (default: its own choice)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--precision", default="auto", help="auto, fp32 or bf16")
    for axis in AXES:
        parser.add_argument(f"--{axis}", default=Request.model_fields[axis].default)
    given = parser.parse_args(arguments)
    if given.rounds < 1 or (given.threads is not None and given.threads < 1):
        parser.error("--rounds and --threads: at least 1")
    if given.threads:
        torch.set_num_threads(given.threads)
    try:
        runtime = resolve(Execution(device=given.device, precision=given.precision))
        registry = plugins.load().registry
        cell = {axis: str(registry.choose(axis, getattr(given, axis))) for axis in AXES}
        sizes = SMALL if given.quick else Sizes()
        corpus, _ = load_corpus(registry, QUICK if given.quick else DATA)
        encoded = encode(corpus, sizes.vocab_size, sizes.max_length)
    except (ZooError, ValueError) as error:
        parser.error(" ".join(str(error).split()))
    scene = Scene(encoded, sizes, Training(), runtime, cell)
    keep_blocks()
    out = Out(given.out)
    try:
        for line in compare(scene, min(2, given.rounds) if given.quick else given.rounds):
            out.add(line)
    except (UnequalError, ApartError) as error:
        print(f"python -m bench.together: not timed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
