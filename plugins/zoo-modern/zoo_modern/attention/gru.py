"""A gated recurrent unit as a mixer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalMixer
from zoo_modern.attention.chunks import without_autocast


@part("attention", "gru", source="Cho et al. 2014, https://arxiv.org/abs/1406.1078")
class GatedRecurrent(CausalMixer):
    """A gated recurrent unit: a state that is not linear in the one before.

    h_t = (1 - z_t) ⊙ n_t + z_t ⊙ h_{t-1}, n_t = tanh(x_t W_n + r_t ⊙ (h_{t-1} U_n)); Y = h W_o.

    Cho et al. 2014, Learning Phrase Representations using RNN Encoder-Decoder, equations 5 to 8;
    z and r are sigmoids of x_t and h_{t-1}, and all products have biases, as in ``torch.nn.GRU``.
    The state is as wide as the model, whatever the heads. It is computed in the precision of the
    weights, token after token. Dropout acts before W_o.
    """

    name = "gru"

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.recurrence = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, dim, bias=False)

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        mask, dtype = layer.tokens.attention_mask, x.dtype
        x = x.to(self.recurrence.weight_hh_l0.dtype)
        before = state.get("hidden", x.new_zeros(len(x), x.shape[-1]))
        places = None
        if mask is not None:  # real tokens in front, so that no state goes through padding
            places = (~mask).long().argsort(dim=1, stable=True)[..., None].expand_as(x)
            x = x.gather(1, places)
        with without_autocast(x.device):
            h, last = self.recurrence(x, before[None].contiguous())
        state["hidden"] = last[0]
        if mask is not None and places is not None:
            # The state after the last real token, or the one before where there is none.
            states, count = torch.cat([before[:, None], h], dim=1), mask.sum(dim=1)
            state["hidden"] = states[torch.arange(len(x), device=x.device), count]
            h = torch.empty_like(h).scatter(1, places, h)
        out: Tensor = self.out(dropout(h.to(dtype), self.dropout, self.training))
        return out
