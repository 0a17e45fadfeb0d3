"""Shared by the tests of encodings, norms and networks: parts in float64, and the comparison."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

HEADS, HEAD_DIM, MAX_LENGTH = 2, 6, 1024
SIZES = {"dim": 12, "heads": HEADS, "head_dim": HEAD_DIM, "max_length": MAX_LENGTH}

torch.set_num_threads(1)  # the tensors are tiny, and several threads would be slower


def build(kind: type[nn.Module], *sizes: int, **options) -> nn.Module:
    """The part in float64, no weight of it zero or one. Without sizes: an encoding."""
    torch.manual_seed(0)
    part = (kind(*sizes, **options) if sizes else kind(**{**SIZES, **options})).double().eval()
    with torch.no_grad():
        for parameter in part.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, dtype=torch.float64).abs())
    return part


def randoms(*shape: int, seed: int = 1) -> Tensor:
    """Standard normal numbers in float64, of which gradients are taken."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def agree(out: Tensor, expected: Tensor, leaves: Iterable[Tensor], tolerance: float = 1e-10):
    """Values, and gradients of the same random sum of them, are equal."""
    leaves = list(leaves)
    torch.testing.assert_close(out, expected, rtol=tolerance, atol=tolerance)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(2), dtype=out.dtype)
    found, right = (
        torch.autograd.grad((x * weights).sum(), leaves, retain_graph=True) for x in (out, expected)
    )
    for one, other in zip(found, right, strict=True):
        assert other.abs().max() > 0
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)
