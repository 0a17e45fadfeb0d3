import pytest
import torch
from efficient_helpers import CAPABILITIES, DIM, HEADS, batch, encoding, registry

from zoo.components.layer_context import LayerContext

LONGEST = {"max_length": 64}


def build(name):
    choice = registry().choose("attention", name)
    torch.manual_seed(0)
    fixed = LONGEST if choice.can("fixed-length") else {}
    return choice, choice.build(DIM, HEADS, dropout=0.0, **fixed).double()


def test_registers_what_it_says():
    owned = [
        c for c in registry().components("attention") if c.owner.distribution == "zoo-efficient"
    ]
    assert {c.name: c.capabilities for c in owned} == {
        name: frozenset(can) for name, can in CAPABILITIES.items()
    }
    assert all(c.summary and c.source for c in owned)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_dropout_acts_in_training_alone(name):
    choice, _ = build(name)
    fixed = LONGEST if choice.can("fixed-length") else {}
    attention = choice.build(DIM, HEADS, dropout=0.5, **fixed).double()
    position = encoding("none", attention)
    x, tokens = batch([40])
    torch.manual_seed(0)
    one, two = (attention.train()(x, LayerContext(tokens, position)) for _ in range(2))
    assert not torch.allclose(one, two)
    one, two = (attention.eval()(x, LayerContext(tokens, position)) for _ in range(2))
    torch.testing.assert_close(one, two, rtol=0, atol=0)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_not_even_nan_leaves_the_padding(name):
    _, attention = build(name)
    position = encoding("none", attention)
    x, tokens = batch([40, 3, 0])
    real = tokens.attention_mask
    out = attention(x, LayerContext(tokens, position))
    spoilt = attention(x.masked_fill(~real[..., None], torch.nan), LayerContext(tokens, position))
    torch.testing.assert_close(spoilt[real], out[real], rtol=0, atol=0)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_autocast_to_bfloat16_stays_near(name):
    _, attention = build(name)
    position = encoding("none", attention)
    x, tokens = batch([40, 17])
    target = attention(x, LayerContext(tokens, position))[tokens.attention_mask].detach()
    with torch.autocast("cpu", torch.bfloat16):
        out = attention.float()(x.float(), LayerContext(tokens, position))[tokens.attention_mask]
    assert float((out.detach() - target).norm() / target.norm()) < 0.03
