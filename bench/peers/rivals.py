"""The peers and their twins: built, and shown to be one function before anything is timed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.peers.options import CLASSES, Shape
from zoo.components.tokens import Tokens
from zoo.errors import ZooError, one_line
from zoo.measure.allocator import keep_blocks, usual_blocks
from zoo.train.device import Runtime

PLUGIN = Path(__file__).parents[2] / "plugins" / "zoo-peers"
TOLERANCE = 1e-4
OURS = ("ours", "itself")  # how the names of our own turns begin
ROUNDED = {"fp32": TOLERANCE, "bf16": 5e-2}  # logits of about 1, after all layers


@dataclass(frozen=True)
class Peer:
    """A library's encoder: how it is built, what it needs, and what it is called.

    dropout: what the library drops of activations and of attention weights unless told otherwise.
    """

    name: str
    module: str
    adaptor: str
    given: Mapping[str, Any]
    dropout: float


PEERS = (
    Peer("x-transformers (flash)", "x_transformers", "XEncoder", {"positions": "absolute"}, 0.0),
    Peer("HF BERT (sdpa)", "transformers", "HfBert", {"attn_implementation": "sdpa"}, 0.1),
    Peer(
        "nn.TransformerEncoder",
        "torch",
        "TorchEncoder",
        {"positions": "learned", "activation": "gelu", "norm_first": True},
        0.1,
    ),
)


class MissingError(Exception):
    """A library that is not installed, and how to install it."""


class UnequalError(Exception):
    """Two models that should be one function are not; nothing may be timed."""


def pair(
    peer: Peer,
    shape: Shape,
    *,
    pool: str = "cls",
    dropout: bool = False,
    attention: str = "fused",
) -> tuple[nn.Module, nn.Module]:
    """Ours and theirs, of equal weights, on the CPU in float32; MissingError without the library.

    dropout: train each as it comes: theirs drops what the library drops by default, attention
    weights among it; ours as much, but no attention weights, which is the zoo's default.
    The adaptors are those of plugins/zoo-peers, from this checkout where it is not installed.
    """
    if importlib.util.find_spec(peer.module) is None:
        raise MissingError(f"needs {peer.module}: pip install -c constraints.txt -e '.[peers]'")
    if importlib.util.find_spec("zoo_peers") is None:
        sys.path.append(str(PLUGIN))
    from zoo_peers import encoders
    from zoo_peers.twin import twin

    torch.manual_seed(0)
    sizes = shape.sizes
    build = getattr(encoders, peer.adaptor)
    share = peer.dropout if dropout else 0.0
    drops = {"dropout": share, "attention_dropout": share}
    model: dict[str, Any] = {"vocab_size": sizes.vocab_size, "classes": CLASSES, "sizes": sizes}
    try:
        theirs = build(**model, **peer.given, **drops, pool=pool)
    except ZooError as error:  # it is there, and cannot be used
        raise MissingError(one_line(error)) from error
    ours = twin(theirs, **model, dropout=share, attention=attention)
    for one in (ours, theirs):
        one.eval()  # without what is dropped they are one function
    _must_be_equal(peer, ours, theirs, sizes.vocab_size, min(shape.length, 128))
    return ours, theirs


def _must_be_equal(
    peer: Peer, ours: nn.Module, theirs: nn.Module, vocab_size: int, length: int
) -> None:
    """Equal logits and gradients, with and without padding, from the weights they start with."""
    from zoo_peers.twin import ties

    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(1, vocab_size, (3, length), generator=draw)
    positions = torch.arange(length)
    attention_mask = positions < torch.tensor([[length], [length // 2], [max(1, length // 3)]])
    targets = torch.tensor([0, 1, 2])
    for tokens in (Tokens(None, positions), Tokens(attention_mask, positions)):
        for model in (ours, theirs):
            model.zero_grad()
        mine, other = ours(ids, tokens), theirs(ids, tokens)
        must_agree(f"logits of {peer.name}", mine, other)
        for logits in (mine, other):
            F.cross_entropy(logits, targets).backward()
        for tie in ties(theirs, ours):  # type: ignore[arg-type]
            assert tie.ours.grad is not None
            assert tie.theirs.grad is not None
            must_agree(
                f"gradients of {peer.name}", tie.ours.grad[tie.rows] * tie.factor, tie.theirs.grad
            )
    for model in (ours, theirs):
        model.zero_grad()


def must_agree(what: str, ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> None:
    """UnequalError unless the two are the same within the tolerance."""
    off = float((ours - theirs).detach().abs().max())
    if not off <= tolerance:
        raise UnequalError(f"{what} differ by {off:.2g}, more than {tolerance:g}")


Batch = tuple[Tensor, Tokens, Tensor]


@torch.inference_mode()
def must_agree_on(
    what: str, ours: nn.Module, theirs: nn.Module, batch: Batch, runtime: Runtime
) -> None:
    """UnequalError unless both give one answer to a batch that will be timed.

    Where it will be timed, at that precision, and without what is dropped: kernels, lengths and
    fast paths differ from those that ``pair`` compared on the CPU.
    """
    must_agree(
        f"logits of {what} on what is timed",
        logits(ours, batch, runtime),
        logits(theirs, batch, runtime),
        ROUNDED[runtime.precision],
    )


@torch.inference_mode()
def logits(model: nn.Module, batch: Batch, runtime: Runtime) -> Tensor:
    """Its answers in evaluation mode, (B, classes) in fp32; it is moved to the device."""
    ids, tokens, _ = batch
    with runtime.autocast():
        answer: Tensor = model.to(runtime.device).eval()(ids, tokens)
    return answer.float()


def random_batches(shape: Shape, device: torch.device, number: int = 2) -> list[Batch]:
    """Full batches of random ids: (B, L), their tokens, and labels (B)."""
    draw = torch.Generator().manual_seed(2)
    size = (shape.batch, shape.length)
    return [
        (
            torch.randint(1, shape.sizes.vocab_size, size, generator=draw).to(device),
            Tokens.whole(shape.length, device),
            torch.randint(CLASSES, (shape.batch,), generator=draw).to(device),
        )
        for _ in range(number)
    ]


def as_it_comes(name: str) -> None:
    """malloc as the zoo's workers have it in our turns, and as glibc has it in a peer's."""
    if name.startswith(OURS):
        keep_blocks()
    else:
        usual_blocks()


def training(
    model: nn.Module, batches: Sequence[Batch], runtime: Runtime
) -> Callable[[int], object]:
    """A step of forward, backward and AdamW on the batch of that number; the same for everybody."""
    model.to(runtime.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(piece: int) -> None:
        ids, tokens, labels = batches[piece % len(batches)]
        with runtime.autocast():
            logits = model(ids, tokens)
        loss = F.cross_entropy(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def inference(
    model: nn.Module, batches: Sequence[Batch], runtime: Runtime
) -> Callable[[int], object]:
    """The logits of the batch of that number, in evaluation."""
    model.to(runtime.device).eval()

    @torch.inference_mode()
    def step(piece: int) -> None:
        ids, tokens, _ = batches[piece % len(batches)]
        with runtime.autocast():
            model(ids, tokens)

    return step
