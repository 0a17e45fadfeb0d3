"""Writing one text from another: what a worker does.

The decoder is taught by the target itself: it is given the target up to a token and is to say the
next (teacher forcing). Exact match is the share of test pairs whose target the model writes letter
by letter, by itself, from the source alone: greedily, and with a beam. Token accuracy is the share
of target tokens, the end among them, that come out likeliest after the true ones before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from zoo.config.settings import Training
from zoo.data.batching.document_batches import padded
from zoo.data.batching.pair_batches import PairBatch, PairSplit
from zoo.data.encoding.encoded_pairs import END, PAD, START, EncodedPairs, decode_text
from zoo.errors import ZooError
from zoo.execution.base import Setting
from zoo.models.build import build_encoder_decoder
from zoo.models.decoding.generate import Decoding, transduce
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.registry import Choice
from zoo.registry.cell import Cell
from zoo.tasks.learner import EVALUATION_BATCH, Fitting, Learner
from zoo.train.device import Runtime


class TransductionLearner(Learner):
    """See Learner. Items are target tokens, rows are pairs."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.encoded = setting, EncodedPairs.open(setting.data)

    def build(self, cell: Cell, seed: int) -> nn.Module:
        """See Learner."""
        training = self.setting.training
        return build_encoder_decoder(
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
        raise AssertionError(f"no baseline writes texts, nor does '{choice}'")

    def fitting(self, choice: Choice, share: float) -> Fitting | None:
        """See Learner."""
        return None

    def training_rows(self, runtime: Runtime) -> PairSplit:
        """See Learner."""
        return PairSplit(self.encoded, "train", runtime.device)

    def splits(self, runtime: Runtime, share: float) -> tuple[PairSplit, PairSplit]:
        """See Learner."""
        train = self.training_rows(runtime)
        if not share:
            return train, PairSplit(self.encoded, "test", runtime.device)
        order = np.random.default_rng(0).permutation(len(train))
        held = max(1, round(share * len(train)))
        if held >= len(train):
            raise ZooError(f"--validation {share} leaves no pair to train on")
        return train.subset(np.sort(order[held:])), train.subset(np.sort(order[:held]))

    def loss(self, model: nn.Module, batch: PairBatch, training: Training) -> tuple[Tensor, Tensor]:
        """See Learner."""
        logits = self.run(model, batch)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1),
            batch.next.flatten(),
            ignore_index=PAD,
            label_smoothing=training.label_smoothing,
        )
        return loss, _right(logits.detach(), batch)

    def run(self, model: nn.Module, batch: PairBatch) -> Tensor:
        """See Learner; logits (B, Lt, V) after the true tokens."""
        logits: Tensor = model(
            batch.source, batch.source_tokens, batch.written, batch.written_tokens
        )
        return logits

    @torch.inference_mode()
    def score(self, model: nn.Module, rows: PairSplit, runtime: Runtime) -> dict[str, Any]:
        """See Learner."""
        assert isinstance(model, EncoderDecoder)
        model.eval()
        tokenizer = Tokenizer.from_file(str(self.encoded.tokenizer_path))
        beams = (1, self.setting.beam)
        wrong: dict[int, list[int]] = {beam: [] for beam in beams}
        right = torch.zeros((), device=runtime.device)
        items = 0
        for batch in rows.ordered(EVALUATION_BATCH):
            with runtime.autocast():
                right += _right(self.run(model, batch), batch)
            items += batch.items
            for beam in wrong:
                with runtime.autocast():
                    written = write(
                        model,
                        batch.source,
                        batch.source_tokens.attention_mask,
                        beam,
                        self.setting.sizes.max_length,
                    )
                for row, ids in zip(batch.rows.tolist(), written, strict=True):
                    if decode_text(tokenizer, ids) != rows.texts[row]:
                        wrong[beam].append(row)
        greedy, beamed = (wrong[beam] for beam in beams)
        return {
            "exact_match": 1 - len(greedy) / len(rows),
            "exact_match_beam": 1 - len(beamed) / len(rows),
            "token_accuracy": right.item() / items,
            "documents": len(rows),
            "errors": [[row] for row in sorted(greedy)],
        }

    def answers(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """See Learner."""
        return next_scores(model, ids)


def write(
    model: EncoderDecoder,
    source: Tensor,
    attention_mask: Tensor | None,
    beams: int,
    max_length: int,
) -> list[list[int]]:
    """The target ids that the model writes for each source (B, Ls), END left out."""
    decoding = Decoding(max_length - 1, end=END, beams=beams, banned=(PAD, START))
    return [
        g.ids
        for g in transduce(model, source, decoding, start=START, attention_mask=attention_mask)
    ]


def _right(logits: Tensor, batch: PairBatch) -> Tensor:
    """How many tokens come out likeliest that are the true ones."""
    return ((logits.argmax(dim=-1) == batch.next) & (batch.next != PAD)).sum()


def next_scores(model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
    """Scores (texts, at most 32 of the vocabulary) after each text, as source and as target."""
    device = next(model.parameters()).device
    rows, tokens = padded(ids, device)
    logits: Tensor = model(rows, tokens, rows, tokens)
    last = torch.tensor([len(text) - 1 for text in ids], device=device)
    return logits[torch.arange(len(ids), device=device), last, :32]
