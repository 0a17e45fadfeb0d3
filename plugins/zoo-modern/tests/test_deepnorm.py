"""DeepNorm has the constants of the paper's figure 2, and scales the weights that it names."""

from __future__ import annotations

import pytest
import torch
from block_helpers import DIM, HEADS, LENGTH, assert_same, build, context, ffn, randoms
from torch import Tensor, nn
from zoo_modern.block.deepnorm import DeepNorm

from zoo.components.attention.base import Attention
from zoo.components.attention.projections import Projection
from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

# Figure 2b: α and β of an encoder or a decoder alone, and of the decoder of an encoder-decoder.
ALONE = {6: (1.8612097, 0.3799178), 100: (3.7606031, 0.1880302)}
WITH_ENCODER = {6: (2.0597671, 0.3432945), 100: (4.1617915, 0.1699044)}


def matrices(attention: Attention) -> dict[str, Tensor]:
    """W_q, W_k, W_v and W_o (D, D) of the zoo's layouts."""
    if hasattr(attention, "attention"):
        rows, out = attention.attention.in_proj_weight, attention.attention.out_proj.weight
    else:
        layers = [m for m in attention.project.modules() if isinstance(m, nn.Linear)]
        rows, out = torch.cat([layer.weight for layer in layers]), attention.out.weight
    return {**dict(zip("qkv", rows.chunk(3), strict=True)), "o": out}


@pytest.mark.parametrize("layers", [6, 100])
@pytest.mark.parametrize("cross", [False, True])
def test_alpha_and_beta_are_those_of_the_paper(layers: int, cross: bool) -> None:
    alpha, beta = (WITH_ENCODER if cross else ALONE)[layers]
    block = build("deepnorm", cross=cross, layer_count=layers, shaken=False)
    plain = build("pre", cross=cross, shaken=False)
    assert block.alpha == pytest.approx(alpha, rel=1e-6)
    parts = [(block.ffn[0].weight, plain.ffn[0].weight), (block.ffn[2].weight, plain.ffn[2].weight)]
    for name in ("attention", "cross") if cross else ("attention",):
        ours, theirs = (matrices(getattr(b, name)) for b in (block, plain))
        parts += [(ours[n], theirs[n]) for n in "vo"]
        assert all(torch.equal(ours[n], theirs[n]) for n in "qk")
    for scaled, weight in parts:
        torch.testing.assert_close(scaled, beta * weight, rtol=1e-6, atol=0)


@pytest.mark.parametrize("attention", ["single", "naive", "fused", "packed", "torch"])
def test_values_and_outputs_are_found_in_every_layout(attention: str) -> None:
    block = build("deepnorm", attention=attention, layer_count=2, shaken=False)
    before, after = (
        matrices(b.attention) for b in (build("pre", attention=attention, shaken=False), block)
    )
    for name, weight in before.items():
        factor = 16**-0.25 if name in "vo" else 1.0
        torch.testing.assert_close(after[name], factor * weight, rtol=1e-6, atol=0)


class FewKeys(Projection):
    """Values of one head that share a matrix with the keys, after one that both share."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.down, self.q = nn.Linear(dim, 3), nn.Linear(dim, dim)
        self.kv = nn.Linear(3, 2 * dim // heads)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, v = self.kv(self.down(context)).chunk(2, dim=-1)
        return self.split(self.q(x)), k[:, None], v[:, None]


def test_values_are_found_in_projections_of_a_plug_in() -> None:
    projection = FewKeys(DIM, HEADS)
    before = {name: p.clone() for name, p in projection.named_parameters()}
    DeepNorm(
        Split(DIM, HEADS, projection=projection),
        ffn(),
        lambda: nn.LayerNorm(DIM),
        layer_count=2,
    )
    width = DIM // HEADS
    before["kv.weight"] = torch.cat(
        [before["kv.weight"][:width], before["kv.weight"][width:] * 16**-0.25]
    )
    for name, parameter in projection.named_parameters():
        torch.testing.assert_close(parameter, before[name], rtol=1e-6, atol=0)


class Average(Attention):
    """A mixer that learns nothing."""

    heads, head_dim = 1, DIM

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        return x.mean(dim=1, keepdim=True).expand_as(x)


class ProjectedAverage(Average):
    """One whose values are in no projection of the zoo's."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.out = (nn.Linear(DIM, DIM, bias=False) for _ in range(2))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        return self.out(super().forward(self.value(x), layer))


def test_a_mixer_starts_as_if_its_values_and_outputs_were_scaled() -> None:
    mixer, x = ProjectedAverage(), torch.randn(2, LENGTH, DIM)
    layer = LayerContext(Tokens.whole(LENGTH))
    before = mixer(x, layer)
    DeepNorm(mixer, ffn(), lambda: nn.LayerNorm(DIM), layer_count=2)
    torch.testing.assert_close(mixer(x, layer), 16**-0.5 * before)


def test_an_attention_without_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="finds neither in the attention Average"):
        DeepNorm(Average(), ffn(), lambda: nn.LayerNorm(DIM))


def test_a_layer_is_torchs_post_norm_layer_of_a_scaled_residual() -> None:
    """x + f(x)/α has the norm of α x + f(x), where the norm has no epsilon."""
    block, x = build("deepnorm", layer_count=3), randoms(2, LENGTH, DIM)
    with torch.no_grad():
        for norm in (block.attention_norm, block.ffn_norm):
            norm.eps = 0.0
    layer = nn.TransformerEncoderLayer(DIM, HEADS, 12, 0.0, batch_first=True).double().eval()
    layer.activation = torch.tanh
    alpha = 6**0.25
    weights = matrices(block.attention)
    projections = [block.attention.project.q, block.attention.project.k, block.attention.project.v]
    state = {
        "self_attn.in_proj_weight": torch.cat([weights[n] for n in "qkv"]),
        "self_attn.in_proj_bias": torch.cat([p.bias for p in projections]),
        "self_attn.out_proj.weight": weights["o"] / alpha,
        "self_attn.out_proj.bias": block.attention.out.bias / alpha,
        "linear1.weight": block.ffn[0].weight,
        "linear1.bias": block.ffn[0].bias,
        "linear2.weight": block.ffn[2].weight / alpha,
        "linear2.bias": block.ffn[2].bias / alpha,
        **{f"norm1.{n}": p for n, p in block.attention_norm.named_parameters()},
        **{f"norm2.{n}": p for n, p in block.ffn_norm.named_parameters()},
    }
    layer.load_state_dict(state)
    layer.norm1.eps = layer.norm2.eps = 0.0
    layer_context = context()
    padding = ~layer_context.tokens.attention_mask
    assert_same(block(x, layer_context), layer(x, src_key_padding_mask=padding), [x])
