"""Encodings that see queries and keys: each against its formula, pair by pair."""

import math

import pytest
import torch
from part_comparison import HEAD_DIM, HEADS, SIZES, agree, build, randoms
from zoo_modern.pe.cope import Cope
from zoo_modern.pe.shaw import Shaw

LENGTH = 7
POSITIONS = [0, 2, 3, 4, 7, 8, 11]
# Padding on both sides and in between, as after decoding from prompts of several lengths.
MASK = torch.tensor([[True] * 7, [False, True, False, False, True, True, False]])


def test_shaw_is_the_papers_for_the_keys():
    position = build(Shaw, reach=3)
    q, k = randoms(2, HEADS, LENGTH, HEAD_DIM), randoms(2, HEADS, 4, HEAD_DIM, seed=2)
    q_positions, k_positions = torch.tensor(POSITIONS), torch.tensor([[0, 1, 9, 4], [3, 4, 5, 2]])
    out = position.content_bias(q, k, q_positions.expand(2, -1), k_positions, None)
    # All vectors a_ij (B, Lq, Lk, Dh), compared with the query.
    offsets = [[[j - i for j in text] for i in POSITIONS] for text in k_positions.tolist()]
    rows = torch.tensor(offsets).clip(-3, 3) + 3
    vectors = torch.nn.functional.embedding(rows, position.table)
    expected = torch.einsum("bhid,bijd->bhij", q, vectors) / math.sqrt(HEAD_DIM)
    agree(out, expected, (q, position.table))


def listing(position, q, k, mask):
    """The listing of CoPE's appendix B, for a causal attention."""
    logits = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    gates = torch.sigmoid(logits + torch.where(mask, 0.0, -torch.inf))
    places = gates.flip(-1).cumsum(dim=-1).flip(-1).clamp(max=len(position.table) - 1)
    products = torch.matmul(q, position.table.T)
    low, high = places.floor().long(), places.ceil().long()
    share = places - low
    return products.gather(-1, high) * share + products.gather(-1, low) * (1 - share)


@pytest.mark.parametrize("positions", [3, 64])
def test_cope_is_the_papers_listing_in_a_causal_pass(positions):
    position = build(Cope, positions=positions)
    q, k = (randoms(2, HEADS, LENGTH, HEAD_DIM, seed=n) for n in (1, 2))
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    for mask in (causal.expand(2, 1, -1, -1), causal & MASK[:, None, None]):
        mask = mask | ~mask.any(-1, keepdim=True)
        whole = torch.arange(LENGTH)
        out = position.content_bias(q, k, whole, whole, mask)
        seen = (mask & causal).expand_as(out) & MASK[:, None, :, None]
        expected = listing(position, q, k, mask)
        agree(out[seen], expected[seen], (q, k, position.table))


def test_cope_counts_what_is_between_query_and_key_in_both_directions():
    position = build(Cope, positions=4)
    q, k = (randoms(2, HEADS, LENGTH, HEAD_DIM, seed=n) for n in (1, 2))
    given = torch.tensor(POSITIONS)
    out = position.content_bias(q, k, given, given, MASK[:, None, None])
    kept, expected = [], []
    for text, head in ((text, head) for text in range(2) for head in range(HEADS)):
        for i in range(LENGTH):
            for j in range(LENGTH):
                if not (MASK[text, i] and MASK[text, j]):
                    continue
                between = [t for t in range(min(i, j), max(i, j) + 1) if MASK[text, t]]
                one, keys = q[text, head, i], k[text, head]
                place = sum(torch.sigmoid(one @ keys[t] / math.sqrt(HEAD_DIM)) for t in between)
                place = place.clamp(max=3)
                low = math.floor(place.item())
                high = min(low + 1, 3)
                vector = (1 - (place - low)) * position.table[low]
                vector = vector + (place - low) * position.table[high]
                expected.append(one @ vector)
                kept.append(out[text, head, i, j])
    agree(torch.stack(kept), torch.stack(expected), (q, k, position.table))


def test_cope_begins_without_positions_and_learns_them():
    position = Cope(**SIZES)
    (q, k), whole = torch.randn(2, 1, HEADS, 5, HEAD_DIM), torch.arange(5)
    out = position.content_bias(q, k, whole, whole, None)
    assert not out.any()
    out.sum().backward()
    assert position.table.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Shaw, {"reach": 0}, "reach must be at least 1, not 0"),
        (Cope, {"positions": 1}, "positions must be at least 2, not 1"),
    ],
)
def test_what_cannot_be_is_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**SIZES, **options)
