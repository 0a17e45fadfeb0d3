"""Masked language models of the zoo as models of Transformers."""

from __future__ import annotations

from torch import Tensor, nn
from transformers.modeling_outputs import MaskedLMOutput
from transformers.utils.generic import can_return_tuple

from zoo.errors import ZooError
from zoo.inference.saved_model import Card
from zoo.models.architectures import MaskedLanguageModel
from zoo.registry.cell import Cell
from zoo_hf.auto_models import ZooPreTrainedModel


class ZooForMaskedLM(ZooPreTrainedModel):
    """An encoder that predicts the tokens that are masked."""

    def build(self, card: Card, cell: Cell, saved: nn.Module) -> nn.Module:
        if not isinstance(saved, MaskedLanguageModel):
            raise ZooError(
                f"task '{card.task}' saved a {type(saved).__name__}, which predicts no masked "
                "tokens"
            )
        return saved

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> MaskedLMOutput:
        """Token ids (B, L) to ``logits`` (B, L, vocabulary).

        labels (B, L): for ``loss``; -100 where a token is not masked.
        """
        logits, added = self.logits(input_ids, attention_mask)
        loss = None
        if labels is not None:
            loss = added + self.loss_function(logits, labels, self.config.vocab_size)
        return MaskedLMOutput(loss=loss, logits=logits)
