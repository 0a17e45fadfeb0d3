"""Shared by the tests of attentions: modules in float64, padded batches, and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.alibi import Alibi
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.rope import Rotary
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues

DIM, HEADS = 16, 2
CAUSAL_ONLY = ("short-conv", "retention", "gla", "deltanet", "gated-deltanet", "mamba2", "gru")
NAMES = (
    *("mqa", "gqa", "mla", "qk-norm", "cosine", "gated", "value-residual", "sink"),
    *("talking-heads", "sigmoid", "differential", "top-k", "aft", "gmlp"),
    *CAUSAL_ONLY,
)

torch.set_num_threads(1)  # the tensors are tiny, and several threads would be slower

# One text, real tokens only: (x (n, D), positions (n)) -> (n, D).
Naive = Callable[[Tensor, Tensor], Tensor]


def build(kind: type[Attention], *, dim: int = DIM, heads: int = HEADS, **options: Any) -> Any:
    """The attention in float64, every parameter away from its initial value."""
    torch.manual_seed(0)
    attention = kind(dim, heads, **options).double().eval()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return attention


def encoding(name: str, attention: Attention, dim: int = DIM) -> PositionalEncoding:
    """'none', 'rope' or 'alibi', at the width that the attention asks for."""
    kind = {"none": PositionalEncoding, "rope": Rotary, "alibi": Alibi}[name]
    width = attention.position_dim or attention.head_dim
    return kind(dim=dim, heads=attention.heads, head_dim=width, max_length=256).double()


def batch(
    lengths: Sequence[int], *, before: int = 0, gap: int = 0, seed: int = 1
) -> tuple[Tensor, Tokens]:
    """x (B, L, D) and its tokens: texts of these lengths, and large numbers as padding.

    before: padding before each text; gap: padding after its first token; two tokens after it.
    """
    generator = torch.Generator().manual_seed(seed)
    real = torch.zeros(len(lengths), before + gap + max(lengths) + 2, dtype=torch.bool)
    for text, length in enumerate(lengths):
        real[text, before : before + min(1, length)] = True
        real[text, before + gap + 1 : before + gap + length] = True
    x = torch.randn(*real.shape, DIM, generator=generator, dtype=torch.float64)
    x = torch.where(real[..., None], x, 50.0)
    return x, Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))


def agree(
    attention: Attention,
    naive: Naive,
    x: Tensor,
    tokens: Tokens,
    position: PositionalEncoding,
    *,
    causal: bool,
    tolerance: float = 1e-10,
) -> None:
    """Outputs at real tokens and all gradients are those of the naive form, text by text."""
    x = x.clone().requires_grad_()
    real = tokens.attention_mask
    assert real is not None
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

    near(out[real], expected[real], tolerance)
    for got, wanted in zip(grads, expected_grads, strict=True):
        near(got, wanted, tolerance)


def near(got: Tensor, wanted: Tensor, tolerance: float = 1e-10) -> None:
    """Equal up to the tolerance, relative to the largest number."""
    bound = tolerance * max(1.0, float(wanted.detach().abs().max()))
    torch.testing.assert_close(got, wanted, rtol=0, atol=bound)


def decode(
    attention: Attention, x: Tensor, tokens: Tokens, position: PositionalEncoding, first: int
) -> tuple[Tensor, KeyValues]:
    """x (B, L, D) by steps: the first few tokens at once, then one by one."""
    cache, rows = KeyValues(), [slice(0, first)]
    rows += [slice(i, i + 1) for i in range(first, x.shape[1])]
    steps = [
        attention(x[:, r], LayerContext(tokens[r], position, causal=True, cache=cache))
        for r in rows
    ]
    return torch.cat(steps, dim=1), cache
