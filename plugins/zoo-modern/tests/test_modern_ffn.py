"""Feed-forward networks: the gated ones and squared ReLU against other implementations."""

import pytest
import torch
import torch.nn.functional as F
from part_comparison import agree, build, randoms
from zoo_modern.ffn.geglu import GEGLU
from zoo_modern.ffn.glu import GLU
from zoo_modern.ffn.reglu import ReGLU
from zoo_modern.ffn.relu2 import SquaredReLU

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

DIM, HIDDEN = 6, 12
LAYER = LayerContext(Tokens.whole(3))


def by_number(activation):
    """W₂ (activation(W x) ⊙ V x), one hidden number after the other."""

    def formula(ffn, x):
        out = 0
        rows = (ffn.gate.weight, ffn.value.weight, ffn.outer.weight.T)
        for gate, value, back in zip(*rows, strict=True):
            out = out + (activation(x @ gate) * (x @ value))[..., None] * back
        return out

    return formula


def squared(ffn, x):
    hidden = x @ ffn.inner.weight.T + ffn.inner.bias
    return (hidden * hidden * (hidden > 0)) @ ffn.outer.weight.T + ffn.outer.bias


FORMULAS = [
    (GEGLU, by_number(lambda x: x * torch.special.ndtr(x))),
    (ReGLU, by_number(lambda x: x * (x > 0))),
    (GLU, by_number(lambda x: 1 / (1 + torch.exp(-x)))),
    (SquaredReLU, squared),
]


@pytest.mark.parametrize(("kind", "formula"), FORMULAS)
def test_a_network_is_its_papers(kind, formula):
    ffn, x = build(kind, DIM, HIDDEN), randoms(2, 3, DIM)
    agree(ffn(x, LAYER), formula(ffn, x), (x, *ffn.parameters()))


def test_glu_is_torchs():
    ffn, x = build(GLU, DIM, HIDDEN), randoms(2, 3, DIM)
    inner = F.glu(torch.cat([ffn.value(x), ffn.gate(x)], dim=-1))
    agree(ffn(x, LAYER), ffn.outer(inner), (x, *ffn.parameters()))


@pytest.mark.parametrize("kind", [GEGLU, ReGLU, GLU])
def test_the_hidden_width_is_two_thirds_unless_it_shall_not_be_matched(kind):
    assert kind(DIM, HIDDEN).outer.in_features == 8
    assert kind(DIM, HIDDEN, matched=False).outer.in_features == HIDDEN
