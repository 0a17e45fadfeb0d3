"""Each norm is its formula, forward and backward."""

import pytest
import torch
from references import assert_same, randoms, shake
from torch import Tensor, nn

from zoo.registry import Registry

DIM = 6
ALL = ("layer", "layer-plain", "layer-std", "rms", "none")
WITH_EPS = ALL[:-1]


def build(registry: Registry, text: str, dim: int = DIM) -> nn.Module:
    return shake(registry.choose("norm", text).build(dim))


def formula(name: str, row: Tensor, eps: float, learned: dict[str, Tensor]) -> Tensor:
    """One position's vector, number by number."""
    count = len(row)
    mean = sum(row) / count
    if name == "none":
        return row
    if name == "rms":
        below = (sum(value**2 for value in row) / count + eps).sqrt()
        return torch.stack([value / below for value in row]) * learned["scale"]
    if name == "layer-std":
        std = torch.std(row)  # unbiased by default
        return (row - mean) / (std + eps) * learned["scale"] + learned["shift"]
    below = (sum((value - mean) ** 2 for value in row) / count + eps).sqrt()
    out = torch.stack([(value - mean) / below for value in row])
    return out * learned["scale"] + learned["shift"] if name == "layer" else out


@pytest.mark.parametrize("size", [1.0, 1e-3], ids=["usual", "small"])
@pytest.mark.parametrize(
    ("name", "eps"), [*((name, None) for name in ALL), *((name, 1e-2) for name in WITH_EPS)]
)
def test_output_and_gradients_are_the_formulas(registry, name, eps, size):
    norm = build(registry, name if eps is None else f"{name}(eps={eps})")
    learned = dict(norm.named_parameters())
    x = (randoms(2, 3, DIM) * size + size).detach().requires_grad_()  # small ones let eps show
    default = registry.get("norm", name).parameters.get("eps", 0.0)
    rows = [formula(name, row, eps or default, learned) for row in x.flatten(0, 1)]
    expected = torch.stack(rows).view_as(x)
    assert_same(norm(x), expected, [x, *learned.values()], tolerance=1e-9)


def test_an_unbiased_deviation_of_one_number_is_refused(registry):
    with pytest.raises(ValueError, match="width of 2 or more, not 1"):
        build(registry, "layer-std", dim=1)
