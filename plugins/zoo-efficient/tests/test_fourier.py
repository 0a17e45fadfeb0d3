import math

import pytest
import torch
from efficient_helpers import DIM, agree, batch, build, encoding
from hypothesis import given, settings
from hypothesis import strategies as st
from zoo_efficient.fourier import Fourier, transform_rows

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def naive(norm):
    """Equation by equation: n² D² terms."""

    def text(x, _):
        n, width = x.shape
        j, c = torch.arange(n).double()[:, None], torch.arange(width).double()
        rows = []
        for k in range(n):
            row = []
            for d in range(width):
                # The sum over j and c of x_jc cos(2π (jk/n + cd/D)).
                turns = j * k % n / n + c * d % width / width
                row.append((x * (2 * math.pi * turns).cos()).sum())
            rows.append(torch.stack(row))
        y = torch.stack(rows)
        return y / math.sqrt(n * width) if norm == "ortho" else y

    return text


@pytest.mark.parametrize("norm", ["ortho", "backward"])
@pytest.mark.parametrize("before", [0, 3])
def test_is_the_transform_of_the_real_tokens(norm, before):
    attention = build(Fourier, norm=norm)
    x, tokens = batch([9, 1, 0, 4, 7], before=before)
    agree(attention, naive(norm), x, tokens, encoding("none", attention))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 150), min_size=1, max_size=4).filter(any),
    width=st.integers(1, 9),
    after=st.integers(0, 70),
    seed=st.integers(0, 99),
)
def test_every_text_gets_torchs_transform_of_itself(lengths, width, after, seed):
    generator = torch.Generator().manual_seed(seed)
    total = max(lengths) + after
    x = torch.randn(len(lengths), total, width, generator=generator, dtype=torch.float64)
    attention_mask = torch.arange(total) < torch.tensor(lengths)[:, None]
    # Padding anywhere, in the middle too: real tokens keep their order.
    shuffled = torch.stack(
        [row[torch.randperm(total, generator=generator)] for row in attention_mask]
    )
    attention = Fourier(width)
    tokens = Tokens(shuffled, torch.arange(total))
    out = attention(x, LayerContext(tokens, encoding("none", attention)))
    assert (out[~shuffled] == 0).all()
    for text in range(len(x)):
        rows = shuffled[text]
        if rows.any():
            expected = torch.fft.fft2(x[text, rows], norm="ortho").real
            torch.testing.assert_close(out[text, rows], expected)


def test_long_texts_keep_their_digits():
    n = 4001
    h = torch.randn(1, 4096, 1, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    h[:, n:] = 0
    got = transform_rows(h, torch.tensor([[n]]))[:, :n]
    wanted = torch.fft.fft(h[:, :n].to(torch.complex128), dim=1).real
    assert float((got - wanted).norm() / wanted.norm()) < 1e-6


def test_keeps_the_scale_of_its_input_whatever_the_length():
    attention = build(Fourier)
    for length in (3, 300):
        x, tokens = batch([length])
        out = attention(x, LayerContext(tokens, encoding("none", attention)))
        # A real part holds half of the energy, on average.
        assert 0.4 < float(out[tokens.attention_mask].square().mean()) < 0.7


def test_bfloat16_goes_in_and_comes_out():
    x, tokens = batch([9, 4])
    attention = build(Fourier)
    position = encoding("none", attention)
    half = attention(x.bfloat16(), LayerContext(tokens, position))
    assert half.dtype == torch.bfloat16
    full = attention(x, LayerContext(tokens, position))
    torch.testing.assert_close(half.double(), full, rtol=0.02, atol=0.05)


def test_norm_must_be_known():
    with pytest.raises(ValueError, match="norm must be one of ortho, backward, not 'forward'"):
        Fourier(DIM, norm="forward")
