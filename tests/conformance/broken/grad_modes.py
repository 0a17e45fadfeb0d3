"""Components that are right with gradients, and wrong without them or after a call without."""

from __future__ import annotations

import torch
from specimens import Specimens, registering
from torch import nn

from zoo.components.attention.split import Split
from zoo.components.ffn.gelu import GELU
from zoo.components.pe.base import PositionalEncoding

attentions = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
encodings = Specimens("pe", "embed", "order")
ffns = Specimens("ffn")
zoo_register = registering(attentions, encodings, ffns)


@attentions.caught_by("after-inference", r"padded: output under torch\.no_grad:")
class MaskWithGradientsAlone(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask if torch.is_grad_enabled() else None, bias)


@ffns.caught_by("after-inference", r"plain: output under torch\.")
class FastInInferenceMode(GELU):
    def forward(self, x, layer):
        if torch.is_inference_mode_enabled():
            return self.outer(self.inner(x).relu())
        return super().forward(x, layer)


@encodings.caught_by("after-inference", "[Ii]nference tensors")
class WaveKeptFromInference(PositionalEncoding):
    """Keeps what it made for the last positions, in whatever mode that was."""

    def __init__(self, *, dim, heads, head_dim, max_length):
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.gain = nn.Parameter(torch.ones(dim))
        self.places, self.wave = torch.zeros(0), torch.zeros(0)

    def embed(self, x, positions):
        if not torch.equal(self.places, positions):
            widths = torch.arange(1, x.shape[-1] + 1, device=x.device)
            self.places = positions
            self.wave = (positions[..., None] / widths).sin().to(x.dtype)
        return x + self.gain * self.wave


@attentions.caught_by(
    "after-inference",
    "trained after a call under torch.no_grad: no gradient reaches project.q.bias",
)
class FrozenByEvaluation(Split):
    frozen = False

    def adjust(self, q, k, v, layer):
        self.frozen = self.frozen or not torch.is_grad_enabled()
        return (q.detach(), k, v) if self.frozen else (q, k, v)
