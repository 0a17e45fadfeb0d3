"""A mixture of experts: each token is computed by few of several networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.ffn.two_layer import ReLU
from zoo.components.layer_context import LayerContext


@part("ffn", "moe", source="Fedus et al. 2022, equations 1 to 6, https://arxiv.org/abs/2101.03961")
class Experts(nn.Module):
    """Each token computed by the likeliest of several networks, with a balancing loss.

    Σ_{e in T(x)} p_e(x) E_e(x), p = softmax(W x), T(x) the ``active`` experts of largest p.

    Fedus et al. 2022, Switch Transformer, equations 1 and 2 for one active expert; Shazeer et al.
    2017, section 2.1, for more, with p not normalised anew, as in OLMoE (Muennighoff et al. 2024).
    Each expert has the whole ``hidden`` width. In training the loss E Σ_e f_e P_e is added with
    weight ``balance`` (equations 4 to 6): f_e is the share of the real tokens' choices that fell on
    e, P_e the mean of p_e over them; it is 1 where both are even. No expert has a capacity, so that
    no token is dropped (Gale et al. 2022, MegaBlocks) and none depends on another.
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        dropout: float = 0.0,
        *,
        experts: int = 4,
        active: int = 1,
        balance: float = 0.01,
    ) -> None:
        super().__init__()
        if not 1 <= active <= experts:
            raise ValueError(f"active must be from 1 to the {experts} experts, not {active}")
        self.active, self.balance = active, balance
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(ReLU(dim, hidden, dropout) for _ in range(experts))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """(…, D) to (…, D)."""
        rows = x.reshape(-1, x.shape[-1])  # (N, D)
        shares = self.route(rows)  # (N, E)
        weights, chosen = shares.topk(self.active, dim=-1)  # (N, active)
        if self.training:
            self.add_balance(shares, chosen, layer)
        order = chosen.flatten().argsort(stable=True)  # by expert, so that each is called once
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        parts = rows[order // self.active].split(counts)
        outs = [expert(part, layer) for expert, part in zip(self.experts, parts, strict=True)]
        # Back in the order of the tokens. Adding up by index would be in random order on a GPU.
        out = torch.cat(outs)[order.argsort()].view(len(rows), self.active, -1)
        return (out * weights[..., None].to(x.dtype)).sum(dim=1).to(x.dtype).view(x.shape)

    def route(self, rows: Tensor) -> Tensor:
        """p (N, E), in float32 or wider: rounded to bfloat16, near-equal experts would be tied.

        Fedus et al. 2022, section 2.4, selective precision.
        """
        with torch.autocast(rows.device.type, enabled=False):
            dtype = torch.promote_types(rows.dtype, torch.float32)
            logits = F.linear(rows.to(dtype), self.router.weight.to(dtype))
            return logits.softmax(dim=-1)

    def add_balance(self, shares: Tensor, chosen: Tensor, layer: LayerContext) -> None:
        """Add the balancing loss of the real tokens: shares (N, E), chosen (N, active)."""
        real = layer.tokens.attention_mask
        if real is not None:
            shares, chosen = shares[real.flatten()], chosen[real.flatten()]
        counts = chosen.flatten().bincount(minlength=len(self.experts)).to(shares.dtype)
        products = counts / counts.sum().clamp_min(1) * shares.sum(dim=0) / max(1, len(shares))
        layer.add_loss("balance", len(self.experts) * products.sum(), weight=self.balance)
