"""What the zoo leaves out of a training step, one thing at a time; all else is equal."""

from __future__ import annotations

from collections.abc import Iterator

from bench.peers import encoders
from bench.peers.comparison import Comparison
from bench.peers.encoders import Case
from bench.peers.model_pairs import PEERS
from bench.peers.options import Options
from bench.peers.steps import keep_own

RATE = 0.1  # of dropout: the default of the zoo, of BERT and of torch
WORK = "training"


def compare_positions(options: Options) -> Iterator[Comparison]:
    """The first position is read, as by a classifier on BERT's first token."""
    case = Case(
        "left out",
        WORK,
        options.deep,
        ours="the first position alone in the last layer; no dropout, blocks kept",
        theirs="every position, of which the first is read; no dropout, blocks kept",
        pair=lambda peer: {"pool": "cls"},
    )
    yield from encoders.compare(case, options)


def compare_dropout(options: Options) -> Iterator[Comparison]:
    """Dropout of activations at one rate; then the library's default, attention weights too."""
    drawn = f"every position, dropout {RATE:g} of activations"
    ours = f"{drawn}, four elements a random number; blocks kept"
    case = Case(
        "left out",
        WORK,
        options.deep,
        ours=ours,
        theirs=f"{drawn}, one element a random number; blocks kept",
        pair=lambda peer: {"dropout": RATE},
    )
    yield from encoders.compare(case, options)
    case = Case(
        "left out",
        WORK,
        options.deep,
        ours=ours,
        theirs=f"{drawn}, one element a random number, and of attention weights, as by default; "
        "blocks kept",
        pair=lambda peer: {"dropout": RATE, "attention_dropout": peer.attention_dropout},
        peers=tuple(peer for peer in PEERS if peer.attention_dropout),
    )
    yield from encoders.compare(case, options)


def compare_blocks(options: Options) -> Iterator[Comparison]:
    """Freed blocks of memory kept for the next step, or malloc as glibc has it."""
    case = Case(
        "left out",
        WORK,
        options.deep,
        ours="every position, no dropout, blocks kept",
        theirs="every position, no dropout, malloc as glibc has it",
        before=keep_own,
    )
    yield from encoders.compare(case, options)
