"""Tagging: a tag for every token of a text, from an encoder and a head at every position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from zoo.config.reading import Division, Reading, part_of
from zoo.config.sizes import Sizes
from zoo.data.sources.corpus import IGNORED
from zoo.errors import ZooError
from zoo.registry import Choice, Registry
from zoo.tasks.base import Estimator, Evaluation, Loaded, TaskSetup
from zoo.tasks.data_remarks import frequent_tag_remark
from zoo.tasks.encoder_task import (
    EVALUATION_BATCH,
    SPLITS,
    EncoderOptions,
    EncoderTask,
    Rows,
    apart,
)
from zoo.tasks.tag_estimator import TagEstimator, tag_evaluation

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batching.tag_batches import TagBatch, TagSplit
    from zoo.data.encoding.encoded_tags import EncodedTags
    from zoo.data.sources.corpus import TaggedCorpus
    from zoo.data.sources.tagged_texts import TaggedTexts
    from zoo.models.text_tagger import TextTagger
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime

DEFAULT_DATA = "recall"


class TagOptions(EncoderOptions):
    """Options of tagging."""

    data_fields = ("tokens_column", "tags_column", *EncoderOptions.data_fields)

    tokens_column: str = Field(
        default="tokens",
        description="Column of the lists of tokens, in files and Hub data; in a CoNLL file its "
        "number, the first by default.",
    )
    tags_column: str = Field(
        default="tags",
        description="Column of the lists of tags, in files and Hub data; in a CoNLL file its "
        "number, the last by default.",
    )
    causal: bool = Field(
        default=False, description="Let a token see only itself and those before it."
    )


class Tag(EncoderTask):
    """One tag per token; those that are -100 are neither trained on nor scored."""

    options = TagOptions
    reads = ("token-labels",)
    metrics = ("token_accuracy", "macro_f1", "span_f1")
    baselines = ("token-texts",)
    defaults: ClassVar = {"baseline": "window-logreg"}
    unused: ClassVar = {"pool": "every token has a tag, none is pooled"}
    model_name = "a tagger"
    pipeline_tag = "token-classification"

    def needs_of(self, options: TagOptions) -> Mapping[str, frozenset[str]]:
        causal = {"causal"} if options.causal else set()
        return {**self.needs, "attention": self.needs["attention"] | causal}

    def read(
        self, spec: str | None, options: TagOptions, registry: Registry
    ) -> tuple[TaggedCorpus, list[str]]:
        from zoo.data.sources.corpus import TaggedCorpus
        from zoo.data.sources.load_data import load_data

        return load_data(registry, spec or DEFAULT_DATA, self.reader(options), TaggedCorpus)

    def reader(self, options: TagOptions) -> TaggedTexts:
        from zoo.data.sources.tagged_texts import TaggedTexts

        return TaggedTexts(
            options.tokens_column,
            options.tags_column,
            group_column=options.group_column,
            reading=part_of(Reading, options),
            division=part_of(Division, options),
        )

    def no_pretraining(self, options: TagOptions) -> str:
        both = (
            "the stage reads the tokens on both sides, and with --causal no token sees later ones"
        )
        return both if options.causal else ""

    def encode(
        self, corpus: TaggedCorpus, sizes: Sizes, tokenizer: Path | None = None
    ) -> EncodedTags:
        from zoo.data.encoding.encoded_tags import encode_tags

        return encode_tags(corpus, sizes.vocab_size, sizes.max_length, tokenizer)

    def load(
        self,
        spec: str | None,
        options: TagOptions,
        sizes: Sizes,
        registry: Registry,
        tokenizer: Path | None = None,
    ) -> Loaded:
        """As for every labelled text, with a note on tags beyond ``max_length``.

        Where the chance level is known, a remark says what knowing a text's tags alone scores.
        Raises ZooError where every tag of a split is beyond ``max_length``.
        """
        loaded = super().load(spec, options, sizes, registry, tokenizer)
        data: EncodedTags = loaded.encoded  # type: ignore[assignment]
        about = loaded.description
        for split in filter(data.has, SPLITS):
            if (data.split(split)[1].ids == IGNORED).all():
                longest = max(
                    len(tokens) for _, texts, _ in data.corpus().splits() for tokens in texts
                )
                raise ZooError(
                    f"--max-length {sizes.max_length}: every tag of {split} in {about['name']} is "
                    f"beyond so many word pieces; the longest text has {longest} tokens"
                )
        _, tags = data.split("test")
        scored = int((tags.ids != IGNORED).sum())
        both = about["duplicates"]
        dropped = "" if options.keep_duplicates else " (dropped from training)"
        about["summary"] = (
            f"{about['train']:,} training and {about['test']:,} test texts, {scored:,} test tokens "
            f"with a tag{f', {both} texts in both{dropped}' if both else ''}"
        )
        if "chance" in about and scored:
            about["remarks"] = [frequent_tag_remark(np.split(tags.ids, tags.offsets[1:-1]))]
        if cut := data.cut_tags("train") + data.cut_tags("test"):
            note = (
                f"{data.cut_tags('train'):,} tags of train and {data.cut_tags('test'):,} of test "
                f"are beyond the {sizes.max_length} word pieces of --max-length: not scored"
            )
            loaded.notices.append(note)
            about["notes"] = {**about["notes"], "cut": note}
            about["cut_tags"] = cut
        return loaded

    def open(self, directory: Path) -> EncodedTags:
        from zoo.data.encoding.encoded_tags import EncodedTags

        return EncodedTags.open(directory)

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        from zoo.models.build import build_tagger

        return build_tagger(
            cell,
            setup.sizes,
            vocab_size=setup.vocab_size,
            tags=len(setup.labels),
            seed=seed,
            head_hidden=setup.options.head_hidden,
            causal=setup.options.causal,
            dropout=setup.training.dropout,
            attention_dropout=setup.training.attention_dropout,
            embedding_std=setup.training.embedding_std,
        )

    def fits_itself(self, baseline: Any) -> bool:
        return True

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        scored, groups = self.scored(setup), self.scored_groups(setup)
        return TagEstimator(choice.build, setup.data, scored, groups)

    def split(self, setup: TaskSetup, name: str, device: torch.device) -> TagSplit:
        from zoo.data.batching.tag_batches import TagSplit

        texts, tags = setup.data.split(name)
        return TagSplit(texts, tags, device)

    def all_examples(self, setup: TaskSetup, device: torch.device) -> TagSplit:
        from zoo.data.batching.tag_batches import TagSplit
        from zoo.data.encoding.encoded_documents import joined

        parts = (setup.data.split(name) for name in self.all_splits(setup))
        texts, tags = zip(*parts, strict=True)
        return TagSplit(joined(texts), joined(tags), device)

    def validation_rows(self, setup: TaskSetup) -> Rows:
        texts = [" ".join(tokens) for tokens in setup.data.corpus().train_tokens]
        share = setup.training.validation
        order = np.random.default_rng(0).permutation(len(texts))
        count = max(1, round(share * len(texts)))
        return apart(order[count:], order[:count], texts, share)

    def full_length_split(self, setup: TaskSetup, examples: int, device: torch.device) -> TagSplit:
        from zoo.data.batching.tag_batches import TagSplit
        from zoo.data.encoding.encoded_documents import Documents

        draw, length = np.random.default_rng(0), setup.sizes.max_length
        offsets = np.arange(examples + 1, dtype=np.int64) * length
        texts, tags = (
            Documents(
                draw.integers(low, high, examples * length).astype(np.int32),
                offsets,
                np.zeros(examples, dtype=np.int64),
            )
            for low, high in ((1, setup.vocab_size), (0, len(setup.labels)))
        )
        return TagSplit(texts, tags, device)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: TagBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of every tag that is scored; 0 where there is none."""
        import torch.nn.functional as F

        from zoo.training.token_noise import hide_tokens

        logits = model(hide_tokens(batch.ids, setup.options.token_dropout), batch.tokens)
        total = F.cross_entropy(
            logits.float().flatten(0, 1),
            batch.tags.flatten(),
            ignore_index=IGNORED,
            label_smoothing=setup.training.label_smoothing,
            reduction="sum",
        )
        return total / max(1, batch.items), (logits.detach().argmax(dim=-1) == batch.tags).sum()

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: TagSplit, runtime: Runtime
    ) -> Evaluation:
        import torch

        model.eval()
        predicted, tags = ([np.empty(0, dtype=np.int64)] * len(split) for _ in range(2))
        with torch.inference_mode():
            for batch in split.ordered(EVALUATION_BATCH):
                with runtime.autocast():
                    found = model(batch.ids, batch.tokens).argmax(dim=-1)
                rows = zip(batch.rows, found.cpu().numpy(), batch.tags.cpu().numpy(), strict=True)
                for row, its_found, its_tags in rows:
                    scored = its_tags != IGNORED
                    predicted[row], tags[row] = its_found[scored], its_tags[scored]
        return tag_evaluation(predicted, tags, setup.labels, self.scored_groups(setup))

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Logits (texts, tags) of the last token of each text."""
        import torch

        from zoo.data.batching.document_batches import padded

        device = next(model.parameters()).device
        logits: Tensor = model(*padded(ids, device))
        last = torch.tensor([len(text) - 1 for text in ids], device=device)
        return logits[torch.arange(len(ids), device=device), last]

    def text_model(self, setup: TaskSetup, model: nn.Module, tokenizer: Tokenizer) -> TextTagger:
        from zoo.models.text_tagger import TextTagger

        return TextTagger(model, tokenizer, setup.sizes.max_length, setup.labels)
