"""Equal work: both sides compute the same, on the same batches, with the same malloc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.peers import encoders
from bench.peers.comparison import Comparison
from bench.peers.encoders import Case
from bench.peers.model_pairs import PEERS, X_ROTARY
from bench.peers.options import DEFAULT, Options

SAME = "every position, no dropout, blocks kept"
TRAINING_REACH, INFERENCE_REACH = 1.1, 1.0
COUNTS = {1: 10, 16: 3, 64: 1}  # batch size to steps of a turn, in inference


def compare_training(options: Options) -> Iterator[Comparison]:
    """Forward, backward and AdamW at several sizes."""
    for shape in options.trained:
        count = 3 if shape is DEFAULT else 1
        case = Case(
            "equal", "training", shape, SAME, SAME, reach=TRAINING_REACH, peers=(*PEERS, X_ROTARY)
        )
        yield from encoders.compare(replace(case, count=count), options)


def compare_inference(options: Options) -> Iterator[Comparison]:
    """Logits in evaluation mode, of one text and of several at once."""
    for batch, count in COUNTS.items():
        case = Case(
            "equal",
            "inference",
            replace(options.deep, batch=batch),
            SAME,
            SAME,
            training=False,
            count=count,
            reach=INFERENCE_REACH,
            peers=(*PEERS, X_ROTARY),
        )
        yield from encoders.compare(case, options)
