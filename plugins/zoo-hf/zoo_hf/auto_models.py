"""Models of the zoo as models of Transformers: the same modules, called in its way."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import (
    BaseModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils.generic import can_return_tuple
from transformers.utils.import_utils import is_tracing
from transformers.utils.output_capturing import capture_outputs

from zoo.components.block.base import Block
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.errors import ZooError
from zoo.inference.saved_model import CONFIG, FORMAT, Card, read
from zoo.models.architectures import Classifier, Tagger
from zoo.models.build import StackOptions, build_classifier, build_tagger
from zoo.models.stack import Encoder, Stack
from zoo.registry.cell import Cell
from zoo.training.checkpoint import Scores, same_outputs
from zoo.training.trainer import AuxiliaryLosses
from zoo_hf.plugin_files import components
from zoo_hf.zoo_config import ZooConfig


class ZooPreTrainedModel(PreTrainedModel):  # type: ignore[misc]
    """A model of the zoo, as ``self.model``; a subclass says which, and what it returns.

    The state dict has the names of the zoo's own file after ``model.``, with which Transformers
    reads both. allow_changed: build it also where components have changed since it was trained.
    """

    config_class = ZooConfig
    base_model_prefix = "model"
    _complete = False  # while the constructor runs
    _scores: Scores | None = None

    def __init__(self, config: ZooConfig, *, allow_changed: bool = False) -> None:
        super().__init__(config)
        self.allow_changed = allow_changed
        self.model = self._build()
        # A layer stays on one device, with accelerate's device_map too.
        self._no_split_modules = sorted(
            {type(part).__name__ for part in self.model.modules() if isinstance(part, Block)}
        )
        self.post_init()
        self._complete = True

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """As of Transformers; a directory that the zoo saved is checked as ``zoo.load`` does.

        Raises ZooError where a file of it is damaged, or where the model gives other outputs than
        when it was saved, which ``allow_changed`` allows.
        """
        loaded = super().from_pretrained(name, *args, **kwargs)
        config = Path(name) / CONFIG
        if config.is_file() and json.loads(config.read_text("utf-8")).get("format") == FORMAT:
            card = read(Path(name))
            model = loaded[0] if isinstance(loaded, tuple) else loaded
            model.refuse_other_outputs(card.sample_outputs.model_dump())
        return loaded

    def refuse_other_outputs(self, saved: dict[str, Any]) -> None:
        """ZooError where the saved model, in float32, gives other outputs than these."""
        if self._scores is None or self.allow_changed or self.dtype != torch.float32:
            return
        if not same_outputs(self.model, self._scores, saved):
            raise ZooError(
                "the model gives other outputs here than when it was saved; allow_changed=True "
                "loads it anyway"
            )

    @abstractmethod
    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        """The zoo's module, with initial weights.

        saved: as the zoo saved it, built from the card by its task. Raises ZooError where that is
        none that this class can be, or be begun with.
        """

    def _build(self) -> nn.Module:
        card, registry = self.config.read_card(), components()
        cell = card.find_cell(registry)
        labels = self.config.classes if card.labels else card.labels
        setup = replace(card.setup(registry), labels=labels)
        task = setup.task
        # Not on the device "meta", where Transformers builds before it loads: an encoding computes
        # tables that no file of weights holds.
        with torch.device("cpu"):
            saved = task.build(setup, cell, card.seed)
            built = self.build(card, cell, saved)
        # Where it is the saved model itself: what the task says of made-up texts.
        self._scores = task.sample_scores if built is saved and labels == card.labels else None
        return built

    @torch.no_grad()
    def initialize_weights(self) -> None:
        """Give every weight and table that was not loaded its initial value.

        Transformers calls it when it has loaded; in the constructor there is nothing to do.
        """
        if not self._complete:
            return
        fresh = self._build()
        values = {**dict(fresh.named_parameters()), **dict(fresh.named_buffers())}
        for name, tensor in (*self.model.named_parameters(), *self.model.named_buffers()):
            initialization.copy_(tensor, values[name])

    def logits(self, input_ids: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The model's logits, and what its parts add to the loss in training (scalar)."""
        auxiliary = AuxiliaryLosses(self.model)
        nothing: AbstractContextManager[list[AuxiliaryLoss]] = nullcontext([])
        with auxiliary.collected() if self.training else nothing as found:
            logits = self.model(input_ids, self.tokens(input_ids, attention_mask))
        return logits, auxiliary.total(logits.new_zeros(()), found, len(logits))

    def tokens(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tokens:
        """Which of input_ids (B, L) are real: attention_mask (B, L) is 1 there; None: all.

        Raises ZooError for more tokens than the model can read.
        """
        length = input_ids.shape[1]
        limits = [s.max_length for s in self.model.modules() if isinstance(s, Stack)]
        most = min((limit for limit in limits if limit is not None), default=length)
        if length > most:
            raise ZooError(
                f"a text of {length} tokens, and this model reads at most {most}: tokenize with "
                "truncation=True"
            )
        tokens = Tokens.whole(length, input_ids.device)
        # Without padding no mask, as where the zoo itself makes batches: the same numbers then.
        if attention_mask is None or (not is_tracing(attention_mask) and attention_mask.all()):
            return tokens
        return replace(tokens, attention_mask=attention_mask.bool())

    def get_input_embeddings(self) -> nn.Module:
        """The token embeddings."""
        return next(s.embedding for s in self.model.modules() if isinstance(s, Stack))

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the token embeddings."""
        next(s for s in self.model.modules() if isinstance(s, Stack)).embedding = value


class ZooModel(ZooPreTrainedModel):
    """The encoder alone: token ids to vectors."""

    _can_record_outputs: ClassVar = {"hidden_states": Block}
    _keys_to_ignore_on_load_unexpected: ClassVar = [r"^(?!(model\.)?encoder\.)"]

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        encoder = getattr(saved, "encoder", None)
        if not isinstance(encoder, Stack):
            raise ZooError(
                f"AutoModel reads an encoder, and a {type(saved).__name__} of task '{card.task}' "
                "has not exactly one"
            )
        return nn.ModuleDict({"encoder": encoder})

    @capture_outputs  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool | None = None,
    ) -> BaseModelOutput:
        """Token ids (B, L) to ``last_hidden_state`` (B, L, D).

        output_hidden_states: also ``hidden_states``, the embeddings and the output of each block,
        of which the last is ``last_hidden_state``; the decorator collects them.
        """
        tokens = self.tokens(input_ids, attention_mask)
        encoder = self.model.get_submodule("encoder")
        return BaseModelOutput(last_hidden_state=encoder(input_ids, tokens))


class ZooForSequenceClassification(ZooPreTrainedModel):
    """A classifier; or a new head on an encoder saved without one."""

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if isinstance(saved, Classifier):
            return saved
        refuse_other_head(card, saved, "a classifier")
        return build_classifier(
            cell, card.sizes, classes=self.config.num_labels, **stack_options(card)
        )

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Token ids (B, L) to ``logits`` (B, classes).

        labels (B): for ``loss``.
        """
        logits, added = self.logits(input_ids, attention_mask)
        loss = None
        if labels is not None:
            loss = added + self.loss_function(labels, logits, self.config)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class ZooForTokenClassification(ZooPreTrainedModel):
    """A tagger; or a new head on an encoder saved without one."""

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if isinstance(saved, Tagger):
            return saved
        refuse_other_head(card, saved, "a tagger")
        return build_tagger(cell, card.sizes, tags=self.config.num_labels, **stack_options(card))

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> TokenClassifierOutput:
        """Token ids (B, L) to ``logits`` (B, L, tags).

        labels (B, L): for ``loss``; -100 where there is none.
        """
        logits, added = self.logits(input_ids, attention_mask)
        loss = None
        if labels is not None:
            loss = added + self.loss_function(logits, labels, self.config)
        return TokenClassifierOutput(loss=loss, logits=logits)


def refuse_other_head(card: Card, saved: nn.Module, wanted: str) -> None:
    """ZooError where the saved model is no encoder that a new head can be put on."""
    if not isinstance(getattr(saved, "encoder", None), Encoder) or hasattr(saved, "head"):
        raise ZooError(
            f"task '{card.task}' saved a {type(saved).__name__}, which has another head than "
            f"{wanted}"
        )


def stack_options(card: Card) -> StackOptions:
    """How the card's stack was built, besides its cell and sizes."""
    training: Any = card.training
    return {
        "vocab_size": card.vocab_size,
        "seed": card.seed,
        "dropout": training.dropout,
        "attention_dropout": training.attention_dropout,
        "embedding_std": training.embedding_std,
    }
