"""The zoo's dropout has the distribution of torch's and scales what remains exactly."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.components.dropout import dropout

quick = settings(max_examples=20, deadline=None, derandomize=True, database=None)


@quick
@given(
    st.floats(0.001, 0.999), st.lists(st.integers(0, 7), min_size=0, max_size=4), st.integers(0, 9)
)
def test_every_element_is_zero_or_scaled_and_so_is_its_gradient(p, shape, seed):
    torch.manual_seed(seed)
    x = (torch.rand(shape, dtype=torch.float64) + 1).requires_grad_()
    y = dropout(x, p)
    scaled = 1 / (1 - p)
    factor = (y / x).detach()
    # p is rounded to 1/65536, and so is the factor.
    near = torch.isclose(factor, torch.full_like(factor, scaled), rtol=2**-16 * scaled)
    assert ((factor == 0) | near).all()
    y.sum().backward()
    torch.testing.assert_close(x.grad, factor)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_and_the_mean_are_those_of_torchs(p):
    torch.manual_seed(0)
    x = torch.ones(400_000)
    for function in (dropout, F.dropout):
        y = function(x, p)
        # Four standard errors of a share of 400,000.
        assert (y == 0).float().mean().item() == pytest.approx(
            p, abs=4 * (p * (1 - p) / 4e5) ** 0.5
        )
        assert y.mean().item() == pytest.approx(1, abs=4 * (p / (1 - p) / 4e5) ** 0.5)


def test_draws_from_one_random_number_are_independent():
    torch.manual_seed(1)
    zero = (dropout(torch.ones(100_000, 4), 0.5) == 0).double()  # four draws of each number
    correlation = torch.corrcoef(zero.T) - torch.eye(4)
    assert correlation.abs().max() < 4 / 100_000**0.5
    lag = torch.corrcoef(torch.stack([zero.flatten()[:-1], zero.flatten()[1:]]))[0, 1]
    assert abs(lag) < 4 / 400_000**0.5


def test_one_seed_draws_the_same_whatever_the_order_in_memory():
    x = torch.rand(6, 5) + 1
    drawn = []
    for values in (x, x.T.contiguous().T):
        torch.manual_seed(2)
        drawn.append(dropout(values, 0.4))
    assert torch.equal(*drawn)
    assert not torch.equal(dropout(x, 0.4), drawn[0])


def test_nothing_is_drawn_outside_training_or_at_zero():
    x = torch.rand(5)
    before = torch.get_rng_state()
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_gradients_of_every_order_are_right():
    def drop(x):
        torch.manual_seed(3)
        return dropout(x, 0.3) ** 2

    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(drop, x)
    assert torch.autograd.gradgradcheck(drop, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_results_are_those_of_multiplying_by_a_bool_mask(dtype):
    """Bit for bit, also of gradients, from the same random numbers."""
    x = torch.randn(7, 9, dtype=dtype, requires_grad=True)
    grad = torch.randn(7, 9).to(dtype)
    torch.manual_seed(4)
    y = dropout(x, 0.25)
    y.backward(grad)
    mask = y.detach() != 0
    scale = torch.tensor(4 / 3, dtype=dtype)
    assert torch.equal(y, x * mask * scale)
    assert torch.equal(x.grad, grad * scale * mask)
    assert 0 < mask.double().mean() < 1


def test_a_byte_an_element_is_kept_for_the_backward_pass():
    x = torch.randn(64, 64, requires_grad=True)
    sizes = []

    def pack(tensor):
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        dropout(x, 0.5)
    assert sum(sizes) <= 64 * 64 + 8
