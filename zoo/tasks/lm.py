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
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.config.reading import LabelColumn, Reading, TextColumn
from zoo.config.sizes import Sizes
from zoo.data.encoding import encode_stream
from zoo.data.sources.load_data import load_texts
from zoo.data.sources.row_reader import LabelledTexts
from zoo.data.tokenizer import piece_bytes
from zoo.errors import ZooError
from zoo.registry import BUILT_IN, Choice, Registry
from zoo.registry.declarations import part
from zoo.tasks.base import (
    TRAIN,
    VALIDATION,
    Estimator,
    Evaluation,
    Loaded,
    Task,
    TaskOptions,
    TaskSetup,
    deduplicated,
    loaded,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

    from zoo.data.sources.corpus import Texts
    from zoo.data.token_arrays import EncodedData
    from zoo.training.device import Runtime

DEFAULT_DATA = f"{BUILT_IN}:newswire"
EVALUATION_BATCH = 128


class PlainTextOptions(TaskOptions, Reading):
    """Options of every task on plain texts."""

    text_column: TextColumn = "text"
    label_column: LabelColumn = "label"


@part("task", "lm", source="Radford et al. 2018, section 3.1")
class LanguageModelling(Task):
    """The next token of a text: a causal decoder, scored in bits per byte.

    The baseline is an interpolated n-gram model. Part of the texts is held out and scored.
    """

    options = PlainTextOptions
    reads = ("text", "text-labels")
    reads_rows = LabelledTexts
    scored_split = VALIDATION
    needs: ClassVar = {"attention": frozenset({"causal", "padding"})}
    metrics: ClassVar[tuple[str, ...]] = ("bits_per_byte", "nats_per_token")
    baselines = ("stream",)
    defaults: ClassVar = {
        "baseline": "ngram",
        "max_length": 128,
        "vocab_size": 1000,
        "epochs": 2,
        "batch_size": 8,
    }
    unused: ClassVar = {"pool": "every position is read, none is pooled"}
    builder = "zoo.models.build:build_language_model"
    text_model_class = "zoo.models.text_model:TextGenerator"
    model_name = "a language model"
    pipeline_tag = "text-generation"
    commands: ClassVar[tuple[str, ...]] = ("generate",)

    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        texts, notices = load_texts(registry, spec or DEFAULT_DATA, self.reader(options))
        texts, duplicates = deduplicated(texts, notices, keep=False)
        encoded = self.encode(texts, sizes)
        train, held_out = (len(encoded.split(name).ids) for name in (TRAIN, VALIDATION))
        part = texts.notes["held out"]
        summary = f"{train:,} tokens to train on, {held_out:,} for validation ({part})"
        about = {"train": train, "test": held_out, "duplicates": duplicates, "summary": summary}
        return loaded(texts, encoded, notices, **about)

    def encode(self, texts: Texts, sizes: Sizes) -> EncodedData:
        """The encoded texts, with the splits ``train`` and ``validation``."""
        return encode_stream(texts, sizes.vocab_size, sizes.max_length)

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        """A model of token sequences that is not a transformer, scored block by block too."""
        train, ids = (np.array(stream, dtype=np.int64) for stream in self._streams(setup))
        length, sizes = setup.sizes.max_length, piece_bytes(setup.data.tokenizer())
        blocks = [ids[start : start + length + 1] for start in range(0, len(ids) - 1, length)]

        def score(model: Any) -> Evaluation:
            total = math.fsum(float(model.nats(block).sum()) for block in blocks)
            return language_evaluation(total, len(ids) - 1, int(sizes[ids[1:]].sum()))

        factory = functools.partial(choice.build, vocab_size=setup.data.vocab_size)
        return Estimator(factory, (train,), score)

    def split(self, setup: TaskSetup, names: Sequence[str], device: torch.device) -> Any:
        return _blocks(setup, setup.data.split(*names).ids, device)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[Any, Any]:
        train, held_out = self._streams(setup)
        return _blocks(setup, train, device), _blocks(setup, held_out, device, short=True)

    def _streams(self, setup: TaskSetup) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Token ids to train on and to score; validation takes the end of the training text."""
        train, share = setup.data.split(TRAIN).ids, setup.training.validation
        if not share:
            return train, setup.data.split(VALIDATION).ids
        cut = len(train) - max(2, round(share * len(train)))
        if cut <= setup.sizes.max_length:
            raise ZooError(f"--validation {share} leaves {cut} tokens to train on: too few")
        return train[:cut], train[cut:]

    def full_length_split(self, setup: TaskSetup, examples: int, device: torch.device) -> Any:
        number = examples * setup.sizes.max_length + 1
        ids = np.random.default_rng(0).integers(1, setup.vocab_size, number)
        return _blocks(setup, ids, device)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Any, runtime: Runtime
    ) -> Evaluation:
        import torch
        import torch.nn.functional as F

        from zoo.tasks.passes import scored_passes

        sizes = torch.from_numpy(piece_bytes(setup.data.tokenizer())).to(runtime.device)
        nats = torch.zeros((), dtype=torch.float64, device=runtime.device)
        size = torch.zeros((), dtype=torch.int64, device=runtime.device)
        tokens = 0
        for batch, logits in scored_passes(model, split, EVALUATION_BATCH, runtime, self.forward):
            flat, targets = logits.float().flatten(0, 1), batch.targets
            nats += F.cross_entropy(flat, targets.flatten(), reduction="sum").double()
            size += sizes[targets].sum()
            tokens += batch.items
        return language_evaluation(nats.item(), tokens, int(size.item()))


def _blocks(setup: TaskSetup, ids: np.ndarray, device: torch.device, *, short: bool = False) -> Any:
    from zoo.data.batches import Blocks

    return Blocks(ids, setup.sizes.max_length, device, short=short)


def language_evaluation(nats: float, tokens: int, size: int) -> Evaluation:
    """The outputs of a model that gave ``tokens`` tokens, of ``size`` bytes, so many nats."""
    outputs = {"nats": nats, "tokens": tokens, "bytes": size}
    perplexity = math.exp(min(nats / tokens, 700.0))
    details = {"examples": tokens, "perplexity": perplexity, "tokens": tokens, "bytes": size}
    return Evaluation(outputs, details)
