"""What layers leave for later ones, their number, and states: equal to the papers' formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from paper_models import by_hand, joined, project, with_papers
from references import assert_same, shake
from small_models import (
    assert_cache_changes_nothing,
    classifier,
    encoder_decoder,
    language_model,
    padded,
    some_ids,
)
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.registry import Registry

HEADS, WIDTH = 2, 4
TEXTS = [[3, 1, 4, 1, 5], [2, 6], [5, 3, 5]]


def in_turns(cases: Sequence[Any]) -> list[tuple[Any, str]]:
    """Each case with the side of its padding."""
    return list(zip(cases, itertools.cycle(["left", "right"]), strict=False))


@pytest.fixture
def papers(registry) -> Registry:
    return with_papers(registry)


def softmax_of(q: Tensor, k: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)


def heads_of(attention: Any, h: Tensor) -> list[Tensor]:
    its = attention.project
    return [project(h, layer, HEADS) for layer in (its.q, its.k, its.v)]


class ByHand:
    """Each attention's output, as its paper states it; one object for one pass."""

    def __init__(self) -> None:
        self.left: Any = None

    def value_residual(self, number: int, attention: Any, h: Tensor) -> Tensor:
        q, k, v = heads_of(attention, h)
        self.left = v if number == 0 else self.left
        mixed = attention.shares[0] * self.left + attention.shares[1] * v
        return joined(softmax_of(q, k) @ mixed, attention.out)

    def shared_keys(self, number: int, attention: Any, h: Tensor) -> Tensor:
        q = project(h, attention.project.q, HEADS)
        if number % 2 == 0:
            self.left = [project(h, getattr(attention.project, n), HEADS) for n in "kv"]
        k, v = self.left
        return joined(softmax_of(q, k) @ v, attention.out)

    def short_conv(self, number: int, attention: Any, h: Tensor) -> Tensor:
        """An encoder reads the text forwards and, from the last token on, backwards."""
        there = convolved(h, attention.forwards.weight)
        return there + convolved(h.flip(1), attention.backwards.weight).flip(1)


def convolved(h: Tensor, weight: Tensor) -> Tensor:
    """Y_t = Σ_i w_i ⊙ h_{t-i}, token by token."""
    rows = []
    for t in range(h.shape[1]):
        first = max(0, t + 1 - len(weight))
        rows.append((weight[len(weight) - 1 - t + first :] * h[:, first : t + 1]).sum(dim=1))
    return torch.stack(rows, dim=1)


BY_HAND = {
    "value-residual": "value_residual",
    "shared-keys": "shared_keys",
    "short-conv": "short_conv",
}


@pytest.mark.parametrize("name", BY_HAND)
def test_three_layers_are_those_of_the_paper(papers, name):
    model = shake(classifier(papers, layers=3, attention=name, pe="none")).eval()
    ids, tokens = some_ids(2, 6), Tokens.whole(6)
    weights = [p for n, p in model.encoder.named_parameters() if "head" not in n]
    ours = model.encoder(ids, tokens)
    expected = by_hand(model.encoder, ids, getattr(ByHand(), BY_HAND[name]))
    assert_same(ours, expected, weights)
    # Fresh at every pass: another text before it changes nothing.
    model.encoder(some_ids(2, 6, seed=5), tokens)
    assert torch.equal(model.encoder(ids, tokens), ours)


@pytest.mark.parametrize(
    ("name", "side"),
    in_turns([*BY_HAND, "score-residual", "grouped"]),
)
def test_padding_and_the_last_layers_few_positions_change_nothing(papers, name, side):
    model = shake(classifier(papers, layers=3, attention=name, pool="cls")).eval()
    batch = padded(TEXTS, side)
    whole = model.encoder(*batch)
    for row, text in enumerate(TEXTS):
        alone = torch.tensor([text]), Tokens.whole(len(text))
        assert_same(whole[row, batch[1].attention_mask[row]], model.encoder(*alone)[0])
        for read in (slice(0, 1), slice(1, 2)):
            few = model.encoder(*alone, read)
            assert_same(few, model.encoder(*alone)[:, read])


DECODED: list[dict[str, str]] = [
    {"attention": "value-residual"},
    {"attention": "score-residual", "pe": "alibi"},
    {"attention": "shared-keys"},
    {"attention": "grouped", "pe": "shaw"},
    {"attention": "short-conv/fused", "pe": "none/transformer-xl"},
    {"attention": "fused", "pe": "xpos", "ffn": "shift"},
    {"attention": "short-conv/value-residual", "pe": "none"},
    {"attention": "fused", "ffn": "shift", "pe": "rope-by-layer"},
]


@pytest.mark.parametrize(
    ("cell", "side"),
    in_turns(DECODED),
    ids=lambda case: case if isinstance(case, str) else "+".join(case.values()),
)
def test_decoding_with_a_cache_is_decoding_without(papers, cell, side):
    model = shake(language_model(papers, layers=3, **cell)).eval()
    assert model.decoder.caches
    ids, tokens = padded(TEXTS, side)
    for beams in (1, 3):
        assert_cache_changes_nothing(
            model, ids, tokens.attention_mask, max_new=6, beams=beams, end=2
        )


@pytest.mark.parametrize("name", ["value-residual", "score-residual", "shared-keys", "grouped"])
def test_an_encoder_decoders_two_attentions_do_not_mix(papers, name):
    model = shake(encoder_decoder(papers, layers=3, attention=name)).eval()
    source, tokens = padded(TEXTS, "right")
    assert_cache_changes_nothing(model, source, tokens.attention_mask, max_new=5, beams=2)


def test_an_encoding_places_a_text_once_a_pass_for_all_layers(papers):
    model = shake(classifier(papers, layers=3, pe="randomised")).train()
    ids = some_ids(2, 6)
    torch.manual_seed(5)
    drawn = torch.randperm(50)[:6].sort().values
    torch.manual_seed(5)
    in_training = model(ids, Tokens.whole(6))
    model.eval()
    assert_same(in_training, model(ids, Tokens(None, drawn)))
    assert not torch.allclose(in_training, model(ids, Tokens.whole(6)))


def test_an_encoding_may_differ_from_layer_to_layer(papers):
    encoder = classifier(papers, layers=3, pe="rope-by-layer").encoder
    positions = [encoder.position, *encoder.other_positions]
    assert [positions[i].angles.frequencies[1].item() for i in encoder.position_of_layer] == [
        pytest.approx(base**-0.5) for base in (10.0, 100.0, 1000.0)
    ]
