"""Causal language modelling: what a worker does.

The text is a stream of tokens, every text after an END, cut into blocks of ``max_length`` tokens
without padding. A block is scored by itself: its first tokens see no text before it. Everything
held out is scored, the rest at its end as a shorter block.

Bits per byte are the nats of all scored tokens, END among them, over ln 2 and over the bytes that
these tokens stand for. The tokenizer is byte-level and loses nothing: there is no unknown token,
and models with other vocabularies, or none, compare by this number. END stands for no byte, so
what it costs to tell where a text ends is counted, and the bytes are those of the text alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.data.batching.block_batches import BlockBatch, Blocks
from zoo.data.batching.document_batches import padded
from zoo.data.encoding.encoded_stream import EncodedStream
from zoo.execution.base import Setting
from zoo.models.build import build_language_model
from zoo.registry import Choice
from zoo.registry.cell import Cell
from zoo.tasks.learner import EVALUATION_BATCH, Fitting, Learner
from zoo.train.device import Runtime

SINGLES = 10


class LanguageLearner(Learner):
    """See Learner. Items are tokens, rows are blocks."""

    scored = "validation"

    def __init__(self, setting: Setting) -> None:
        self.setting, self.encoded = setting, EncodedStream.open(setting.data)
        self.length = setting.sizes.max_length

    def build(self, cell: Cell, seed: int) -> nn.Module:
        """See Learner."""
        training = self.setting.training
        return build_language_model(
            cell,
            self.setting.sizes,
            vocab_size=self.encoded.vocab_size,
            seed=seed,
            dropout=training.dropout,
            attention_dropout=training.attention_dropout,
            embedding_std=training.embedding_std,
        )

    def build_baseline(self, choice: Choice) -> Any:
        """See Learner."""
        raise AssertionError(f"'{choice}' learns by itself")

    def fitting(self, choice: Choice, share: float) -> Fitting | None:
        """See Learner."""
        return FittedStream(choice, self.encoded, *self._streams(share), self.length)

    def training_rows(self, runtime: Runtime) -> Blocks:
        """See Learner."""
        return Blocks(self.encoded.stream("train"), self.length, runtime.device, short=False)

    def splits(self, runtime: Runtime, share: float) -> tuple[Blocks, Blocks]:
        """See Learner."""
        train, held = self._streams(share)
        return (
            Blocks(train, self.length, runtime.device, short=False),
            Blocks(held, self.length, runtime.device, short=True),
        )

    def _streams(self, share: float) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """What is learned from and what is scored; a share is the end of the training stream."""
        train = self.encoded.stream("train")
        if not share:
            return train, self.encoded.stream("held")
        cut = len(train) - max(2, round(share * len(train)))
        if cut <= self.length:
            from zoo.errors import ZooError

            raise ZooError(f"--validation {share} leaves {cut} tokens to train on: too few")
        return train[:cut], train[cut:]

    def loss(
        self, model: nn.Module, batch: BlockBatch, training: Training
    ) -> tuple[Tensor, Tensor]:
        """See Learner."""
        logits = model(batch.ids, batch.tokens)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1),
            batch.targets.flatten(),
            label_smoothing=training.label_smoothing,
        )
        return loss, (logits.detach().argmax(dim=-1) == batch.targets).sum()

    def run(self, model: nn.Module, batch: BlockBatch) -> object:
        """See Learner."""
        return model(batch.ids, batch.tokens)

    def score(self, model: nn.Module, rows: Blocks, runtime: Runtime) -> dict[str, Any]:
        """See Learner."""
        lengths = torch.from_numpy(self.encoded.byte_lengths()).to(runtime.device)
        return language_scores(model, rows, lengths, runtime)

    def answers(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """See Learner."""
        return next_scores(model, ids)


class FittedStream(Fitting):
    """A model of token streams that is no transformer; it too is scored block by block."""

    def __init__(
        self,
        choice: Choice,
        encoded: EncodedStream,
        train: npt.NDArray[np.int32],
        held: npt.NDArray[np.int32],
        length: int,
    ) -> None:
        self.make = functools.partial(choice.build, vocab_size=encoded.vocab_size)
        self.train, self.bytes = np.array(train, dtype=np.int64), encoded.byte_lengths()
        ids = np.array(held, dtype=np.int64)
        self.blocks = [ids[start : start + length + 1] for start in range(0, len(ids) - 1, length)]
        self.train_tokens, self.infer_tokens = len(self.train) - 1, len(ids) - 1

    def fit(self) -> None:
        """See Fitting."""
        self.model = self.make()
        self.model.fit(self.train)

    def infer(self) -> None:
        """See Fitting."""
        for block in self.blocks:
            self.model.nats(block)

    def singles(self) -> Sequence[Callable[[], object]]:
        """See Fitting."""
        return [functools.partial(self.model.nats, block) for block in self.blocks[:SINGLES]]

    def score(self) -> dict[str, Any]:
        """See Fitting."""
        nats = math.fsum(float(self.model.nats(block).sum()) for block in self.blocks)
        size = sum(int(self.bytes[block[1:]].sum()) for block in self.blocks)
        return in_bits(nats, self.infer_tokens, size)


@torch.inference_mode()
def language_scores(
    model: nn.Module, rows: Blocks, byte_lengths: Tensor, runtime: Runtime
) -> dict[str, Any]:
    """Validation loss and bits per byte over all blocks. byte_lengths: bytes of each id (V)."""
    model.eval()
    nats = torch.zeros((), dtype=torch.float64, device=runtime.device)
    size = torch.zeros((), dtype=torch.int64, device=runtime.device)
    tokens = 0
    for batch in rows.ordered(EVALUATION_BATCH):
        with runtime.autocast():
            logits = model(batch.ids, batch.tokens)
        flat = logits.float().flatten(0, 1)
        nats += F.cross_entropy(flat, batch.targets.flatten(), reduction="sum").double()
        size += byte_lengths[batch.targets].sum()
        tokens += batch.items
    return in_bits(nats.item(), tokens, int(size.item()))


def in_bits(nats: float, tokens: int, size: int) -> dict[str, Any]:
    """Metrics of so many nats over so many tokens that stand for so many bytes."""
    loss = nats / tokens
    return {
        "validation_loss": loss,
        "bits_per_byte": nats / math.log(2) / max(1, size),
        "perplexity": math.exp(min(loss, 700.0)),
        "tokens": tokens,
        "bytes": size,
    }


def next_scores(model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
    """Scores (texts, at most 32 of the vocabulary) of the token after each text."""
    device = next(model.parameters()).device
    rows, tokens = padded(ids, device)
    logits: Tensor = model(rows, Tokens(tokens.attention_mask, tokens.positions))
    last = torch.tensor([len(text) - 1 for text in ids], device=device)
    return logits[torch.arange(len(ids), device=device), last, :32]
