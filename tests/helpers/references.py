"""The papers' formulas, written out slowly in float64; nothing of zoo is used here."""

import cmath
import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

# Press et al. 2022, section 3, and its footnote on other numbers of heads, computed by hand.
ALIBI_SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    4: [2**-2, 2**-4, 2**-6, 2**-8],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],
    8: [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8],
    12: [*(2.0**-h for h in range(1, 9)), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
}


def randoms(*shape: int, seed: int = 0) -> Tensor:
    """A float64 leaf of standard normals."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def shake(module: nn.Module, seed: int = 0) -> nn.Module:
    """The module in float64, every parameter moved off its initial value."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += 0.3 * noise
    return module


def assert_same(
    actual: Tensor, expected: Tensor, leaves: Iterable[Tensor] = (), tolerance: float = 1e-10
) -> None:
    """Equal values and, for some uneven loss, equal gradients with respect to every leaf."""
    close = {"rtol": tolerance, "atol": tolerance}
    torch.testing.assert_close(actual, expected, **close)
    leaves = list(leaves)
    if leaves:
        loss = torch.cos(torch.arange(actual.numel(), dtype=actual.dtype)).view_as(actual)
        ours = torch.autograd.grad((actual * loss).sum(), leaves)
        theirs = torch.autograd.grad((expected * loss).sum(), leaves)
        for gradient, right in zip(ours, theirs, strict=True):
            assert right.abs().max() < 1e6
            torch.testing.assert_close(gradient, right, **close)


def rotated(vector: Tensor, position: int, base: float = 10000.0) -> Tensor:
    """Su et al. 2021, equation 12: pairs as complex numbers, times e^(i position theta)."""
    parts = []
    for i in range(len(vector) // 2):
        turn = cmath.exp(1j * position * base ** (-2 * i / len(vector)))
        number = torch.complex(vector[2 * i], vector[2 * i + 1]) * turn
        parts += [number.real, number.imag]
    return torch.stack(parts)


def sinusoid(position: int, dim: int, base: float = 10000.0) -> Tensor:
    """Vaswani et al. 2017, section 3.5."""
    wave = []
    for i in range(dim // 2):
        angle = position / base ** (2 * i / dim)
        wave += [math.sin(angle), math.cos(angle)]
    return torch.tensor(wave, dtype=torch.float64)


def attention(
    x: Tensor,
    context: Tensor,
    weights: dict[str, Tensor],
    heads: int,
    encoding: str,
    allowed: Sequence[Sequence[Sequence[bool]]],
    q_positions: Sequence[int],
    k_positions: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """softmax(q k / sqrt(Dh) + bias) v, number by number: outputs (B, Lq, D), map (B, H, Lq, Lk).

    allowed[b][i][j]: whether query i of text b may attend to key j.
    """
    width = x.shape[-1] // heads
    outputs, maps = [], []
    for b in range(len(x)):
        head_outputs, head_maps = [], []
        for h in range(heads):
            rows = slice(h * width, (h + 1) * width)
            q = [weights["wq"][rows] @ one + weights["bq"][rows] for one in x[b]]
            k = [weights["wk"][rows] @ one + weights["bk"][rows] for one in context[b]]
            v = [weights["wv"][rows] @ one + weights["bv"][rows] for one in context[b]]
            if encoding == "rope":
                q = [rotated(one, at) for one, at in zip(q, q_positions, strict=True)]
                k = [rotated(one, at) for one, at in zip(k, k_positions, strict=True)]
            out, shares = [], []
            for i in range(len(q)):
                scores = []
                for j in range(len(k)):
                    score = q[i] @ k[j] / math.sqrt(width)
                    if encoding == "alibi":
                        score -= ALIBI_SLOPES[heads][h] * abs(q_positions[i] - k_positions[j])
                    scores.append(score)
                powers = torch.stack(scores).exp() * torch.tensor(allowed[b][i])
                shares.append(powers / powers.sum())
                out.append(shares[-1] @ torch.stack(v))
            head_outputs.append(torch.stack(out))
            head_maps.append(torch.stack(shares))
        joined = torch.cat(head_outputs, dim=-1)
        outputs.append(joined @ weights["wo"].T + weights["bo"])
        maps.append(torch.stack(head_maps))
    return torch.stack(outputs), torch.stack(maps)


def canonical(module: nn.Module) -> dict[str, Tensor]:
    """An attention's eight weights in the canonical layout."""
    if isinstance(mha := getattr(module, "attention", None), nn.MultiheadAttention):
        matrices, biases = mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3)
        out = mha.out_proj
    else:
        out = module.out
        if hasattr(module.project, "qkv"):
            matrices = module.project.qkv.weight.chunk(3)
            biases = module.project.qkv.bias.chunk(3)
        else:
            layers = (module.project.q, module.project.k, module.project.v)
            groups = [list(one) if isinstance(one, nn.ModuleList) else [one] for one in layers]
            matrices = [torch.cat([layer.weight for layer in group]) for group in groups]
            biases = [torch.cat([layer.bias for layer in group]) for group in groups]
    names = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo")
    return dict(zip(names, (*matrices, out.weight, *biases, out.bias), strict=True))
