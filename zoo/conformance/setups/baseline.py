"""The rig for baselines: torch modules, and those that learn from texts or a stream."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.base import Case, ModuleRig
from zoo.data.encoding.word_pieces import SPECIALS

BATCH, CLASSES, VOCAB_SIZE = 3, 4, 50
VOCABULARY = [*SPECIALS, *(f"word{i}" for i in range(VOCAB_SIZE - len(SPECIALS)))]
SIZES = Sizes(dim=8, layers=1, heads=2, hidden=16, max_length=32, vocab_size=VOCAB_SIZE)


class BaselineRig(ModuleRig):
    """Builds ``Baseline(vocab_size=, classes=, sizes=, dropout=)``.

    One that learns from texts gets none of these, one that learns from a stream the first alone.
    """

    passes = ("vocab_size", "classes", "sizes", "dropout", "vocabulary")
    takes_dropout = True
    quiet_training = False

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return nn.Module

    def make(self, dropout: float = 0.0) -> Any:
        """See Rig.make."""
        if self.choice.can("stream"):
            return self.choice.build(vocab_size=VOCAB_SIZE)
        if not self.choice.can("tokens"):
            return self.choice.build()
        told = {"vocabulary": VOCABULARY} if self.choice.can("vocabulary") else {}
        return self.choice.build(
            vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES, dropout=dropout, **told
        )

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases."""
        ids = torch.randint(VOCAB_SIZE, (BATCH, length), generator=self.generator(seed))[texts]
        tokens = padded_tokens(length)
        assert tokens.attention_mask is not None
        real = tokens.attention_mask[texts]
        padded = Tokens(real, tokens.positions)
        shape = (ids.shape[0], CLASSES)

        def classify(tokens: Tokens) -> Any:
            return lambda module, ids: module(ids, tokens)

        whole = Tokens.whole(length)
        return [
            Case("plain", (ids,), classify(whole), shape, (whole.positions,)),
            Case("padded", (ids,), classify(padded), shape, (real, padded.positions)),
        ]
