"""Decoding with a cache, from prompts of several lengths, under every encoding."""

import pytest
import torch
from part_comparison import SIZES, randoms

from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues
from zoo.registry.loading import load

PROMPT, LENGTH = 3, 7
REGISTRY = load().registry
OWN = [c.name for c in REGISTRY.components("pe") if c.owner.distribution == "zoo-modern"]


@pytest.mark.parametrize("name", OWN)
def test_step_by_step_is_the_whole_pass_and_the_text_alone(name):
    torch.manual_seed(0)
    position = REGISTRY.choose("pe", name).build(**SIZES).double().eval()
    with torch.no_grad():
        for parameter in position.parameters():
            parameter.add_(0.3 * torch.rand(parameter.shape))
    attention = Split(12, 2).double().eval()
    x = randoms(2, LENGTH, 12)
    real = torch.ones(2, LENGTH, dtype=torch.bool)
    real[1, : PROMPT - 1] = False  # the second prompt has one token, padded on its left
    tokens = Tokens(real, (real.cumsum(dim=1) - 1).clamp_min(0))

    def run(rows, cache=None):
        return attention(x[:, rows], LayerContext(tokens[rows], position, causal=True, cache=cache))

    cache, whole = KeyValues(), run(slice(None))
    steps = [slice(0, PROMPT), *(slice(t, t + 1) for t in range(PROMPT, LENGTH))]
    decoded = torch.cat([run(rows, cache) for rows in steps], dim=1)
    torch.testing.assert_close(decoded[real], whole[real], rtol=1e-9, atol=1e-9)
    alone = Tokens.whole(LENGTH - PROMPT + 1)
    text = attention(x[1:, PROMPT - 1 :], LayerContext(alone, position, causal=True))
    torch.testing.assert_close(whole[1:, PROMPT - 1 :], text, rtol=1e-9, atol=1e-9)
    # Without the encoding the output is another one.
    none = REGISTRY.choose("pe", "none").build(**SIZES)
    bag = attention(x[1:, PROMPT - 1 :], LayerContext(alone, none, causal=True))
    assert not torch.allclose(bag, text)
