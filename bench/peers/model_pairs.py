"""Another library's model and the zoo's cell that computes the same, checked to be equal."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.peers.steps import CLASSES, Batch, Shape, logits
from zoo.errors import ZooError, one_line
from zoo.training.device import Runtime

PLUGIN = Path(__file__).parents[2] / "plugins" / "zoo-peers"
TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-3  # of the largest gradient
LOGITS_TOLERANCE = {"fp32": TOLERANCE, "bf16": 5e-2}  # logits are about 1, after all layers


@dataclass(frozen=True, eq=False)  # compared and hashed by identity
class PeerModel:
    """A library's encoder.

    module: the library. encoder: its class in ``zoo_peers.encoders``, built with ``arguments``.
    """

    name: str
    module: str
    encoder: str
    arguments: Mapping[str, Any]


TORCH = PeerModel(
    "nn.TransformerEncoder",
    "torch",
    "TorchEncoder",
    {"positions": "learned", "activation": "gelu", "norm_first": True},
)
PEERS = (
    PeerModel("x-transformers (flash)", "x_transformers", "XEncoder", {"positions": "absolute"}),
    PeerModel("HF BERT (sdpa)", "transformers", "HfBert", {"attn_implementation": "sdpa"}),
    TORCH,
)
# The others have no rotary positions.
X_ROTARY = PeerModel(
    "x-transformers (flash, rotary)", "x_transformers", "XEncoder", {"positions": "rotary"}
)


class MissingError(ZooError):
    """A library or data set is missing; the message says how to get it."""


class UnequalError(Exception):
    """Two models that should compute the same do not; they must not be timed."""


def model_pair(peer: PeerModel, shape: Shape) -> tuple[nn.Module, nn.Module]:
    """The zoo's model and the library's, with equal weights, on the CPU in float32.

    The library's model comes from plugins/zoo-peers, from this checkout if it is not installed.
    Raises MissingError without the library.
    """
    if importlib.util.find_spec(peer.module) is None:
        raise MissingError(f"needs {peer.module}: pip install -c constraints.txt '.[peers]'")
    if importlib.util.find_spec("zoo_peers") is None:
        sys.path.append(str(PLUGIN))
    from zoo_peers import encoders
    from zoo_peers.twin import twin

    torch.manual_seed(0)
    sizes = shape.sizes
    common: dict[str, Any] = {
        "vocab_size": sizes.vocab_size,
        "classes": CLASSES,
        "sizes": sizes,
        "dropout": 0.0,
    }
    try:
        theirs = getattr(encoders, peer.encoder)(
            **common, **peer.arguments, attention_dropout=0.0, pool="mean"
        )
    except ZooError as error:  # the library is installed and cannot be used
        raise MissingError(one_line(error)) from error
    ours = twin(theirs, **common, attention="fused")
    for model in (ours, theirs):
        model.eval()
    return ours, theirs


def check_equal_gradients(
    peer: PeerModel, ours: nn.Module, theirs: nn.Module, batch: Batch
) -> None:
    """Raise UnequalError unless both give the same logits and gradients, in fp32 without dropout.

    Both models are where the batch is, in evaluation mode, and are left without gradients.
    """
    from zoo_peers.twin import ties

    ids, tokens, targets = batch
    scores = []
    for model in (ours, theirs):
        model.zero_grad()
        scores.append(model(ids, tokens))
        F.cross_entropy(scores[-1], targets).backward()
    check_equal(f"logits of {peer.name} on a timed batch", *scores)
    pairs = []
    for tie in ties(theirs, ours):  # type: ignore[arg-type]
        assert tie.ours.grad is not None
        assert tie.theirs.grad is not None
        pairs.append((tie.ours.grad[tie.rows] * tie.factor, tie.theirs.grad))
    largest = max(float(gradient.abs().max()) for _, gradient in pairs)
    for own, other in pairs:
        tolerance = min(TOLERANCE, GRADIENT_TOLERANCE * largest)
        check_equal(f"gradients of {peer.name} on a timed batch", own, other, tolerance)
    for model in (ours, theirs):
        model.zero_grad()


def check_equal(what: str, ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> None:
    """Raise UnequalError unless all values are within the tolerance of each other."""
    difference = float((ours - theirs).detach().abs().max())
    if not difference <= tolerance:  # also true for NaN
        raise UnequalError(f"{what} differ by {difference:.2g}, more than {tolerance:g}")


def check_equal_on_batch(
    peer: PeerModel, ours: nn.Module, theirs: nn.Module, batch: Batch, runtime: Runtime
) -> None:
    """Raise UnequalError unless both give the same for a batch that will be timed.

    Logits on the device and at the precision of the timing; logits and gradients there in fp32,
    of the batch as it is and with its texts padded. Moves the models to the device.
    """
    check_equal(
        f"logits of {peer.name} on a timed batch",
        logits(ours, batch, runtime),
        logits(theirs, batch, runtime),
        LOGITS_TOLERANCE[runtime.precision],
    )
    for inputs in (batch, _padded(batch)):
        check_equal_gradients(peer, ours, theirs, inputs)


def _padded(batch: Batch) -> Batch:
    """The batch with its texts cut to lengths from half of the whole to all of it."""
    ids, tokens, labels = batch
    count, length = ids.shape
    lengths = torch.linspace(length // 2, length, count, device=ids.device).round()
    attention_mask = torch.arange(length, device=ids.device) < lengths[:, None]
    if tokens.attention_mask is not None:
        attention_mask &= tokens.attention_mask
    return ids, replace(tokens, attention_mask=attention_mask), labels
