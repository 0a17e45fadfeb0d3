"""Decoders: no token depends on later ones; neither padding nor a cache changes the output."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from references import assert_same, shake
from small_models import (
    ATTENTIONS,
    BLOCKS,
    CACHING,
    ENCODINGS,
    VOCABULARY,
    cells_of,
    classifier,
    encoder_decoder,
    language_model,
    padded,
    some_ids,
)
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.key_value_cache import KeyValues
from zoo.registry import Owner, Register, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import find_task

TEXTS = [[3, 1, 4, 1, 5, 9], [2, 6], [5, 3, 5, 8]]
SIDES = ("left", "right")


def test_the_lists_above_are_all_that_is_built_in(registry: Registry) -> None:
    causal = [c.name for c in registry.components("attention") if c.can("causal")]
    assert sorted(causal) == sorted([*CACHING, "torch"])
    assert {c.name for c in registry.components("attention") if c.can("cache")} == set(CACHING)
    assert registry.labels("pe") == list(ENCODINGS)


@cells_of({"attention": ATTENTIONS, "pe": ENCODINGS})
def test_no_token_depends_on_a_later_one_and_each_on_those_before(
    registry: Registry, cell: dict[str, str]
) -> None:
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


@cells_of({"attention": ATTENTIONS, "pe": ENCODINGS, "block": BLOCKS, "side": SIDES})
def test_padding_on_either_side_leaves_each_text_as_it_is_alone(
    registry: Registry, cell: dict[str, str]
) -> None:
    side = (cell := dict(cell)).pop("side")
    model = shake(language_model(registry, **cell)).eval()
    ids, tokens = padded(TEXTS, side)
    with torch.no_grad():
        out = model(ids, tokens)
        for row, text in enumerate(TEXTS):
            alone = model(torch.tensor([text]), Tokens.whole(len(text)))
            assert_same(out[row, tokens.attention_mask[row]], alone[0])


@cells_of({"attention": CACHING, "pe": ENCODINGS, "side": (*SIDES, "none")})
def test_step_by_step_with_a_cache_equals_all_at_once(
    registry: Registry, cell: dict[str, str]
) -> None:
    side = (cell := dict(cell)).pop("side")
    model = shake(language_model(registry, **cell)).eval()
    if side == "none":
        ids, tokens = some_ids(3, 10), Tokens.whole(10)
    else:
        ids, tokens = padded([[*text, 8, 2, 7, 1] for text in TEXTS], side)
    expected = model(ids, tokens)
    cache = model.decoder.new_cache()
    parts = [slice(0, 5), slice(5, 6), slice(6, 9), slice(9, 10)]
    stepwise = []
    for part in parts:
        assert cache.length == part.start
        stepwise.append(model(ids[:, part], tokens[part], cache=cache))
    real = torch.ones_like(ids, dtype=torch.bool) if side == "none" else tokens.attention_mask
    assert_same(torch.cat(stepwise, dim=1)[real], expected[real])


@pytest.mark.parametrize("block", ["pre", "post"])
@pytest.mark.parametrize("attention", CACHING)
def test_a_cache_serves_cross_attention_and_projects_the_memory_once(
    registry: Registry, attention: str, block: str
) -> None:
    model = shake(encoder_decoder(registry, attention=attention, block=block)).eval()
    source, source_tokens = padded(TEXTS, "right")
    target, tokens = some_ids(3, 6), Tokens.whole(6)
    memory = model.encoder(source, source_tokens)
    expected = model.decode(target, tokens, memory, source_tokens)
    widths = []
    model.decoder.blocks[0].cross.project.register_forward_pre_hook(
        lambda module, args: widths.append(args[1].shape[1])
    )
    cache = model.decoder.new_cache()
    for now in range(6):
        one = slice(now, now + 1)
        step = model.decode(target[:, one], tokens[one], memory, source_tokens, cache=cache)
        assert_same(step, expected[:, one])
    assert widths == [6, 0, 0, 0, 0, 0]


def test_a_cache_of_selected_texts_continues_those(registry: Registry) -> None:
    model = shake(encoder_decoder(registry)).eval()
    source, source_tokens = padded(TEXTS, "left")
    target = some_ids(3, 4)
    memory = model.encoder(source, source_tokens)
    cache = model.decoder.new_cache()
    model.decode(target[:, :3], Tokens.whole(3), memory, source_tokens, cache=cache)
    rows = torch.tensor([2, 0, 0, 1])
    cache.select(rows)
    last, where = target[rows][:, 3:], Tokens(None, torch.tensor([3]))
    memory_tokens = Tokens(source_tokens.attention_mask[rows], source_tokens.positions[rows])
    step = model.decode(last, where, memory[rows], memory_tokens, cache=cache)
    whole = model.decode(target, Tokens.whole(4), memory, source_tokens)
    assert_same(step[:, 0], whole[rows, 3])


def test_a_cache_joins_texts_with_and_without_padding() -> None:
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


@cells_of({"attention": ATTENTIONS, "pe": ENCODINGS, "side": SIDES})
def test_neither_padding_of_the_source_nor_of_the_target_changes_a_translation(
    registry: Registry, cell: dict[str, str]
) -> None:
    side = (cell := dict(cell)).pop("side")
    model = shake(encoder_decoder(registry, **cell)).eval()
    targets = [[1, 2, 3], [4, 5, 6, 7], [8]]
    with torch.no_grad():
        batched = model(*padded(TEXTS, side), *padded(targets, side))
        _, tokens = padded(targets, side)
        for row, (source, target) in enumerate(zip(TEXTS, targets, strict=True)):
            alone = model(
                torch.tensor([source]),
                Tokens.whole(len(source)),
                torch.tensor([target]),
                Tokens.whole(len(target)),
            )
            assert_same(batched[row, tokens.attention_mask[row]], alone[0])


def test_queries_come_from_the_decoder_keys_and_values_from_the_encoder(
    registry: Registry,
) -> None:
    model = shake(encoder_decoder(registry)).eval()
    source, target = some_ids(1, 5), some_ids(1, 3, seed=1)
    block = model.decoder.blocks[0]
    seen: list[tuple[Tensor, Tensor]] = []
    block.cross.project.register_forward_pre_hook(lambda module, args: seen.append(args))
    memory = model.encoder(source, Tokens.whole(5))
    out = model(source, Tokens.whole(5), target, Tokens.whole(3))
    ((queries, keys),) = seen
    assert queries.shape == (1, 3, 8)
    assert torch.equal(keys, memory)
    assert out.shape == (1, 3, VOCABULARY)
    # Every target token sees the whole source, its end too, and the future of the target none.
    other = model(source.flip(1), Tokens.whole(5), target, Tokens.whole(3))
    assert (other - out).abs().amax(dim=(0, 2)).min() > 1e-6


def test_a_decoder_with_cross_attention_asks_for_its_memory(registry: Registry) -> None:
    model = encoder_decoder(registry)
    with pytest.raises(ValueError, match="cross-attention needs a memory"):
        model.decoder(some_ids(1, 3), Tokens.whole(3))


def test_an_attention_without_a_cache_says_so(registry: Registry) -> None:
    with pytest.raises(ValueError, match="keeps no cache"):
        language_model(registry, attention="torch", pe="sin").decoder.new_cache()


@pytest.mark.parametrize("rows", [slice(0, 1), slice(-1, None), slice(2, 4)])
def test_the_last_layer_computes_the_rows_that_are_read(registry: Registry, rows: slice) -> None:
    decoder = shake(language_model(registry)).eval().decoder
    ids, tokens = padded(TEXTS, "left")
    assert_same(decoder(ids, tokens, read=rows), decoder(ids, tokens)[:, rows])


def test_a_language_model_starts_with_the_weights_of_the_classifier_of_its_cell(
    registry: Registry,
) -> None:
    model = language_model(registry, pe="learned", seed=4)
    other = classifier(registry, pe="learned", pool="cls", seed=4).encoder
    ours, theirs = model.decoder.state_dict(), other.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_token_embeddings_score_the_tokens(registry: Registry) -> None:
    ids, tokens = some_ids(1, 4), Tokens.whole(4)
    model = language_model(registry)
    x = model.decoder(ids, tokens)
    assert_same(model(ids, tokens), x @ model.decoder.embedding.weight.T, tolerance=1e-6)


def test_encoder_and_decoder_are_seeded_separately(registry: Registry) -> None:
    model = encoder_decoder(registry)
    weights = [
        part.project.qkv.weight
        for part in (
            model.encoder.blocks[0].attention,
            model.decoder.blocks[0].attention,
            model.decoder.blocks[0].cross,
        )
    ]
    for one, other in itertools.combinations(weights, 2):
        assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("task", "names", "reason"),
    [
        ("lm", {}, ""),
        ("seq2seq", {}, ""),
        ("lm", {"attention": "onward"}, ""),
        ("lm", {"block": "closed"}, ""),
        ("classify", {"attention": "blurred", "block": "closed"}, ""),
        (
            "lm",
            {"attention": "blurred"},
            "blurred does not declare 'causal', which the task needs",
        ),
        (
            "seq2seq",
            {"attention": "blurred"},
            "blurred does not declare 'causal', which the task needs",
        ),
        (
            "seq2seq",
            {"attention": "onward"},
            "onward does not declare 'cross', which the task needs",
        ),
        ("seq2seq", {"block": "closed"}, "closed does not declare 'cross', which the task needs"),
        (
            "lm",
            {"attention": "torch"},
            "torch cannot rotate queries and keys, which rope needs",
        ),
    ],
)
def test_why_a_cell_does_not_fit_a_task_is_known_before_it_is_built(
    registry: Registry, task: str, names: dict[str, str], reason: str
) -> None:
    register = Register(Owner("elsewhere", "1"))
    common = ("rotate", "bias", "padding")
    register("attention", "blurred", object, summary="", capabilities=(*common, "cross"))
    register("attention", "onward", object, summary="", capabilities=(*common, "causal"))
    register("block", "closed", object, summary="")
    registry.admit(register)
    usual = {"attention": "fused", "pe": "rope", "norm": "layer", "ffn": "relu"}
    cell = Cell.parse(registry, usual | {"block": "pre", "pool": "mean"} | names)
    obstacle = cell.refusal(Sizes(dim=8, heads=2), find_task(registry, task).needs)
    assert obstacle.startswith(reason)
    assert bool(obstacle) == bool(reason)


@pytest.mark.parametrize("build", [language_model, encoder_decoder])
def test_every_built_in_cell_without_an_obstacle_learns(
    registry: Registry, build: Callable[..., torch.nn.Module]
) -> None:
    for axis in ("norm", "ffn", "block"):
        for name in registry.labels(axis):
            model = build(registry, **{axis: name})
            ids, tokens = padded(TEXTS, "right")
            inputs = (ids, tokens) if build is language_model else (ids, tokens, ids, tokens)
            loss = model(*inputs)[tokens.attention_mask].logsumexp(dim=-1).mean()
            gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
            assert all(g is not None and g.isfinite().all() for g in gradients), (axis, name)
