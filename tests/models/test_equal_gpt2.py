"""GPT-2, of the same weights, computes and writes the same."""

import math

import pytest
import torch
from references import assert_same, shake
from small_models import language_model, load_norm, padded, write

from zoo.components.attention.projections import CanonicalWeights
from zoo.models.architectures import LanguageModel
from zoo.registry import Registry

transformers = pytest.importorskip("transformers", reason="compares with transformers")

TEXTS = [[1, 2, 3, 4, 5, 6], [7, 8], [9, 10, 11, 12]]


@pytest.fixture(scope="module")
def gpt2() -> torch.nn.Module:
    """A small one, every weight drawn at random and none of them initial."""
    config = transformers.GPT2Config(
        vocab_size=20,
        n_embd=16,
        n_layer=2,
        n_head=4,
        n_inner=24,
        n_positions=32,
        attn_implementation="eager",
        bos_token_id=None,
        eos_token_id=None,
    )
    model = transformers.GPT2LMHeadModel(config)
    return shake(model).eval()


def our_gpt2(registry: Registry, gpt2: torch.nn.Module, attention: str) -> LanguageModel:
    """Our decoder with GPT-2's weights, its head tied to the embeddings as theirs is.

    GPT-2 does not scale its embeddings, ours do: the weights are smaller by as much, and the
    last norm larger, so that the head sees the same.
    """
    model = language_model(
        registry,
        attention=attention,
        pe="learned",
        ffn="gelu-tanh",
        dim=16,
        heads=4,
        ffn_dim=24,
        max_length=32,
    )
    model.double().eval()
    decoder, theirs, scale = model.decoder, gpt2.transformer, math.sqrt(16)
    with torch.no_grad():
        decoder.embedding.weight.copy_(theirs.wte.weight / scale)
        decoder.position.table.weight.copy_(theirs.wpe.weight)
        for block, layer in zip(decoder.blocks, theirs.h, strict=True):
            # GPT-2 keeps its matrices the other way round: x W.
            qkv, out = layer.attn.c_attn, layer.attn.c_proj
            block.attention.load_canonical(
                CanonicalWeights(qkv.weight.T, qkv.bias, out.weight.T, out.bias)
            )
            load_norm(block.attention_norm, layer.ln_1)
            for ours, own in (
                (block.ffn.inner, layer.mlp.c_fc),
                (block.ffn.outer, layer.mlp.c_proj),
            ):
                ours.weight.copy_(own.weight.T)
                ours.bias.copy_(own.bias)
            load_norm(block.ffn_norm, layer.ln_2)
        load_norm(decoder.final_norm, theirs.ln_f, scale)
    return model


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "fused", "torch"])
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_the_decoder_is_gpt2(registry, gpt2, attention, side):
    model = our_gpt2(registry, gpt2, attention)
    ids, tokens = padded(TEXTS, side)
    theirs = gpt2(
        ids, attention_mask=tokens.attention_mask.long(), position_ids=tokens.positions
    ).logits
    real = tokens.attention_mask
    assert_same(model(ids, tokens)[real], theirs[real], tolerance=1e-5)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"no_repeat": 2}, {"no_repeat_ngram_size": 2}),
        ({"no_repeat": 3}, {"no_repeat_ngram_size": 3}),
        ({"beams": 4}, {"num_beams": 4}),
        ({"beams": 3, "no_repeat": 2}, {"num_beams": 3, "no_repeat_ngram_size": 2}),
    ],
    ids=str,
)
@torch.no_grad()
def test_it_writes_what_gpt2_writes(registry, gpt2, ours, theirs):
    model = our_gpt2(registry, gpt2, "fused")
    ids, tokens = padded(TEXTS, "left")
    expected = gpt2.generate(
        ids,
        attention_mask=tokens.attention_mask.long(),
        max_new_tokens=10,
        do_sample=False,
        pad_token_id=0,
        **theirs,
    )[:, ids.shape[1] :]
    for cache in (True, False):
        written = write(model, ids, tokens.attention_mask, max_new=10, cache=cache, **ours)
        assert [text.ids for text in written] == expected.tolist()
