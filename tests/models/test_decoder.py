"""Decoders: no token depends on later ones; neither padding nor a cache changes the output."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from references import assert_same, shake
from small_models import (
    ATTENTIONS,
    BLOCKS,
    CACHING,
    ENCODINGS,
    VOCABULARY,
    classifier,
    encoder_decoder,
    few_cells_of,
    language_model,
    padded,
    some_ids,
)
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues

TEXTS = [[3, 1, 4, 1, 5, 9], [2, 6], [5, 3, 5, 8]]
SIDES = ("left", "right")


def test_the_lists_above_are_all_that_is_built_in(registry):
    causal = [c.name for c in registry.components("attention") if c.can("causal")]
    assert sorted(causal) == sorted([*CACHING, "torch"])
    assert {c.name for c in registry.components("attention") if c.can("cache")} == set(CACHING)
    assert set(registry.labels("pe")) == set(ENCODINGS)


@few_cells_of({"attention": ATTENTIONS, "pe": ENCODINGS}, rounds=2)
def test_no_token_depends_on_a_later_one_and_each_on_those_before(registry, cell):
    model = shake(language_model(registry, **cell)).eval()
    ids, tokens = some_ids(2, 7), Tokens.whole(7)
    out = model(ids, tokens)
    assert out.shape == (2, 7, VOCABULARY)
    for now in range(7):
        assert_same(model(ids[:, : now + 1], Tokens.whole(now + 1)), out[:, : now + 1])
        changed = ids.clone()
        changed[:, now] = ids[:, now] % (VOCABULARY - 1) + 1  # another one, and not 0
        again = model(changed, tokens)
        assert_same(again[:, :now], out[:, :now])
        assert (again - out)[:, now:].abs().amax(dim=(0, 2)).min() > 1e-6


def in_steps(
    step: Callable[[Tensor, Tokens, Any], Tensor], ids: Tensor, tokens: Tokens, cache: Any
) -> Tensor:
    """The logits of a text that comes in four parts."""
    out, last = [], ids.shape[1]
    for part in (slice(0, last - 5), slice(last - 5, last - 4), slice(last - 4, last - 1)):
        assert cache.length == part.start
        out.append(step(ids[:, part], tokens[part], cache))
    return torch.cat([*out, step(ids[:, -1:], tokens[last - 1 : last], cache)], dim=1)


@few_cells_of({"attention": ATTENTIONS, "pe": ENCODINGS, "block": BLOCKS, "side": SIDES}, rounds=2)
def test_neither_padding_nor_a_cache_changes_a_text(registry, cell):
    side = (cell := dict(cell)).pop("side")
    model = shake(language_model(registry, **cell)).eval()
    texts = [[*text, 8, 2, 7, 1] for text in TEXTS]
    ids, tokens = padded(texts, side)
    out = model(ids, tokens)
    for row, text in enumerate(texts):
        alone = model(torch.tensor([text]), Tokens.whole(len(text)))
        assert_same(out[row, tokens.attention_mask[row]], alone[0])
    if cell["attention"] in CACHING:
        for inputs in ((ids, tokens), (ids, Tokens.whole(10))):
            real = inputs[1].attention_mask
            real = torch.ones_like(ids, dtype=torch.bool) if real is None else real
            cache = model.decoder.new_cache()
            stepwise = in_steps(lambda i, t, c: model(i, t, cache=c), *inputs, cache)
            assert_same(stepwise[real], model(*inputs)[real])


@few_cells_of(
    {"attention": ATTENTIONS, "pe": ENCODINGS, "block": ("pre", "post"), "side": SIDES}, rounds=2
)
def test_neither_padding_nor_a_cache_changes_a_translation(registry, cell):
    side = (cell := dict(cell)).pop("side")
    model = shake(encoder_decoder(registry, **cell)).eval()
    texts = [[1, 2, 3, 9, 1, 4], [4, 5, 6, 7, 2, 5, 2], [8, 1, 1, 3]]
    source, (target, tokens) = padded(TEXTS, side), padded(texts, side)
    out = model(*source, target, tokens)
    for row, pair in enumerate(zip(TEXTS, texts, strict=True)):
        alone = [(torch.tensor([text]), Tokens.whole(len(text))) for text in pair]
        assert_same(out[row, tokens.attention_mask[row]], model(*alone[0], *alone[1])[0])
    if cell["attention"] in CACHING:
        memory, widths = model.encoder(*source), []
        model.decoder.blocks[0].cross.project.register_forward_pre_hook(
            lambda module, args: widths.append(args[1].shape[1])
        )
        stepwise = in_steps(
            lambda i, t, c: model.logits(model.decoder(i, t, memory, source[1], cache=c)),
            *(target, tokens, model.decoder.new_cache()),
        )
        assert_same(stepwise[tokens.attention_mask], out[tokens.attention_mask])
        assert widths == [6, 0, 0, 0]  # the memory is projected once


def test_a_cache_of_selected_texts_continues_those(registry):
    model = shake(encoder_decoder(registry)).eval()
    source, source_tokens = padded(TEXTS, "left")
    target = some_ids(3, 4)
    memory = model.encoder(source, source_tokens)
    decoder, cache = model.decoder, model.decoder.new_cache()
    decoder(target[:, :3], Tokens.whole(3), memory, source_tokens, cache=cache)
    rows = torch.tensor([2, 0, 0, 1])
    cache.select(rows)
    last, where = target[rows][:, 3:], Tokens(None, torch.tensor([3]))
    memory_tokens = Tokens(source_tokens.attention_mask[rows], source_tokens.positions[rows])
    step = decoder(last, where, memory[rows], memory_tokens, cache=cache)
    whole = decoder(target, Tokens.whole(4), memory, source_tokens)
    assert_same(step[:, 0], whole[rows, 3])


def test_a_cache_joins_texts_with_and_without_padding():
    def part(length: int, start: int) -> Tensor:
        return (
            torch.arange(start, start + length, dtype=torch.float).expand(2, 1, length).mT[:, None]
        )

    some = torch.tensor([[True, False], [True, True]])
    store = KeyValues()
    store.extend(part(1, 0), part(1, 0), Tokens.whole(1))
    store.extend(part(2, 1), part(2, 1), Tokens(some, torch.tensor([[1, 0], [1, 2]])))
    k, v, tokens = store.extend(part(1, 3), part(1, 3), Tokens(None, torch.tensor([3])))
    assert k[0, 0, :, 0].tolist() == v[1, 0, :, 0].tolist() == [0, 1, 2, 3]
    assert tokens.attention_mask is not None
    assert tokens.attention_mask.tolist() == [[True, True, False, True], [True] * 4]
    assert tokens.positions.tolist() == [[0, 1, 0, 3], [0, 1, 2, 3]]


def test_a_language_model_starts_with_the_weights_of_the_classifier_of_its_cell(registry):
    model = language_model(registry, pe="learned", seed=4)
    other = classifier(registry, pe="learned", pool="cls", seed=4).encoder
    ours, theirs = model.decoder.state_dict(), other.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_encoder_and_decoder_are_seeded_separately(registry):
    model = encoder_decoder(registry)
    weights = [
        part.project.qkv.weight
        for part in (
            model.encoder.blocks[0].attention,
            model.decoder.blocks[0].attention,
            model.decoder.blocks[0].cross,
        )
    ]
    for weight, other in itertools.combinations(weights, 2):
        assert not torch.equal(weight, other)
