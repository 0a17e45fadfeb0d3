"""Models of the zoo as models of Transformers: the same modules, called in its way."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import (
    BaseModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils.generic import ModelOutput, can_return_tuple
from transformers.utils.import_utils import is_tracing

from zoo.components.block.base import Block
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.errors import ZooError
from zoo.inference.saved_model import CONFIG, FORMAT, TOKENIZER, Card, read
from zoo.models.architectures import Classifier, Tagger
from zoo.models.build import StackOptions, build_classifier, build_tagger
from zoo.models.stack import Encoder, Stack
from zoo.models.text_model import TextClassifier, TextModel, TextTagger
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
    output: ClassVar[type[ModelOutput]]
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
        limits = (s.max_length for s in self.model.modules() if isinstance(s, Stack))
        self._longest = min((limit for limit in limits if limit is not None), default=None)
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

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        *,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
    ) -> ModelOutput:
        """Token ids (B, L), or their embeddings (B, L, D), to ``logits``, or vectors (B, L, D).

        labels: a class for each text (B), or for each token (B, L), -100 where there is none; for
        ``loss``. output_hidden_states: also ``hidden_states``: embeddings, each block's output, of
        the last block the encoder's. Raises ZooError for more tokens than the model can read, for
        token_type_ids that are not all zero, for position_ids that do not count the real tokens of
        each text from 0, and for output_attentions.
        """
        if self.config.output_attentions if output_attentions is None else output_attentions:
            raise ZooError(
                "no output_attentions: fused kernels compute no weights; 'zoo attend' shows those "
                "of the other attentions"
            )
        if token_type_ids is not None and (is_tracing(token_type_ids) or token_type_ids.any()):
            raise ZooError(
                "this model reads single texts and no pairs: leave token_type_ids out, or all zero"
            )
        x = input_ids if inputs_embeds is None else inputs_embeds
        if x is None or (input_ids is not None and inputs_embeds is not None):
            raise ZooError("give input_ids or inputs_embeds, one of the two")
        has_head = self.output is not BaseModelOutput
        if labels is not None and not has_head:
            raise ZooError("AutoModel has no loss: leave labels out")
        call: Any = self.model if has_head else self.model.get_submodule("encoder")
        tokens, auxiliary = self.tokens(x, attention_mask), AuxiliaryLosses(self.model)
        if position_ids is not None:
            refuse_other_positions(position_ids, tokens)
        nothing: AbstractContextManager[list[AuxiliaryLoss]] = nullcontext([])
        with self.hidden_states(output_hidden_states) as states:
            # The last layer computes all positions then, and not only those of the pool.
            tokens = replace(tokens, in_order=tokens.in_order and states is None)
            with auxiliary.collected() if self.training else nothing as added:
                result = call(x, tokens)
        if not has_head:
            return BaseModelOutput(result, hidden_states=states and tuple(states))
        loss = None
        if labels is not None:
            # Each of the losses of Transformers takes those of these that it knows.
            values = {"logits": result, "pooled_logits": result, "config": self.config}
            values |= {"labels": labels, "vocab_size": self.config.vocab_size}
            loss = auxiliary.total(self.loss_function(**values), added, result.shape[0])
        return self.output(loss=loss, logits=result, hidden_states=states and tuple(states))

    def tokens(self, x: Tensor, attention_mask: Tensor | None) -> Tokens:
        """Which of x (B, L, …) are real: attention_mask (B, L) is 1 there; None: all."""
        length = x.shape[1]
        if self._longest is not None and length > self._longest:
            raise ZooError(
                f"a text of {length} tokens, and this model reads at most {self._longest}: "
                "tokenize with truncation=True"
            )
        tokens = Tokens.whole(length, x.device)
        if attention_mask is None:
            return tokens
        if not is_tracing(attention_mask):
            if attention_mask.shape != x.shape[:2]:
                shapes = f"{tuple(attention_mask.shape)}, and texts of {tuple(x.shape[:2])}"
                raise ZooError(f"an attention_mask of shape {shapes}: they must be equal")
            # As the zoo makes batches: without padding no mask, before it the same positions.
            mask = attention_mask.bool()
            if mask.all():
                return tokens
            if not (mask[:, 1:] & ~mask[:, :-1]).any():
                return replace(tokens, attention_mask=mask)
        return Tokens.of(attention_mask)

    @contextmanager
    def hidden_states(self, wanted: bool | None) -> Iterator[list[Tensor] | None]:
        """The hidden states of passes inside of the block. wanted: None: as the configuration."""
        wanted = self.config.output_hidden_states if wanted is None else wanted
        encoder: Any = self.model.get_submodule("encoder")
        states: list[Tensor] = []  # list[Tensor]() cannot be compiled
        blocks = encoder.blocks if wanted else ()
        hooks = [b.register_forward_pre_hook(lambda _, x: states.append(x[0])) for b in blocks]
        if wanted:
            hooks.append(encoder.register_forward_hook(lambda _, x, out: states.append(out)))
        try:
            yield states if wanted else None
        finally:
            for hook in hooks:
                hook.remove()

    def _activation_checkpointing_enable(self, *args: Any, **options: Any) -> None:
        """Refuse it, also under its older name of gradient checkpointing."""
        raise ZooError("no gradient checkpointing: a second pass finds changed what layers left")

    def get_input_embeddings(self) -> nn.Module:
        """The token embeddings."""
        return next(s.embedding for s in self.model.modules() if isinstance(s, Stack))

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the token embeddings."""
        next(s for s in self.model.modules() if isinstance(s, Stack)).embedding = value


class ZooModel(ZooPreTrainedModel):
    """The encoder alone: token ids to ``last_hidden_state`` (B, L, D)."""

    output = BaseModelOutput
    _keys_to_ignore_on_load_unexpected: ClassVar = [r"^(?!(model\.)?encoder\.)"]

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        encoder = getattr(saved, "encoder", None)
        if not isinstance(encoder, Stack):
            raise ZooError(
                f"AutoModel reads an encoder, and a {type(saved).__name__} of task '{card.task}' "
                "has not exactly one"
            )
        return nn.ModuleDict({"encoder": encoder})


class ZooForSequenceClassification(ZooPreTrainedModel):
    """A classifier, with logits (B, classes); or a new head on an encoder saved without one."""

    output = SequenceClassifierOutput
    task, reader = "classify", TextClassifier

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if isinstance(saved, Classifier):
            return saved
        refuse_other_head(card, saved, "a classifier")
        return build_classifier(
            cell, card.sizes, classes=self.config.num_labels, **stack_options(card)
        )


class ZooForTokenClassification(ZooPreTrainedModel):
    """A tagger, with logits (B, L, tags); or a new head on an encoder saved without one."""

    output = TokenClassifierOutput
    task, reader = "tag", TextTagger

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if isinstance(saved, Tagger):
            return saved
        refuse_other_head(card, saved, "a tagger")
        return build_tagger(cell, card.sizes, tags=self.config.num_labels, **stack_options(card))


def text_model(directory: str | Path) -> TextModel:
    """A classifier or a tagger that Transformers saved, for texts, as ``zoo.load`` returns one.

    Its card is of the training before Transformers', but for task, labels and vocabulary. Raises
    ZooError where the directory holds no such model, or no tokenizer.
    """
    config, file = ZooConfig.from_pretrained(directory), Path(directory) / TOKENIZER
    kinds = {k.__name__: k for k in (ZooForSequenceClassification, ZooForTokenClassification)}
    kind = kinds.get((config.architectures or [""])[0])
    if kind is None or not file.is_file():
        raise ZooError(f"{directory} has no tagger or classifier of Transformers, or no tokenizer")
    card, labels = config.read_card(), config.classes
    model = kind.from_pretrained(directory).model
    made = kind.reader(model, Tokenizer.from_file(str(file)), card.sizes.max_length, labels)
    options = card.task_options if card.task == kind.task else {}
    changes = {"task": kind.task, "task_options": options, "labels": labels, "key": ""}
    made.card = card.model_copy(update=changes)
    return made.eval()


def refuse_other_positions(position_ids: Tensor, tokens: Tokens) -> None:
    """ZooError where real tokens are to stand anywhere but at the positions that they have."""
    shape, mask = position_ids.shape, tokens.attention_mask
    same = not is_tracing(position_ids) and shape[-1] == tokens.positions.shape[-1]
    if same:
        other = position_ids != tokens.positions
        same = not (other if mask is None else other & mask).any()
    if not same:
        raise ZooError("positions count each text's real tokens from 0: leave position_ids out")


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
