"""Masked language modelling: an encoder that predicts tokens from those on both sides of them.

The texts are divided into windows of at most ``max_length`` word pieces, [CLS] included. A share of
the pieces is to be predicted, 30% as in ModernBERT (Warner et al. 2024, section 2.2; Wettig et al.
2023). In training they are drawn afresh in every epoch, and 80% of them are [MASK], 10% another
piece, 10% what they are (Devlin et al. 2019, section 3.1).

What is scored has masks of its own, the same for every model and seed, and each is [MASK]. Bits per
byte are the nats of the masked pieces divided by ln 2 and by the bytes that these pieces stand for:
lowercased, without accents and spaces. [UNK], whose bytes are not known, is never masked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from zoo.config.sizes import Sizes
from zoo.data.encoding import encode_windows
from zoo.data.token_arrays import TokenArrays
from zoo.data.tokenizer import piece_bytes
from zoo.errors import ZooError
from zoo.registry import Choice
from zoo.registry.declarations import part
from zoo.tasks.base import TRAIN, Estimator, Evaluation, Rows, Task, TaskSetup
from zoo.tasks.encoder_task import without_copies
from zoo.tasks.lm import LanguageModelling, PlainTextOptions, language_evaluation
from zoo.tasks.tag import effective_examples

if TYPE_CHECKING:
    import torch
    from torch import nn

    from zoo.data.batches import MaskedBatch, MaskedSplit
    from zoo.data.sources.corpus import Texts
    from zoo.data.token_arrays import EncodedData
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime

EVALUATION_BATCH = 16  # a score for every entry of the vocabulary takes memory

Share = Annotated[float, Field(gt=0, lt=1)]


class MaskedOptions(PlainTextOptions):
    """Options of masked language modelling."""

    masked: Share = Field(default=0.3, description="Share of the word pieces that are masked.")


@part("task", "mlm", source="Devlin et al. 2019, section 3.1")
class MaskedLanguageModelling(LanguageModelling):
    """Masked tokens of a text: an encoder, scored in bits per byte of the masked text.

    The baseline counts what stands between two neighbours.
    """

    options = MaskedOptions
    needs: ClassVar = {"attention": frozenset({"padding"})}
    metrics = ("bits_per_byte", "token_accuracy")
    baselines = ("masked",)
    defaults: ClassVar = {"baseline": "neighbour-ngram"}
    unused: ClassVar = {"pool": "every masked position is read, none is pooled"}
    builder = "zoo.models.build:build_masked_language_model"
    text_model_class = "zoo.models.text_model:TextModel"
    model_name = "a masked language model"
    pipeline_tag = "fill-mask"
    commands = ()

    def no_pretraining(self, options: MaskedOptions) -> str | None:
        return "it is that stage itself"

    def encode(self, texts: Texts, sizes: Sizes) -> EncodedData:
        return encode_windows(texts, sizes.vocab_size, sizes.max_length)

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> Any:
        model: Any = super().build(setup, cell, seed)
        if setup.data is not None:
            model.expect(np.bincount(setup.data.split(TRAIN).ids, minlength=setup.vocab_size))
        return model

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        """A model of masked tokens that is not a transformer; it sees the masks of the cells."""
        import torch

        train, scored = self.splits(setup, torch.device("cpu"))
        arrays, sizes = scored.arrays, scored.sizes
        places = [np.flatnonzero(part) for part in arrays.parts(scored.chosen)]
        texts, hidden, true = (
            [part.astype(np.int64) for part in parts]
            for parts in (train.arrays.parts(), arrays.parts(scored.hidden), arrays.parts())
        )
        targets = [part[own] for part, own in zip(true, places, strict=True)]

        def score(model: Any) -> Evaluation:
            nats, right = list[npt.NDArray[np.float64]](), list[npt.NDArray[np.bool_]]()
            for *window, wanted in zip(hidden, places, targets, strict=True):
                log_probabilities = np.asarray(model.log_probabilities(*window))
                nats.append(-log_probabilities[np.arange(len(wanted)), wanted])
                right.append(log_probabilities.argmax(axis=1) == wanted)
            text_of = np.repeat(arrays.columns["texts"], list(map(len, places)))
            flat, hits, ids = (np.concatenate(part) for part in (nats, right, targets))
            return masked_evaluation(flat, hits, ids, text_of, sizes)

        factory = functools.partial(choice.build, vocab_size=len(sizes))
        return Estimator(factory, (texts,), score)

    def split(self, setup: TaskSetup, names: Sequence[str], device: torch.device) -> Any:
        return self._masked(setup, setup.data.split(*names), device)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[MaskedSplit, MaskedSplit]:
        fit, share = setup.data.split(TRAIN), setup.training.validation
        if share:
            fit, held_out = (fit.take(rows) for rows in held_out_windows(fit, share))
        else:
            held_out = setup.data.split(self.scored_split)
        return self._masked(setup, fit, device), self._masked(setup, held_out, device)

    def _masked(self, setup: TaskSetup, arrays: TokenArrays, device: torch.device) -> MaskedSplit:
        from zoo.data.batches import MaskedSplit

        sizes = piece_bytes(setup.data.tokenizer())
        return MaskedSplit(arrays, setup.options.masked, sizes, device)

    full_length_split = Task.full_length_split  # of masked texts none are made up

    def forward(self, model: nn.Module, batch: MaskedBatch) -> Any:
        return model(batch.ids, batch.tokens, batch.places)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Any, runtime: Runtime
    ) -> Evaluation:
        import torch
        import torch.nn.functional as F

        from zoo.tasks.passes import scored_passes

        nats, right, texts, targets = list[Any](), list[Any](), list[Any](), list[Any]()
        for batch, logits in scored_passes(model, split, EVALUATION_BATCH, runtime, self.forward):
            nats.append(F.cross_entropy(logits.float(), batch.targets, reduction="none").double())
            right.append(logits.argmax(dim=-1) == batch.targets)
            targets.append(batch.targets)
            texts.append(np.repeat(split.arrays.columns["texts"][batch.rows], batch.counts))
        flat, hits, wanted = (torch.cat(part).cpu().numpy() for part in (nats, right, targets))
        return masked_evaluation(flat, hits, wanted, np.concatenate(texts), split.sizes)


def held_out_windows(windows: TokenArrays, share: float) -> Rows:
    """Windows to train on, and those at the end to hold out, without copies of these."""
    rows, count = np.arange(len(windows)), max(1, round(share * len(windows)))
    texts = [" ".join(map(str, part)) for part in windows.parts()]
    return without_copies((rows[:-count], rows[-count:]), texts, share)


def masked_evaluation(
    nats: np.ndarray, right: np.ndarray, targets: np.ndarray, texts: np.ndarray, sizes: np.ndarray
) -> Evaluation:
    """The outputs of a model: -ln P of every masked token, whether the likeliest one is right.

    targets: the tokens; texts: the number of the text of each. sizes: bytes of every vocabulary
    entry.
    """
    if not len(nats):
        raise ZooError("no held-out token is masked: give more text or a larger --set masked")
    of_bytes = language_evaluation(math.fsum(nats), len(nats), int(sizes[targets].sum()))
    right_of, scored_of = np.bincount(texts, weights=right), np.bincount(texts)
    effective = effective_examples(right_of.tolist(), scored_of.tolist())
    details = {
        **of_bytes.details,
        "texts": int((scored_of > 0).sum()),
        "effective_examples": {"token_accuracy": effective},
    }
    return Evaluation({**of_bytes.outputs, "right_tokens": int(right.sum())}, details)
