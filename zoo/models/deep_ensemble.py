"""Several classifiers of one cell that answer together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.classifier import Classifier


class DeepEnsemble(nn.Module):
    """A deep ensemble (Lakshminarayanan et al. 2017, section 2.4): p(y|x) = 1/M Σ p_m(y|x).

    Its members differ in where they begin, and in what dropout and token noise take from them; the
    order of batches they share.
    """

    def __init__(self, members: Sequence[Classifier]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, ids: Tensor, tokens: Tokens, *, apart: bool = False) -> Tensor:
        """Ids (B, L) to log p (B, classes); positions are (L).

        apart: ids (M·B, L) to logits (M·B, classes) instead, of B texts for each member, one
        member's after another's. Raises ValueError for a number of texts that M does not divide.
        """
        if not apart:
            return together(torch.stack([member(ids, tokens) for member in self.members]))
        members, attention_mask = len(self.members), tokens.attention_mask
        if len(ids) % members:
            raise ValueError(f"{len(ids)} texts do not divide among {members} members")
        attention_masks = (
            [None] * members if attention_mask is None else attention_mask.chunk(members)
        )
        logits = [
            member(own, Tokens(real, tokens.positions))
            for member, own, real in zip(
                self.members, ids.chunk(members), attention_masks, strict=True
            )
        ]
        return torch.cat(logits)


def together(logits: Tensor) -> Tensor:
    """Logits (M, B, classes) to the log of the members' mean probability, in fp32."""
    shares = logits.float().log_softmax(dim=-1)
    return shares.logsumexp(dim=0) - math.log(len(logits))
