"""The last real token's vector."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pool.base import Pool


@part(
    "pool",
    "last",
    source="Radford et al. 2018, GPT, section 3.2, https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf",
)
class Last(Pool):
    """The last real token's vector.

    x_T, T being a text's last real token (Radford et al. 2018, GPT, section 3.2).

    A text without real tokens gives zeros.
    """

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None:
            return x[:, -1]
        places = torch.arange(x.shape[1], device=x.device)
        last = (attention_mask * places).argmax(dim=1)[:, None, None]
        vectors = x.gather(1, last.expand(-1, 1, x.shape[2]))[:, 0]
        return vectors.masked_fill(~attention_mask.any(dim=1)[:, None], 0)
