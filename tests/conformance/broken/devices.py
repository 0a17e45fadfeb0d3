"""Components that leave or make tensors on the CPU, where their input is on another device."""

from __future__ import annotations

import torch
from specimens import Specimens, registering

from zoo.components.attention.split import Split
from zoo.components.pe.sin import Sinusoidal
from zoo.components.pool.mean import Mean

attentions = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
embedded = Specimens("pe", "embed", "order")
pools = Specimens("pool")
zoo_register = registering(attentions, embedded, pools)


@attentions.caught_by("device", "tensors on two devices")
class MaskOnTheCpu(Split):
    def attend(self, q, k, v, mask, bias):
        everything = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        return super().attend(q, k, v, everything if mask is None else mask & everything, bias)


@embedded.caught_by("device", "index.Tensor, .* gets tensors on two devices")
class TableNotRegistered(Sinusoidal):
    """A table that is no buffer does not move with the model."""

    def __init__(self, *, dim, heads, head_dim, max_length):
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.table = super().embed(torch.zeros(1, 2000, dim).double(), torch.arange(2000))[0]

    def embed(self, x, positions):
        return x + self.table[positions].to(x.dtype)


@pools.caught_by("device", "_to_copy.default gets tensors on two devices")
class AnswersOnTheCpu(Mean):
    def forward(self, x, attention_mask):
        return super().forward(x, attention_mask).cpu()
