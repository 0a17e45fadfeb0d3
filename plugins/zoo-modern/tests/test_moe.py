"""The mixture of experts: token by token, and its balancing loss."""

import pytest
import torch
from part_comparison import agree, build, randoms
from zoo_modern.ffn.moe import Experts

from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import NoPositions
from zoo.components.tokens import Tokens

DIM, HIDDEN, TEXTS, LENGTH = 6, 8, 3, 5
MASK = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 4 + [True]])


def layer(mask=None, losses=None):
    position = NoPositions(dim=DIM, heads=1, head_dim=DIM, max_length=LENGTH)
    return LayerContext(Tokens(mask, torch.arange(LENGTH)), position, losses=losses)


def one_token(moe, x):
    """Σ p E(x) over the likeliest experts, their numbers, and all probabilities p."""
    likeliness = [torch.exp(row @ x) for row in moe.router.weight]
    shares = torch.stack([one / sum(likeliness) for one in likeliness])
    chosen = sorted(range(len(shares)), key=lambda e: -shares[e].item())[: moe.active]
    out = 0
    for e in chosen:
        inner, outer = moe.experts[e].inner, moe.experts[e].outer
        hidden = (inner.weight @ x + inner.bias).clamp_min(0)
        out = out + shares[e] * (outer.weight @ hidden + outer.bias)
    return out, chosen, shares


@pytest.mark.parametrize(("experts", "active"), [(4, 1), (3, 2), (2, 2), (1, 1)])
def test_a_token_is_computed_by_its_likeliest_experts(experts, active):
    moe = build(Experts, DIM, HIDDEN, experts=experts, active=active)
    x = randoms(TEXTS, LENGTH, DIM)
    tokens = [one_token(moe, token) for text in x for token in text]
    expected = torch.stack([out for out, _, _ in tokens]).view_as(x)
    used = {e for _, chosen, _ in tokens for e in chosen}
    assert len(used) == experts
    leaves = [x, *moe.parameters()] if experts > 1 else [x, *moe.experts.parameters()]
    agree(moe(x, layer()), expected, leaves)


@pytest.mark.parametrize("owner", [None, 2])
def test_blocks_of_one_expert_are_the_same_as_experts_in_turn(owner):
    """What a GPU runs, on the CPU; also where one expert has every token."""
    moe = build(Experts, DIM, HIDDEN, experts=4)
    torch.manual_seed(3)
    owners = torch.randint(4, (200,)).sort().values if owner is None else torch.full((200,), owner)
    x = randoms(200, DIM)
    used = moe.experts if owner is None else moe.experts[owner]
    expected = moe.in_turn(x, owners, layer())
    agree(moe.in_blocks(x, owners, layer()), expected, [x, *used.parameters()])


@pytest.mark.parametrize("active", [1, 2])
@pytest.mark.parametrize("mask", [None, MASK])
def test_the_balancing_loss_is_the_papers_over_real_tokens(active, mask):
    moe = build(Experts, DIM, HIDDEN, experts=3, active=active, balance=0.02).train()
    x, losses = randoms(TEXTS, LENGTH, DIM), []
    moe(x, layer(mask, losses))
    (loss,) = losses
    assert (loss.name, loss.weight) == ("balance", 0.02)
    tokens = [one_token(moe, t) for t in (x.flatten(0, 1) if mask is None else x[mask])]
    expected = 0
    for e in range(3):
        share = sum(e in chosen for _, chosen, _ in tokens) / (active * len(tokens))
        expected = expected + 3 * share * sum(shares[e] for _, _, shares in tokens) / len(tokens)
    agree(loss.value, expected, (x, moe.router.weight))


def test_the_loss_is_one_where_experts_are_used_evenly_and_outside_of_training_there_is_none():
    moe, losses = build(Experts, 2, HIDDEN, experts=2), []
    with torch.no_grad():
        moe.router.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    x = torch.tensor([[[3.0, 1.0], [1.0, 3.0], [2.0, 1.0], [1.0, 2.0]]]).double()
    moe(x, layer(losses=losses))
    assert losses == []
    moe.train()(x, layer(losses=losses))
    assert losses[0].value.item() == pytest.approx(1.0)
    moe(x[:, :1], layer(losses=losses))  # one token, one expert
    assert losses[1].value.item() > 1.5
    nothing_real = torch.zeros(1, 4, dtype=torch.bool)
    moe(x, layer(nothing_real, losses))
    assert losses[2].value.item() == 0


def test_only_the_chosen_experts_compute_a_token():
    moe, rows = build(Experts, DIM, HIDDEN, experts=4, active=2), []
    for expert in moe.experts:
        expert.register_forward_pre_hook(lambda module, given: rows.append(len(given[0])))
    moe(randoms(TEXTS, LENGTH, DIM), layer())
    assert len(rows) == 4
    assert sum(rows) == 2 * TEXTS * LENGTH


def test_autocast_changes_no_choice():
    moe = build(Experts, DIM, HIDDEN, experts=2).float()
    with torch.no_grad():  # two experts that bfloat16 could not tell apart
        moe.router.weight[1] = moe.router.weight[0] * (1 + 1e-4)
    x = 5 * torch.randn(200, DIM)
    expected = moe.route(x).argmax(dim=-1)
    assert 0 < expected.sum() < 200
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(moe.route(x).argmax(dim=-1), expected)
        assert moe(x, layer()).shape == x.shape


@pytest.mark.parametrize("active", [0, 5])
def test_more_active_experts_than_there_are_are_refused(active):
    with pytest.raises(ValueError, match=f"active must be from 1 to the 4 experts, not {active}"):
        Experts(DIM, HIDDEN, active=active)
