"""The peers as plain modules, for use without the harness.

Each is built as ``Peer(vocab_size=, classes=, sizes=, dropout=)`` and has
``forward(ids, tokens) -> (B, classes)`` and ``encode(ids, tokens) -> (B, L, D)``. Importing this
needs none of the libraries; building a peer needs that peer's library.
"""

from __future__ import annotations

from zoo_peers.hf_bert import HfBert
from zoo_peers.peer import Peer
from zoo_peers.torch_encoder import TorchEncoder
from zoo_peers.x_encoder import XEncoder

__all__ = ["HfBert", "Peer", "TorchEncoder", "XEncoder"]
