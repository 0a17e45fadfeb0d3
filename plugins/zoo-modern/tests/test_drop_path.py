"""Drop-path leaves out what the paper's rule says, as often as it says."""

from __future__ import annotations

import pytest
import torch
from block_helpers import DIM, LENGTH, build, context, randoms
from torch import nn

from zoo.components.tokens import Tokens


@pytest.mark.parametrize(
    ("schedule", "chances"), [("linear", [0.1, 0.2, 0.3]), ("uniform", [0.3, 0.3, 0.3])]
)
def test_the_chance_grows_with_depth_to_the_rate(schedule: str, chances: list[float]) -> None:
    for layer, chance in enumerate(chances):
        block = build(
            f"drop-path(rate=0.3, schedule='{schedule}')", layer_index=layer, layer_count=3
        )
        assert block.chance == pytest.approx(chance)


def test_in_evaluation_it_is_pre_norm() -> None:
    x, layer_context = randoms(2, LENGTH, DIM), context()
    block, pre = build("drop-path"), build("pre")
    torch.testing.assert_close(block(x, layer_context), pre(x, layer_context), rtol=0, atol=0)


def test_texts_are_dropped_whole_and_as_often_as_asked() -> None:
    texts, rate = 4000, 0.25
    block = build(f"drop-path(rate={rate}, schedule='uniform')", layer_count=1).train()
    block.attention = None
    block.attend = lambda h, context: torch.ones_like(h)
    block.ffn_norm = None
    x = torch.zeros(texts, 2, DIM, dtype=torch.float64)
    torch.manual_seed(0)
    added = block(x, context(tokens=Tokens.whole(2)))
    values = added.flatten(1)
    assert values.eq(values[:, :1]).all(), "a text is added to or not, as a whole"
    kept = values[:, 0] != 0
    torch.testing.assert_close(values[kept, 0], torch.full_like(values[kept, 0], 1 / (1 - rate)))
    spread = (rate * (1 - rate) / texts) ** 0.5
    assert abs(float((~kept).double().mean()) - rate) < 4 * spread


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_that_is_no_probability_below_one_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="a probability below 1"):
        build(f"drop-path(rate={rate})")


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match="linear or uniform"):
        build("drop-path(schedule='cosine')")


def test_it_has_the_parameters_of_pre_norm() -> None:
    shapes = [
        {name: p.shape for name, p in build(block).named_parameters()}
        for block in ("drop-path", "pre")
    ]
    assert shapes[0] == shapes[1]
    assert isinstance(build("drop-path").attention_norm, nn.LayerNorm)
