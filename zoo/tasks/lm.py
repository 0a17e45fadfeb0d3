"""Causal language modelling: a decoder that predicts the next token.

The texts are one sequence of tokens, an END before each text, cut into blocks of ``max_length``
tokens without padding. Every block is scored by itself: its first tokens see no text before it.
All held-out tokens are scored; what is left at the end makes a shorter block.

Bits per byte are the nats of all scored tokens, END included, divided by ln 2 and by the bytes
that these tokens stand for. The tokenizer works on bytes and loses nothing, so models with
different vocabularies compare by this number. END stands for no byte: predicting where a text
ends is counted, and the bytes are those of the text alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.config.sizes import Sizes
from zoo.data.sources.splits import ScoringNotice
from zoo.errors import ZooError
from zoo.registry import Choice, Registry
from zoo.tasks.base import Estimator, Evaluation, Loaded, Task, TaskSetup
from zoo.tasks.plain_text_options import PlainTextOptions

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batching.block_batches import BlockBatch, Blocks
    from zoo.data.encoding.encoded_stream import EncodedStream
    from zoo.models.text_generator import TextGenerator
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime

DEFAULT_DATA = "newswire"
EVALUATION_BATCH = 128
LATENCY_BLOCKS = 10
SAMPLE_SCORES = 32  # of the vocabulary, in sample_scores
NO_POOL = "every position is read, none is pooled"


class LanguageModelling(Task):
    """The next token of a text; the baseline is an interpolated n-gram model."""

    options = PlainTextOptions
    reads = ("text", "text-labels")
    needs: ClassVar = {"attention": frozenset({"causal", "padding"})}
    metrics = ("bits_per_byte", "nats_per_token")
    baselines = ("stream",)
    defaults: ClassVar = {
        "baseline": "ngram",
        "max_length": 128,
        "vocab_size": 1000,
        "epochs": 2,
        "batch_size": 8,
    }
    unused: ClassVar = {"pool": NO_POOL}
    model_name = "a language model"
    pipeline_tag = "text-generation"
    scored_split = "validation"
    commands = ("generate",)

    def load(
        self, spec: str | None, options: PlainTextOptions, sizes: Sizes, registry: Registry
    ) -> Loaded:
        from zoo.data.encoding.encoded_stream import encode_stream
        from zoo.data.sources.load_data import load_texts, portable_spec

        texts, notices = load_texts(
            registry,
            spec or DEFAULT_DATA,
            options.reader(),
            keep_duplicates=options.keep_duplicates,
        )
        encoded = encode_stream(texts, sizes.vocab_size, sizes.max_length)
        train, held_out = (len(encoded.stream(split)) - 1 for split in ("train", "validation"))
        size = sum(len(text.encode()) for text in texts.validation)
        if texts.duplicates:
            action = "kept" if options.keep_duplicates else "dropped from training"
            both = f"{texts.duplicates} held-out texts are also in the training split"
            notices = [*notices, ScoringNotice(f"{both}: {action}")]
        description = {
            "name": texts.name,
            "fingerprint": texts.fingerprint,
            "train": train,
            "test": held_out,
            "test_bytes": size,
            "duplicates": texts.duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": texts.notes,
            "summary": f"{train:,} tokens to train on, {held_out:,} for validation ({size:,} "
            f"bytes; {texts.notes['held out']})",
        }
        return Loaded(encoded, description, portable_spec(registry, texts.name), notices)

    def open(self, directory: Path) -> EncodedStream:
        from zoo.data.encoding.encoded_stream import EncodedStream

        return EncodedStream.open(directory)

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        from zoo.models.build import build_language_model

        return build_language_model(
            cell,
            setup.sizes,
            vocab_size=setup.vocab_size,
            seed=seed,
            dropout=setup.training.dropout,
            attention_dropout=setup.training.attention_dropout,
            embedding_std=setup.training.embedding_std,
        )

    def fits_itself(self, baseline: Any) -> bool:
        return True

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        return StreamEstimator(choice, setup.data, *self._streams(setup), setup.sizes.max_length)

    def training_split(self, setup: TaskSetup, device: torch.device) -> Blocks:
        from zoo.data.batching.block_batches import Blocks

        return Blocks(setup.data.stream("train"), setup.sizes.max_length, device, short=False)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[Blocks, Blocks]:
        from zoo.data.batching.block_batches import Blocks

        train, held_out = self._streams(setup)
        length = setup.sizes.max_length
        return (
            Blocks(train, length, device, short=False),
            Blocks(held_out, length, device, short=True),
        )

    def all_examples(self, setup: TaskSetup, device: torch.device) -> Blocks:
        from zoo.data.batching.block_batches import Blocks

        stream = np.concatenate([setup.data.stream(split) for split in ("train", "validation")])
        return Blocks(stream, setup.sizes.max_length, device, short=False)

    def _streams(self, setup: TaskSetup) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Token ids to train on and to score; validation takes the end of the training text."""
        train, share = setup.data.stream("train"), setup.training.validation
        if not share:
            return train, setup.data.stream("validation")
        cut = len(train) - max(2, round(share * len(train)))
        if cut <= setup.sizes.max_length:
            raise ZooError(f"--validation {share} leaves {cut} tokens to train on: too few")
        return train[:cut], train[cut:]

    def full_length_split(self, setup: TaskSetup, examples: int, device: torch.device) -> Blocks:
        from zoo.data.batching.block_batches import Blocks

        tokens = examples * setup.sizes.max_length + 1
        ids = np.random.default_rng(0).integers(1, setup.vocab_size, tokens).astype(np.int32)
        return Blocks(ids, setup.sizes.max_length, device, short=False)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: BlockBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of every next token."""
        import torch.nn.functional as F

        logits = model(batch.ids, batch.tokens)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1),
            batch.targets.flatten(),
            label_smoothing=setup.training.label_smoothing,
        )
        return loss, (logits.detach().argmax(dim=-1) == batch.targets).sum()

    def forward(self, model: nn.Module, batch: BlockBatch) -> object:
        return model(batch.ids, batch.tokens)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Blocks, runtime: Runtime
    ) -> Evaluation:
        import torch
        import torch.nn.functional as F

        byte_lengths = torch.from_numpy(setup.data.byte_lengths()).to(runtime.device)
        model.eval()
        nats = torch.zeros((), dtype=torch.float64, device=runtime.device)
        size = torch.zeros((), dtype=torch.int64, device=runtime.device)
        tokens = 0
        with torch.inference_mode():
            for batch in split.ordered(EVALUATION_BATCH):
                with runtime.autocast():
                    logits = model(batch.ids, batch.tokens)
                flat = logits.float().flatten(0, 1)
                nats += F.cross_entropy(flat, batch.targets.flatten(), reduction="sum").double()
                size += byte_lengths[batch.targets].sum()
                tokens += batch.items
        return evaluation(nats.item(), tokens, int(size.item()))

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Scores (texts, at most 32 of the vocabulary) of the token after each text."""
        import torch

        from zoo.data.batching.document_batches import padded

        device = next(model.parameters()).device
        logits: Tensor = model(*padded(ids, device))
        last = torch.tensor([len(text) - 1 for text in ids], device=device)
        return logits[torch.arange(len(ids), device=device), last, :SAMPLE_SCORES]

    def text_model(self, setup: TaskSetup, model: nn.Module, tokenizer: Tokenizer) -> TextGenerator:
        from zoo.models.text_generator import TextGenerator

        return TextGenerator(model, tokenizer, setup.sizes.max_length)


class StreamEstimator(Estimator):
    """A model of token sequences that is not a transformer; it is scored block by block too."""

    def __init__(
        self,
        choice: Choice,
        data: EncodedStream,
        train: npt.NDArray[np.int32],
        held_out: npt.NDArray[np.int32],
        length: int,
    ) -> None:
        self.factory = functools.partial(choice.build, vocab_size=data.vocab_size)
        self.train, self.bytes = np.array(train, dtype=np.int64), data.byte_lengths()
        ids = np.array(held_out, dtype=np.int64)
        self.blocks = [ids[start : start + length + 1] for start in range(0, len(ids) - 1, length)]
        self.train_tokens, self.scored_tokens = len(self.train) - 1, len(ids) - 1

    def fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.train)

    def predict(self) -> None:
        for block in self.blocks:
            self.model.nats(block)

    def single_predictions(self) -> Sequence[Callable[[], object]]:
        return [functools.partial(self.model.nats, b) for b in self.blocks[:LATENCY_BLOCKS]]

    def evaluate(self) -> Evaluation:
        nats = math.fsum(float(self.model.nats(block).sum()) for block in self.blocks)
        size = sum(int(self.bytes[block[1:]].sum()) for block in self.blocks)
        return evaluation(nats, self.scored_tokens, size)


def evaluation(nats: float, tokens: int, size: int) -> Evaluation:
    """The outputs of a model that gave ``tokens`` tokens, of ``size`` bytes, so many nats."""
    details: dict[str, Any] = {
        "examples": tokens,
        "perplexity": math.exp(min(nats / tokens, 700.0)),
        "tokens": tokens,
        "bytes": size,
    }
    return Evaluation({"nats": nats, "tokens": tokens, "bytes": size}, details)
