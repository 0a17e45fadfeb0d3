"""A cell with a peer's weights computes what the peer computes, and learns the same from it."""

from __future__ import annotations

import pytest
import torch
from peer_helpers import CLASSES, SIZES, VOCAB_SIZE, batch
from zoo_peers.encoders import HfBert, Peer, TorchEncoder, XEncoder
from zoo_peers.twin import ties, twin

EQUAL = {"rtol": 1e-9, "atol": 1e-9}
TWINS = {
    "torch": (TorchEncoder, {"positions": "learned", "activation": "gelu", "norm_first": True}),
    "x": (XEncoder, {"positions": "absolute"}),
    "x-rotary": (XEncoder, {"positions": "rotary"}),
    "bert": (HfBert, {}),
    "bert-cls": (HfBert, {"pool": "cls"}),
}


def made(name: str) -> Peer:
    """In float64, no parameter left at a zero or a one, no dropout."""
    kind, given = TWINS[name]
    torch.manual_seed(0)
    peer = kind(vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES, **given)
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return peer.double()


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("attention", ["fused", "packed"])
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_has_the_peers_outputs_and_gradients(name, attention):
    peer = made(name)
    ours = twin(peer, SIZES, vocab_size=VOCAB_SIZE, classes=CLASSES, attention=attention)
    ids, tokens = batch([9, 4, 13])
    targets = torch.tensor([0, 2, 1])
    for model in (ours, peer):
        torch.nn.functional.cross_entropy(model(ids, tokens), targets).backward()
    torch.testing.assert_close(ours(ids, tokens), peer(ids, tokens), **EQUAL)
    compared = 0
    for tie in ties(peer, ours):
        mine, theirs = tie.ours.grad[tie.rows] * tie.factor, tie.theirs.grad
        torch.testing.assert_close(mine, theirs, **EQUAL)
        compared += theirs.numel()
    own = sum(p.numel() for p in peer.head.parameters())
    whole = sum(p.numel() for p in peer.parameters()) - own
    types = 2 * SIZES.dim if isinstance(peer, HfBert) else 0
    assert compared == whole - types  # all but the vectors of first and second sentences


@pytest.mark.parametrize("name", TWINS)
def test_any_weight_moved_makes_another_function(name):
    peer = made(name)
    ours = twin(peer, SIZES, vocab_size=VOCAB_SIZE, classes=CLASSES)
    ids, tokens = batch([9, 4, 13])
    expected = peer(ids, tokens)
    for tie in ties(peer, ours):
        kept = tie.ours.detach().clone()
        with torch.no_grad():
            tie.ours[tie.rows] += torch.linspace(0.1, 0.9, tie.ours[tie.rows].numel()).view(
                tie.ours[tie.rows].shape
            )
        changed = (ours(ids, tokens) - expected).abs().max() > 1e-6
        # A softmax is blind to what is added to all of its scores, and so to a bias of keys.
        assert changed or tie.ours.dim() == 1
        with torch.no_grad():
            tie.ours.copy_(kept)
    torch.testing.assert_close(ours(ids, tokens), expected, **EQUAL)


def test_a_peer_that_no_cell_equals_is_refused():
    peer = TorchEncoder(vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES)
    with pytest.raises(ValueError, match="no cell"):
        twin(peer, SIZES, vocab_size=VOCAB_SIZE, classes=CLASSES)
