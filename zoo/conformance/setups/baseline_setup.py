"""The set-up for baselines: torch modules, and those that learn from texts or token sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.setups.setup import BATCH, Case, ModuleSetup, padded_tokens, token_tensors
from zoo.data.encoding.word_pieces import SPECIALS

CLASSES, VOCAB_SIZE = 4, 50
VOCABULARY = [*SPECIALS, *(f"word{i}" for i in range(VOCAB_SIZE - len(SPECIALS)))]
SIZES = Sizes(dim=8, layers=1, heads=2, hidden=16, max_length=32, vocab_size=VOCAB_SIZE)


class BaselineSetup(ModuleSetup):
    """Builds ``Baseline(vocab_size=, classes=, sizes=, dropout=)``.

    One that learns from texts takes none of these, one that learns from token sequences only
    ``vocab_size``.
    """

    passes = ("vocab_size", "classes", "sizes", "dropout", "vocabulary", "head_hidden")
    contract = nn.Module
    takes_dropout = True
    quiet_training = False

    def make(self, dropout: float = 0.0) -> Any:
        """Build the baseline."""
        if self.can("stream"):
            return self.choice.build(vocab_size=VOCAB_SIZE)
        if not self.can("tokens"):
            return self.choice.build()
        more: dict[str, Any] = {"vocabulary": VOCABULARY} if self.can("vocabulary") else {}
        if self.can("head"):
            more["head_hidden"] = 0
        return self.choice.build(
            vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES, dropout=dropout, **more
        )

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        ids = torch.randint(VOCAB_SIZE, (BATCH, length), generator=generator)[texts]

        def case(name: str, tokens: Tokens) -> Case:
            def classify(module: nn.Module, ids: Tensor) -> Tensor:
                logits: Tensor = module(ids, tokens)
                return logits

            return Case(name, (ids,), classify, (len(ids), CLASSES), token_tensors(tokens))

        whole, padded = Tokens.whole(length), padded_tokens(length, texts)
        return [case("plain", whole), case("padded", padded)]
