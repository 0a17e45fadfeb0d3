"""A mixture of experts: each token is computed by few of several networks."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.ffn.two_layer import ReLU
from zoo.components.layer_context import LayerContext

BLOCK = 64  # rows of one expert that are computed together on a GPU


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
        owners, order = chosen.flatten().sort(stable=True)  # by expert
        inputs = rows[order // self.active]
        # On a CPU nothing waits for the device, and each expert is called once.
        compute = self.in_turn if x.device.type == "cpu" else self.in_blocks
        # Back in the order of the tokens. Adding up by index would be in random order on a GPU.
        out = compute(inputs, owners, layer)[order.argsort()].view(len(rows), self.active, -1)
        return (out * weights[..., None].to(x.dtype)).sum(dim=1).to(x.dtype).view(x.shape)

    def in_turn(self, inputs: Tensor, owners: Tensor, layer: LayerContext) -> Tensor:
        """E_e(x) of x (M, D) whose experts, in order, are owners (M): one call of each expert."""
        parts = inputs.split(owners.bincount(minlength=len(self.experts)).tolist())
        outs = [expert(part, layer) for expert, part in zip(self.experts, parts, strict=True)]
        return torch.cat(outs)

    def in_blocks(self, inputs: Tensor, owners: Tensor, layer: LayerContext) -> Tensor:
        """The same without asking the device how many rows an expert has.

        The rows of each expert begin a block: a block has one expert, and there are never more
        blocks than are made here (Gale et al. 2022, section 5.1, for sparse kernels; here the
        weights of every block are gathered).
        """
        count, device = len(self.experts), inputs.device
        sizes = (owners[:, None] == torch.arange(count, device=device)).sum(dim=0)  # (E)
        blocks = (sizes + BLOCK - 1) // BLOCK
        ends = blocks.cumsum(dim=0)
        shift = (ends - blocks) * BLOCK - (sizes.cumsum(dim=0) - sizes)
        places = torch.arange(len(inputs), device=device) + shift[owners]  # (M)
        number = len(inputs) // BLOCK + count
        x = inputs.new_zeros(number * BLOCK, inputs.shape[1]).index_copy(0, places, inputs)
        x = x.unflatten(0, (number, BLOCK))
        expert = torch.searchsorted(ends, torch.arange(number, device=device), right=True)
        expert = expert.clamp_max(count - 1)  # the last blocks may be empty

        def linear(x: Tensor, layers: list[nn.Linear]) -> Tensor:
            weight = torch.stack([each.weight for each in layers])[expert].transpose(1, 2)
            return torch.baddbmm(
                torch.stack([each.bias for each in layers])[expert, None], x, weight
            )

        experts = [cast(ReLU, each) for each in self.experts]
        x = experts[0].activation(linear(x, [each.inner for each in experts]))
        x = dropout(x, experts[0].dropout, self.training)
        return linear(x, [each.outer for each in experts]).flatten(0, 1)[places]

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
        real, experts = (
            layer.tokens.attention_mask,
            torch.arange(shares.shape[1], device=shares.device),
        )
        hits, number = chosen[..., None] == experts, shares.new_full((), len(shares))
        if real is not None:  # masked, not selected: how many are real only the device knows
            shares = shares.masked_fill(~real.flatten()[:, None], 0)
            hits, number = hits & real.flatten()[:, None, None], real.sum()
        counts = hits.sum(dim=(0, 1)).to(shares.dtype)
        products = counts / counts.sum().clamp_min(1) * shares.sum(dim=0) / number.clamp_min(1)
        layer.add_loss("balance", len(self.experts) * products.sum(), weight=self.balance)
