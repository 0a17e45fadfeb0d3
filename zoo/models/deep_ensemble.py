"""Several classifiers of one cell whose probabilities are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.classifier import Classifier


class DeepEnsemble(nn.Module):
    """A deep ensemble (Lakshminarayanan et al. 2017, section 2.4): p(y|x) = 1/M Σ p_m(y|x).

    Its members differ in their initial weights, dropout and token noise; they share the order of
    the batches.
    """

    def __init__(self, members: Sequence[Classifier]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, ids: Tensor, tokens: Tokens, *, per_member: bool = False) -> Tensor:
        """Ids (B, L) to log p (B, classes); positions are (L).

        per_member: instead, ids (M·B, L) to logits (M·B, classes); each of the M members gets its
        own B texts, in their order. Raises ValueError for a number of texts that M does not divide.
        """
        if not per_member:
            return mean_log_probability(
                torch.stack([member(ids, tokens) for member in self.members])
            )
        count, mask = len(self.members), tokens.attention_mask
        if len(ids) % count:
            raise ValueError(f"{len(ids)} texts do not divide among {count} members")
        masks = [None] * count if mask is None else mask.chunk(count)
        parts = zip(self.members, ids.chunk(count), masks, strict=True)
        return torch.cat(
            [member(own, replace(tokens, attention_mask=real)) for member, own, real in parts]
        )


def mean_log_probability(logits: Tensor) -> Tensor:
    """Logits (M, B, classes) to the log of the members' mean probability, in float32."""
    return logits.float().log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(logits))
