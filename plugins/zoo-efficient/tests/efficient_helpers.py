"""Shared by the tests: attentions in float64, batches with padding, and the comparison."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.registry import Registry
from zoo.registry.loading import load

DIM, HEADS = 12, 2
# What each attention here is to be registered with.
CAPABILITIES = {
    "linear": ("rotate", "padding", "causal", "cross", "cache"),
    "performer": ("rotate", "absolute", "padding", "causal", "cross", "cache", "map"),
    "linformer": ("rotate", "padding", "cross", "order", "fixed-length"),
    "nystrom": ("rotate", "padding", "order"),
    "window": ("rotate", "bias", "padding", "causal", "map", "order"),
    "fourier": ("padding", "order", "one-head"),
}

torch.set_num_threads(1)  # the tensors are tiny, and several threads would be slower

# One text, real tokens only: (x (n, D), positions (n)) -> (n, D).
Naive = Callable[[Tensor, Tensor], Tensor]
# One head of one text: (q, k, v (n, Dh), positions (n), head) -> (n, Dh).
NaiveHead = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]


@functools.cache
def registry() -> Registry:
    """What is installed, this distribution included."""
    return load().registry


def build(kind: type[Attention], *, dim: int = DIM, heads: int = HEADS, **options) -> Attention:
    """The attention in float64, with biases that are not zero."""
    torch.manual_seed(0)
    attention = kind(dim, heads, **options).double().eval()
    with torch.no_grad():
        for name, parameter in attention.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
    return attention


def encoding(name: str, attention: Attention, dim: int = DIM) -> PositionalEncoding:
    position = registry().choose("pe", name)
    return position.build(
        dim=dim, heads=attention.heads, head_dim=attention.head_dim, max_length=4096
    ).double()


def batch(lengths: Sequence[int], *, before: int = 0, after: int = 2, seed: int = 1):
    """x (B, L, D) and its tokens: texts of these lengths, with garbage before and after them."""
    generator = torch.Generator().manual_seed(seed)
    total = before + max(lengths) + after
    x = torch.randn(len(lengths), total, DIM, generator=generator, dtype=torch.float64)
    rows = torch.arange(total) - before
    attention_mask = (rows >= 0) & (rows < torch.tensor(lengths)[:, None])
    x = torch.where(attention_mask[..., None], x, 50.0)
    positions = rows.clamp_min(0).expand(len(lengths), -1)
    return x, Tokens(attention_mask, positions)


def by_heads(attention, position: PositionalEncoding, head: NaiveHead) -> Naive:
    """A naive text from a naive head: projections written out, q and k as projected."""

    def naive(x: Tensor, positions: Tensor) -> Tensor:
        weight, bias = attention.project.qkv.weight, attention.project.qkv.bias
        dim, width = x.shape[1], attention.head_dim
        outs = []
        for h in range(attention.heads):
            rows = slice(h * width, (h + 1) * width)
            q, k, v = (
                x @ weight[part * dim : (part + 1) * dim][rows].T
                + bias[part * dim : (part + 1) * dim][rows]
                for part in range(3)
            )
            outs.append(head(q, k, v, positions, h))
        return torch.cat(outs, dim=1) @ attention.out.weight.T + attention.out.bias

    return naive


def rotate(position: PositionalEncoding, x: Tensor, positions: Tensor) -> Tensor:
    """One head's queries or keys (n, Dh) rotated by the encoding."""
    return position.rotate(x[None, None], positions)[0, 0]


def softmax_mean(scores: Tensor, values: Tensor) -> Tensor:
    """Σ_j e^(s_j) v_j / Σ_j e^(s_j), written out."""
    weights = (scores - scores.max()).exp()
    return sum(w * v for w, v in zip(weights, values, strict=True)) / weights.sum()


def agree(
    attention: Attention,
    naive: Naive,
    x: Tensor,
    tokens: Tokens,
    position: PositionalEncoding,
    *,
    causal: bool = False,
    tolerance: float = 1e-9,
) -> None:
    """Outputs at real tokens and all gradients are those of the naive form, text by text."""
    x = x.clone().requires_grad_()
    real = tokens.attention_mask
    weights = torch.randn(x.shape, generator=torch.Generator().manual_seed(2), dtype=x.dtype)
    inputs = [x, *attention.parameters()]

    out = attention(x, LayerContext(tokens, position, causal=causal))
    assert out.isfinite().all()
    grads = torch.autograd.grad((out * weights)[real].sum(), inputs)

    expected = torch.zeros_like(x)
    for text in range(len(x)):
        rows = real[text]
        if rows.any():
            one = naive(x[text, rows], tokens.positions[text, rows])
            expected = expected.index_put((torch.tensor(text), rows.nonzero()[:, 0]), one)
    expected_grads = torch.autograd.grad((expected * weights)[real].sum(), inputs)

    torch.testing.assert_close(out[real], expected[real], rtol=tolerance, atol=tolerance)
    for got, wanted in zip(grads, expected_grads, strict=True):
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(got, wanted, rtol=0, atol=100 * tolerance * scale)
