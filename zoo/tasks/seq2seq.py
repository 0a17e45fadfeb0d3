"""Generating one text from another: an encoder and a decoder with cross-attention.

In training the decoder is given the true target up to each token (teacher forcing). Exact match
is the share of test pairs whose target the model generates letter by letter from the source
alone, greedily. Token accuracy is the share of target tokens, the end
included, that are the most likely ones after the true tokens before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from zoo.config.reading import TextReading
from zoo.config.sizes import Sizes
from zoo.data.encoding import END, START, decode_target, encode_pairs
from zoo.data.sources.load_data import DEFAULT_PAIRS, load_data
from zoo.data.sources.row_reader import PairedTexts
from zoo.data.tokenizer import PAD_ID
from zoo.registry import Registry
from zoo.registry.declarations import part
from zoo.tasks.base import (
    SAMPLE_SCORES,
    Evaluation,
    Loaded,
    Rows,
    Task,
    TaskOptions,
    TaskSetup,
    loaded,
)
from zoo.tasks.encoder_task import EVALUATION_BATCH, held_out_rows, without_copies

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from zoo.data.batches import PairBatch, PairSplit
    from zoo.training.device import Runtime


class SequenceToSequenceOptions(TaskOptions, TextReading):
    """Options of sequence to sequence."""


@part("task", "seq2seq", source="Vaswani et al. 2017")
class SequenceToSequence(Task):
    """One text from another: encoder and decoder with cross-attention."""

    options = SequenceToSequenceOptions
    reads = ("pairs",)
    reads_rows = PairedTexts
    needs: ClassVar = {
        "attention": frozenset({"causal", "cross", "padding"}),
        "block": frozenset({"cross"}),
    }
    metrics = ("exact_match", "token_accuracy")
    defaults: ClassVar = {"baseline": "none", "max_length": 32, "vocab_size": 1000, "epochs": 12}
    unused: ClassVar = {"pool": "the decoder reads every position of the encoder"}
    builder = "zoo.models.build:build_encoder_decoder"
    text_model_class = "zoo.models.text_model:TextGenerator"
    model_name = "an encoder-decoder"
    commands = ("generate",)

    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        pairs, notices = load_data(registry, spec or DEFAULT_PAIRS, self.reader(options))
        encoded = encode_pairs(pairs, sizes.vocab_size, sizes.max_length)
        train, test = len(pairs.train.texts), len(pairs.test.texts)
        summary = (
            f"{train:,} training and {test:,} test pairs. "
            "Speeds are of passes over given targets, not of decoding"
        )
        about = {"train": train, "test": test, "duplicates": 0, "summary": summary}
        return loaded(pairs, encoded, notices, **about)

    def split(self, setup: TaskSetup, names: Sequence[str], device: torch.device) -> PairSplit:
        from zoo.data.batches import PairSplit

        return PairSplit(setup.data, names, device)

    def validation_rows(self, setup: TaskSetup) -> Rows:
        texts, share = setup.data.corpus().train.texts, setup.training.validation
        return without_copies(held_out_rows(len(texts), share), texts, share)

    def forward(self, model: nn.Module, batch: PairBatch) -> Tensor:
        """Logits (B, Lt, V) after the true tokens."""
        logits: Tensor = model(batch.ids, batch.tokens, batch.decoder_ids, batch.decoder_tokens)
        return logits

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: PairSplit, runtime: Runtime
    ) -> Evaluation:
        from zoo.models.architectures import EncoderDecoder
        from zoo.models.decoding import Decoding, transduce
        from zoo.tasks.passes import scored_passes

        assert isinstance(model, EncoderDecoder)
        tokenizer = setup.data.tokenizer()
        decoding = Decoding(setup.sizes.max_length - 1, end=END, banned=(PAD_ID, START))
        wrong: list[int] = []
        right = tokens = 0
        for batch, logits in scored_passes(model, split, EVALUATION_BATCH, runtime, self.forward):
            right += int((logits.argmax(dim=-1) == batch.targets).sum())
            tokens += batch.items
            mask = batch.tokens.attention_mask
            with runtime.autocast():
                targets = transduce(model, batch.ids, decoding, start=START, attention_mask=mask)
            for row, target in zip(batch.rows.tolist(), targets, strict=True):
                if decode_target(tokenizer, target.ids) != split.texts[row]:
                    wrong.append(row)
        outputs = {"pairs": len(split), "wrong": len(wrong)}
        outputs |= {"right_tokens": right, "tokens": tokens}
        details = {"examples": len(split), "errors": [[row] for row in sorted(wrong)]}
        return Evaluation(outputs, details)

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Scores (texts, at most 32 of the vocabulary) after each text, as source and target."""
        from zoo.data.batches import at_last_token, padded

        rows, tokens = padded(ids, next(model.parameters()).device)
        return at_last_token(model(rows, tokens, rows, tokens), ids)[:, :SAMPLE_SCORES]
