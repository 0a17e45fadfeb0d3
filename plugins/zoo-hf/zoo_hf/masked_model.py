"""Masked language models of the zoo as models of Transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import MaskedLMOutput

from zoo.errors import ZooError
from zoo.inference.saved_model import Card
from zoo.models.architectures import MaskedLanguageModel
from zoo.registry.cell import Cell
from zoo_hf.auto_models import ZooPreTrainedModel


class ZooForMaskedLM(ZooPreTrainedModel):
    """An encoder that predicts the tokens that are masked, with logits (B, L, vocabulary)."""

    output = MaskedLMOutput

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if not isinstance(saved, MaskedLanguageModel):
            raise ZooError(
                f"task '{card.task}' saved a {type(saved).__name__}, which predicts no masked "
                "tokens"
            )
        return saved

    def resize_token_embeddings(self, *args: Any, **options: Any) -> nn.Embedding:
        """As of Transformers. A new token is as rare as the rarest."""
        embedding: nn.Embedding = super().resize_token_embeddings(*args, **options)
        bias: Any = self.model.bias
        count = embedding.num_embeddings
        new = bias.min().expand(max(0, count - len(bias)))
        self.model.bias = nn.Parameter(torch.cat([bias[:count], new]).detach())
        return embedding
