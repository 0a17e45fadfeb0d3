import pytest
import torch
from efficient_helpers import DIM, agree, batch, build, by_heads, encoding, rotate
from zoo_efficient.linear import Linear, features

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def naive_head(position, causal):
    def head(q, k, v, positions, _):
        phi_q = torch.where(q > 0, q + 1, q.exp())
        phi_k = torch.where(k > 0, k + 1, k.exp())
        turned_q, turned_k = rotate(position, phi_q, positions), rotate(position, phi_k, positions)
        rows = []
        for i in range(len(q)):
            seen = range(i + 1) if causal else range(len(k))
            top = sum((turned_q[i] @ turned_k[j]) * v[j] for j in seen)
            rows.append(top / sum(phi_q[i] @ phi_k[j] for j in seen))
        return torch.stack(rows)

    return head


@pytest.mark.parametrize("pe", ["none", "rope"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("before", [0, 3])
def test_is_the_quadratic_form(pe, causal, before):
    attention = build(Linear)
    position = encoding(pe, attention)
    x, tokens = batch([9, 1, 0, 5], before=before)
    naive = by_heads(attention, position, naive_head(position, causal))
    agree(attention, naive, x, tokens, position, causal=causal)


def test_running_sums_cross_chunks():
    attention = build(Linear)
    position = encoding("rope", attention)
    x, tokens = batch([70], after=7)
    naive = by_heads(attention, position, naive_head(position, causal=True))
    agree(attention, naive, x, tokens, position, causal=True)


def test_causal_rows_from_elsewhere_are_those_of_the_whole_text():
    attention = build(Linear)
    position = encoding("rope", attention)
    x, tokens = batch([80, 33])
    whole = attention(x, LayerContext(tokens, position, causal=True))
    rows = slice(20, 30)
    some = attention(
        x[:, rows],
        LayerContext(tokens[rows], position, causal=True, context=x, context_tokens=tokens),
    )
    torch.testing.assert_close(some, whole[:, rows])


class Remembered:
    """The plainest cache: all keys and values so far."""

    def __init__(self):
        self.k = self.v = None

    def extend(self, k, v, tokens):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v, Tokens.whole(self.k.shape[2])


@pytest.mark.parametrize("pe", ["none", "rope"])
def test_decoding_step_by_step_is_the_whole_at_once(pe):
    attention = build(Linear)
    position = encoding(pe, attention)
    x = torch.randn(2, 9, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole = attention(x, LayerContext(Tokens.whole(9), position, causal=True))
    cache = Remembered()
    for i in range(9):
        step = attention(
            x[:, i : i + 1],
            LayerContext(Tokens(None, torch.tensor([i])), position, causal=True, cache=cache),
        )
        torch.testing.assert_close(step, whole[:, i : i + 1])


def test_features_are_elu_plus_one_and_stay_positive():
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(features(x), torch.nn.functional.elu(x) + 1)
    assert (features(torch.tensor([-20.0, -80.0])) > 0).all()
