"""What layers leave for later ones, their number, and states, in padded texts and in decoding."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from paper_models import with_papers
from references import assert_same, shake
from small_models import (
    assert_cache_changes_nothing,
    classifier,
    encoder_decoder,
    language_model,
    padded,
    some_ids,
)

from zoo.components.tokens import Tokens
from zoo.registry import Registry

TEXTS = [[3, 1, 4, 1, 5], [2, 6], [5, 3, 5]]


def in_turns(cases: Sequence[Any]) -> list[tuple[Any, str]]:
    """Each case with the side of its padding."""
    return list(zip(cases, itertools.cycle(["left", "right"]), strict=False))


@pytest.fixture
def papers(registry) -> Registry:
    return with_papers(registry)


@pytest.mark.parametrize(
    ("name", "side"),
    in_turns(["value-residual", "shared-keys", "short-conv", "score-residual", "grouped"]),
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
