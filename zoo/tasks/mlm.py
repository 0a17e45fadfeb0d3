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

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from zoo.config.sizes import Sizes
from zoo.data.sources.splits import ScoringNotice
from zoo.registry import Choice, Registry
from zoo.tasks.base import Estimator, Evaluation, Loaded, Task, TaskSetup
from zoo.tasks.encoder_task import Rows, apart
from zoo.tasks.masked_estimator import MaskedEstimator, masked_evaluation
from zoo.tasks.plain_text_options import PlainTextOptions

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batching.masked_batches import MaskedBatch, MaskedSplit
    from zoo.data.encoding.encoded_documents import Documents
    from zoo.data.encoding.encoded_texts import EncodedTexts, Vocabulary
    from zoo.models.mask_filler import MaskFiller
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime

DEFAULT_DATA = "newswire"
EVALUATION_BATCH = 16  # a score for every entry of the vocabulary takes memory
SAMPLE_SCORES = 32  # of the vocabulary, in sample_scores

Share = Annotated[float, Field(gt=0, lt=1)]


class MaskedOptions(PlainTextOptions):
    """Options of masked language modelling."""

    masked: Share = Field(default=0.3, description="Share of the word pieces that are masked.")
    whole_words: bool = Field(default=False, description="Mask words as a whole, not pieces.")


class MaskedLanguageModelling(Task):
    """The masked tokens of a text; the baseline counts what stands between two neighbours."""

    options = MaskedOptions
    reads = ("text", "text-labels")
    needs: ClassVar = {"attention": frozenset({"padding"})}
    metrics = ("bits_per_byte", "token_accuracy")
    baselines = ("masked",)
    defaults: ClassVar = {"baseline": "neighbour-ngram"}
    unused: ClassVar = {"pool": "every masked position is read, none is pooled"}
    model_name = "a masked language model"
    pipeline_tag = "fill-mask"
    scored_split = "validation"
    commands = ("predict", "evaluate")
    gives_encoder = True

    def no_pretraining(self, options: MaskedOptions) -> str:
        return "it is that stage itself"

    def load(
        self, spec: str | None, options: MaskedOptions, sizes: Sizes, registry: Registry
    ) -> Loaded:
        from zoo.data.encoding.encoded_texts import encode_texts
        from zoo.data.sources.load_data import load_texts, portable_spec

        texts, notices = load_texts(
            registry,
            spec or DEFAULT_DATA,
            options.reader(),
            keep_duplicates=options.keep_duplicates,
        )
        encoded = encode_texts(texts, sizes.vocab_size, sizes.max_length)
        train, held_out = (len(encoded.split(split).ids) for split in ("train", "validation"))
        if texts.duplicates:
            action = "kept" if options.keep_duplicates else "dropped from training"
            both = f"{texts.duplicates} held-out texts are also in the training split"
            notices = [*notices, ScoringNotice(f"{both}: {action}")]
        how = f"{options.masked:.0%} of the {'words' if options.whole_words else 'word pieces'}"
        description = {
            "name": texts.name,
            "fingerprint": texts.fingerprint,
            "train": train,
            "test": held_out,
            "duplicates": texts.duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": texts.notes,
            "summary": f"{train:,} tokens to train on, {held_out:,} for validation "
            f"({texts.notes['held out']}), {how} masked",
        }
        return Loaded(encoded, description, portable_spec(registry, texts.name), notices)

    def open(self, directory: Path) -> EncodedTexts:
        from zoo.data.encoding.encoded_texts import EncodedTexts

        return EncodedTexts.open(directory)

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        from zoo.data.encoding.encoded_texts import token_counts
        from zoo.models.build import build_masked_language_model

        model = build_masked_language_model(
            cell,
            setup.sizes,
            vocab_size=setup.vocab_size,
            seed=seed,
            dropout=setup.training.dropout,
            attention_dropout=setup.training.attention_dropout,
            embedding_std=setup.training.embedding_std,
        )
        if setup.data is not None:
            model.expect(token_counts(setup.data.split("train"), setup.vocab_size))
        return model

    def fits_itself(self, baseline: Any) -> bool:
        return True

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        import torch

        train, scored = self.splits(setup, torch.device("cpu"))
        return MaskedEstimator(choice, train, scored)

    def training_split(self, setup: TaskSetup, device: torch.device) -> MaskedSplit:
        return masked_split(setup.options, setup.data.split("train"), setup.data.pieces(), device)

    def all_examples(self, setup: TaskSetup, device: torch.device) -> MaskedSplit:
        from zoo.data.encoding.encoded_documents import joined

        windows = joined([setup.data.split(split) for split in ("train", "validation")])
        return masked_split(setup.options, windows, setup.data.pieces(), device)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[MaskedSplit, MaskedSplit]:
        from zoo.data.encoding.encoded_texts import take

        train = setup.data.split("train")
        if setup.training.validation:
            fit, held_out = (
                take(train, r) for r in validation_rows(train, setup.training.validation)
            )
        else:
            fit, held_out = train, setup.data.split("validation")
        pieces = setup.data.pieces()
        return (
            masked_split(setup.options, fit, pieces, device),
            masked_split(setup.options, held_out, pieces, device),
        )

    def full_length_split(
        self, setup: TaskSetup, examples: int, device: torch.device
    ) -> MaskedSplit:
        from zoo.data.encoding.encoded_documents import Documents
        from zoo.data.encoding.encoded_texts import FIRST_PIECE, Vocabulary

        length, size = setup.sizes.max_length, setup.vocab_size
        draw = np.random.default_rng(0)
        documents = Documents(
            draw.integers(FIRST_PIECE, size, examples * length).astype(np.int32),
            np.arange(examples + 1, dtype=np.int64) * length,
            np.arange(examples),
        )
        letters = Vocabulary(np.ones(size, dtype=np.int64), np.zeros(size, dtype=np.bool_))
        return masked_split(setup.options, documents, letters, device)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        return masked_loss(model, batch, setup.training.label_smoothing)

    def forward(self, model: nn.Module, batch: MaskedBatch) -> object:
        return model(batch.ids, batch.tokens, batch.places)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: MaskedSplit, runtime: Runtime
    ) -> Evaluation:
        import torch
        import torch.nn.functional as F

        model.eval()
        nats, right, texts, targets = list[Any](), list[Any](), list[Any](), list[Any]()
        with torch.inference_mode():
            for batch in split.ordered(EVALUATION_BATCH):
                with runtime.autocast():
                    logits = model(batch.ids, batch.tokens, batch.places).float()
                nats.append(F.cross_entropy(logits, batch.targets, reduction="none").double())
                right.append(logits.argmax(dim=-1) == batch.targets)
                targets.append(batch.targets)
                texts.append(np.repeat(split.documents.labels[batch.rows], batch.counts))
        return masked_evaluation(
            torch.cat(nats).cpu().numpy(),
            torch.cat(right).cpu().numpy(),
            torch.cat(targets).cpu().numpy(),
            np.concatenate(texts),
            split.vocabulary,
        )

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Scores (texts, at most 32 of the vocabulary) of the last token of each text."""
        import torch

        from zoo.data.batching.document_batches import padded

        device = next(model.parameters()).device
        batch, tokens = padded(ids, device)
        last = [row * batch.shape[1] + len(text) - 1 for row, text in enumerate(ids)]
        logits: Tensor = model(batch, tokens, torch.tensor(last, device=device))
        return logits[:, :SAMPLE_SCORES]

    def text_model(self, setup: TaskSetup, model: nn.Module, tokenizer: Tokenizer) -> MaskFiller:
        from zoo.models.mask_filler import MaskFiller

        return MaskFiller(model, tokenizer, setup.sizes.max_length)


def masked_split(
    options: MaskedOptions, documents: Documents, pieces: Vocabulary, device: torch.device
) -> MaskedSplit:
    """Windows on the device, masked as the options say."""
    from zoo.data.batching.masked_batches import MaskedSplit, Masking

    return MaskedSplit(documents, Masking(options.masked, options.whole_words), pieces, device)


def masked_loss(
    model: nn.Module, batch: MaskedBatch, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of the masked tokens, 0 where there is none, and how many are right."""
    import torch.nn.functional as F

    logits = model(batch.ids, batch.tokens, batch.places)
    total = F.cross_entropy(
        logits.float(), batch.targets, label_smoothing=label_smoothing, reduction="sum"
    )
    return total / max(1, batch.items), (logits.detach().argmax(dim=-1) == batch.targets).sum()


def validation_rows(windows: Documents, share: float) -> Rows:
    """Windows to train on and to hold out; those of one text stay together.

    Of a single text its end is held out. A text that is also held out is not trained on.
    """
    numbers, of_window = np.unique(windows.labels, return_inverse=True)
    if len(numbers) == 1:
        count = max(1, round(share * len(windows)))
        rows = np.arange(len(windows))
        parts = rows[:-count], rows[-count:]
    else:
        order = np.random.default_rng(0).permutation(len(numbers))
        held_out = np.isin(of_window, order[: max(1, round(share * len(numbers)))])
        parts = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    ids = [" ".join(map(str, part)) for part in np.split(windows.ids, windows.offsets[1:-1])]
    return apart(*parts, ids, share)
