"""Masked language modelling: an encoder that predicts tokens from those on both sides of them.

The texts are divided into windows of at most ``max_length`` word pieces, [CLS] included. A share of
the pieces, or of the words, is to be predicted. In training they are drawn afresh in every epoch,
and 80% of them are [MASK], 10% another piece, 10% what they are (Devlin et al. 2019, section 3.1).
The share is 30% as in ModernBERT (Warner et al. 2024, section 2.2): more of a text is trained on in
every step than with BERT's 15% (Wettig et al. 2023, Should You Mask 15% in Masked Language
Modeling?).

What is scored has masks of its own, the same for every model and seed, and each is [MASK]: the
scores are those of tokens that the model does not see. Bits per byte are the nats of the masked
pieces divided by ln 2 and by the bytes that these pieces stand for, without spaces. The texts are
lowercased and without accents then, as their word pieces are; [UNK], whose bytes are not known, is
never masked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from zoo.config.sizes import Sizes
from zoo.data.encoding import encode_windows, token_counts
from zoo.data.token_arrays import TokenArrays
from zoo.data.tokenizer import FIRST_PIECE, piece_bytes
from zoo.errors import ZooError
from zoo.registry import Choice
from zoo.registry.declarations import part
from zoo.tasks.base import TRAIN, Estimator, Evaluation, Rows, TaskSetup
from zoo.tasks.encoder_task import held_out_rows, without_copies
from zoo.tasks.lm import LanguageModelling, PlainTextOptions, language_evaluation
from zoo.tasks.tag import effective_examples

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from zoo.data.masked_batches import MaskedBatch, MaskedSplit
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
    baselines = estimators = ("masked",)
    defaults: ClassVar = {"baseline": "neighbour-ngram"}
    unused: ClassVar = {"pool": "every masked position is read, none is pooled"}
    builder = "zoo.models.build:build_masked_language_model"
    text_model_class = "zoo.models.text_model:MaskFiller"
    model_name = "a masked language model"
    pipeline_tag = "fill-mask"
    commands = ("predict",)

    def no_pretraining(self, options: MaskedOptions) -> str | None:
        return "it is that stage itself"

    def encode(self, texts: Texts, sizes: Sizes) -> EncodedData:
        return encode_windows(texts, sizes.vocab_size, sizes.max_length)

    def summary_of(self, options: MaskedOptions) -> str:
        return f", {options.masked:.0%} of the word pieces masked"

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        model: Any = super().build(setup, cell, seed)
        if setup.data is not None:
            model.expect(token_counts(setup.data.split("train"), setup.vocab_size))
        built: nn.Module = model
        return built

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        """A model of masked tokens that is not a transformer; it sees the masks of the cells."""
        import torch

        train, scored = self.splits(setup, torch.device("cpu"))
        chosen, sizes = scored.chosen, scored.sizes
        places = [np.flatnonzero(part) for part in scored.arrays.parts(chosen)]
        texts, hidden = (
            [part.astype(np.int64) for part in parts]
            for parts in (train.arrays.parts(), scored.arrays.parts(scored.hidden))
        )

        def score(answers: Iterable[npt.NDArray[np.float64]]) -> Evaluation:
            targets = np.asarray(scored.arrays.ids)[chosen].astype(np.int64)
            nats, right, rest = list[float](), list[bool](), iter(targets.tolist())
            for log_probability in (
                each for log_probabilities in answers for each in log_probabilities
            ):
                target = next(rest)
                nats.append(-float(log_probability[target]))
                right.append(int(log_probability.argmax()) == target)
            text_of = np.repeat(scored.arrays.columns["texts"], list(map(len, places)))
            arrays = np.array(nats), np.array(right, dtype=bool)
            return masked_evaluation(*arrays, targets, text_of, sizes)

        return Estimator(
            factory=functools.partial(choice.build, vocab_size=len(sizes)),
            training=(texts,),
            answers=lambda model, windows: (model.log_probabilities(*window) for window in windows),
            inputs=list(zip(hidden, places, strict=True)),
            score=score,
            train_tokens=len(train.arrays.ids),
            scored_tokens=len(scored.arrays.ids),
        )

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
        sizes = piece_bytes(setup.data.tokenizer())
        return masked_split(setup.options, arrays, sizes, device)

    def full_length_split(
        self, setup: TaskSetup, examples: int, device: torch.device
    ) -> MaskedSplit:
        size = examples, setup.sizes.max_length
        ids = np.random.default_rng(0).integers(FIRST_PIECE, setup.vocab_size, size)
        arrays = TokenArrays.of(ids.tolist(), texts=np.arange(examples))
        letters = np.ones(setup.vocab_size, dtype=np.int64)
        return masked_split(setup.options, arrays, letters, device)

    def forward(self, model: nn.Module, batch: MaskedBatch) -> Any:
        return model(batch.ids, batch.tokens, batch.places)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: MaskedSplit, runtime: Runtime
    ) -> Evaluation:
        import torch
        import torch.nn.functional as F

        from zoo.tasks.passes import scored_passes

        nats, right, texts, targets = list[Any](), list[Any](), list[Any](), list[Any]()
        for batch, logits in scored_passes(model, split, EVALUATION_BATCH, runtime, self.forward):
            each = F.cross_entropy(logits.float(), batch.targets, reduction="none")
            nats.append(each.double())
            right.append(logits.argmax(dim=-1) == batch.targets)
            targets.append(batch.targets)
            texts.append(np.repeat(split.arrays.columns["texts"][batch.rows], batch.counts))
        nats_of, hits, wanted = (torch.cat(part).cpu().numpy() for part in (nats, right, targets))
        return masked_evaluation(nats_of, hits, wanted, np.concatenate(texts), split.sizes)


def masked_split(
    options: MaskedOptions,
    arrays: TokenArrays,
    sizes: npt.NDArray[np.int64],
    device: torch.device,
) -> MaskedSplit:
    """Windows on the device, masked as the options say."""
    from zoo.data.masked_batches import MaskedSplit

    return MaskedSplit(arrays, options.masked, sizes, device)


def masked_loss(model: nn.Module, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of the masked tokens, 0 where there is none, and how many are right."""
    from zoo.tasks.passes import token_loss

    return token_loss(model(batch.ids, batch.tokens, batch.places), batch.targets, batch.items)


def held_out_windows(windows: TokenArrays, share: float) -> Rows:
    """Windows to train on and to hold out; those of one text stay together.

    Of a single text its end is held out. A text that is also held out is not trained on.
    """
    numbers, of_window = np.unique(windows.columns["texts"], return_inverse=True)
    if len(numbers) == 1:
        count = max(1, round(share * len(windows)))
        rows = np.arange(len(windows))
        parts = rows[:-count], rows[-count:]
    else:
        held_out = np.isin(of_window, held_out_rows(len(numbers), share)[1])
        parts = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    return without_copies(parts, [" ".join(map(str, part)) for part in windows.parts()], share)


def masked_evaluation(
    nats: npt.NDArray[np.float64],
    right: npt.NDArray[np.bool_],
    targets: npt.NDArray[np.int64],
    texts: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> Evaluation:
    """The outputs of a model: -ln P of every masked token, whether the likeliest one is right.

    targets: the tokens; texts: the number of the text of each.
    """
    if not len(nats):
        raise ZooError("no held-out token is masked: give more text or a larger --set masked")
    evaluation = language_evaluation(math.fsum(nats), len(nats), int(sizes[targets].sum()))
    right_of, scored_of = np.bincount(texts, weights=right), np.bincount(texts)
    effective = effective_examples(right_of.tolist(), scored_of.tolist())
    details = {
        **evaluation.details,
        "texts": int((scored_of > 0).sum()),
        "effective_examples": {"token_accuracy": effective},
    }
    return Evaluation({**evaluation.outputs, "right_tokens": int(right.sum())}, details)
