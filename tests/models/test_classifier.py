"""Whole classifiers: what must hold whichever parts they are assembled from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from references import assert_same, canonical, shake, sinusoid
from small_models import ATTENTIONS, BLOCKS, ENCODINGS, cells_of, copy_block, copy_norm
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.norm.layer import LayerNorm
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.models.architectures import Classifier
from zoo.models.build import build_classifier
from zoo.models.seeding import derive, seeded
from zoo.registry import Owner, Register, Registry
from zoo.registry.cell import Cell

Assemble = Callable[..., Classifier]

MULTI_HEAD = ("naive", "split", "packed", "fused", "torch")
AXES = {
    "attention": ATTENTIONS,
    "pe": ENCODINGS,
    "norm": ("layer", "layer-plain", "layer-std", "rms", "none"),
    "ffn": ("relu", "gelu", "gelu-tanh", "swiglu", "none"),
    "block": BLOCKS,
}
EVERY_CELL = cells_of({**AXES, "pool": ("mean", "cls")})

LENGTHS = (5, 2, 3)


def batch(width: int = 5, garbage: int = 0) -> tuple[Tensor, Tokens]:
    """Three texts of different lengths, padded to a width with any token."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.full((3, width), garbage)
    attention_mask = torch.zeros(3, width, dtype=torch.bool)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(1, 20, (length,), generator=generator)
        attention_mask[row, :length] = True
    return ids, Tokens(attention_mask, torch.arange(width))


@EVERY_CELL
def test_neither_the_content_nor_the_length_of_padding_changes_the_logits(
    assemble: Assemble, cell: dict[str, str]
) -> None:
    model = shake(assemble(**cell)).eval()
    with torch.no_grad():
        expected = model(*batch())
        assert_same(model(*batch(garbage=7)), expected)
        assert_same(model(*batch(width=9, garbage=3)), expected)


@EVERY_CELL
def test_a_document_alone_gets_the_logits_it_gets_in_a_batch(
    assemble: Assemble, cell: dict[str, str]
) -> None:
    model = shake(assemble(**cell)).eval()
    ids, tokens = batch(garbage=7)
    with torch.no_grad():
        batched = model(ids, tokens)
        for row, length in enumerate(LENGTHS):
            alone = model(ids[row : row + 1, :length], Tokens.whole(length))
            assert_same(batched[row : row + 1], alone)


@EVERY_CELL
def test_an_empty_document_gives_finite_logits_and_changes_no_other(
    assemble: Assemble, cell: dict[str, str]
) -> None:
    model = shake(assemble(**cell)).train()
    ids, tokens = batch()
    attention_mask = tokens.attention_mask.clone()
    attention_mask[1] = False
    out = model(ids, Tokens(attention_mask, tokens.positions))
    gradients = torch.autograd.grad(out.square().sum(), list(model.parameters()), allow_unused=True)
    assert out.isfinite().all()
    assert all(one.isfinite().all() for one in gradients if one is not None)
    assert_same(out[[0, 2]], model(ids, tokens)[[0, 2]])


@EVERY_CELL
def test_positions_per_text_equal_shared_positions(
    assemble: Assemble, cell: dict[str, str]
) -> None:
    model = shake(assemble(**cell)).eval()
    ids, tokens = batch()
    with torch.no_grad():
        each = model(ids, Tokens(tokens.attention_mask, tokens.positions.repeat(3, 1)))
        assert_same(each, model(ids, tokens))


@cells_of(AXES)
def test_computing_only_cls_in_the_last_layer_equals_computing_every_position(
    assemble: Assemble, cell: dict[str, str]
) -> None:
    short, full = (
        shake(assemble(**cell, pool="cls", all_positions=all_positions))
        for all_positions in (False, True)
    )
    calls = []
    ids, tokens = batch()
    for model in (short, full):
        out = model(ids, tokens)
        calls.append((out, torch.autograd.grad(out.square().sum(), list(model.parameters()))))
    assert_same(calls[0][0], calls[1][0])
    for ours, theirs in zip(calls[0][1], calls[1][1], strict=True):
        assert_same(ours, theirs)


def test_the_last_layer_computes_one_position_for_cls_and_the_others_all(
    assemble: Assemble,
) -> None:
    ids, tokens = batch()
    for pool, all_positions, rows in (("cls", False, 1), ("cls", True, 5), ("mean", False, 5)):
        model, seen = assemble(pool=pool, all_positions=all_positions), []
        for block in model.encoder.blocks:
            block.ffn.register_forward_hook(lambda m, args, out, seen=seen: seen.append(out.shape))
        model(ids, tokens)
        assert [shape[1] for shape in seen] == [5, rows]


def test_positions_of_left_padded_texts_are_counted_from_where_the_text_starts(
    assemble: Assemble,
) -> None:
    ids, tokens = batch()
    left, attention_mask = torch.zeros_like(ids), torch.zeros_like(tokens.attention_mask)
    positions = torch.zeros(3, 5, dtype=torch.long)
    for row, length in enumerate(LENGTHS):
        left[row, -length:], attention_mask[row, -length:] = ids[row, :length], True
        positions[row, -length:] = torch.arange(length)
    for pe in ENCODINGS:
        model = shake(assemble(pe=pe)).eval()
        assert_same(model(left, Tokens(attention_mask, positions)), model(ids, tokens))


@pytest.mark.parametrize("pe", ENCODINGS)
def test_all_exact_attentions_give_one_model_for_one_seed(
    assemble: Assemble, registry: Registry, pe: str
) -> None:
    for heads, exact in ((2, MULTI_HEAD), (1, ATTENTIONS)):
        outcomes = []
        for attention in exact:
            if registry.get("pe", pe).can("rotate") and attention == "torch":
                continue
            model = assemble(attention=attention, pe=pe, heads=heads).double()
            out = model(*batch())
            shared = [p for n, p in model.named_parameters() if ".attention." not in n]
            outcomes.append((out, *torch.autograd.grad(out.square().sum(), shared)))
        assert len(outcomes) >= len(exact) - 1
        for outcome in outcomes[1:]:
            for ours, theirs in zip(outcome, outcomes[0], strict=True):
                assert_same(ours, theirs, tolerance=1e-11)


def parts(model: Classifier) -> dict[str, list[Tensor]]:
    """The initial weights by axis; attention's in their canonical form."""
    blocks = list(model.encoder.blocks)
    return {
        "embedding": [model.encoder.embedding.weight],
        "pe": list(model.encoder.position.parameters()),
        "attention": [one for b in blocks for one in canonical(b.attention).values()],
        "ffn": [one for b in blocks if b.ffn is not None for one in b.ffn.parameters()],
        "head": list(model.head.parameters()),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"attention": "naive"},
        {"attention": "torch", "pe": "learned"},
        {"attention": "single"},
        {"pe": "learned"},
        {"pe": "none"},
        {"norm": "rms"},
        {"norm": "none"},
        {"ffn": "swiglu"},
        {"ffn": "none"},
        {"block": "post"},
        {"block": "res-post"},
        {"block": "bare"},
        {"pool": "cls"},
        {"heads": 4},
        {"dropout": 0.5},
    ],
    ids=str,
)
def test_exchanging_one_component_leaves_the_initial_weights_of_all_others(
    assemble: Assemble, change: dict[str, Any]
) -> None:
    before, after = parts(assemble(head_hidden=6)), parts(assemble(head_hidden=6, **change))
    for axis in before:
        if axis in change and axis != "attention":
            assert len(before[axis]) != len(after[axis]) or change[axis] == "none"
            continue
        for ours, theirs in zip(before[axis], after[axis], strict=True):
            assert torch.equal(ours, theirs), axis


def test_more_layers_leave_the_first_ones_as_they_were(assemble: Assemble) -> None:
    two, three = parts(assemble(layers=2)), parts(assemble(layers=3))
    for axis in two:
        for ours, theirs in zip(two[axis], three[axis], strict=False):
            assert torch.equal(ours, theirs), axis


def test_layers_and_seeds_differ_and_one_seed_repeats(assemble: Assemble) -> None:
    first, again, other = (parts(assemble(seed=seed)) for seed in (3, 3, 4))
    for axis in ("embedding", "attention", "ffn", "head"):
        assert torch.equal(first[axis][0], again[axis][0])
        assert not torch.equal(first[axis][0], other[axis][0])
    assert not torch.equal(first["attention"][0], first["attention"][8])
    assert not torch.equal(first["ffn"][0], first["ffn"][4])


def test_assembling_leaves_torchs_own_generator_as_it_was(assemble: Assemble) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assemble(seed=1)
    assert torch.equal(torch.rand(3), expected)


def test_every_part_has_a_seed_of_its_own() -> None:
    draws = set()
    for seed, part in ((0, "head"), (0, "embedding"), (1, "head"), (10, "head")):
        torch.manual_seed(99)
        with seeded(seed, part):
            draws.add(float(torch.rand(())))
        assert 0 <= derive(seed, part) < 2**63
    assert len(draws) == 4


@pytest.mark.parametrize("attention", MULTI_HEAD)
@pytest.mark.parametrize("pe", ["none", "sin"])
def test_the_tutorials_configuration_has_89605_parameters(
    registry: Registry, attention: str, pe: str
) -> None:
    cell = Cell.parse(
        registry,
        {
            "attention": attention,
            "pe": pe,
            "norm": "none",
            "ffn": "none",
            "block": "bare",
            "pool": "cls",
        },
    )
    sizes = Sizes(dim=64, layers=1, heads=8, vocab_size=1000)
    model = build_classifier(cell, sizes, vocab_size=1000, classes=5, seed=0, head_hidden=128)
    assert sum(p.numel() for p in model.parameters()) == 89_605


@pytest.mark.parametrize(("pe", "activation"), [("none", "relu"), ("sin", "gelu")])
@pytest.mark.parametrize("block", ["pre", "post"])
def test_the_encoder_is_torchs_transformer_encoder_of_the_same_weights(
    assemble: Assemble, block: str, activation: str, pe: str
) -> None:
    encoder = shake(assemble(block=block, ffn=activation, pe=pe)).encoder
    layer = nn.TransformerEncoderLayer(
        8, 2, 12, 0.0, activation, batch_first=True, norm_first=block == "pre"
    )
    final_norm = nn.LayerNorm(8) if block == "pre" else None
    own = nn.TransformerEncoder(layer, 2, final_norm, enable_nested_tensor=False).double()
    for theirs, ours in zip(own.layers, encoder.blocks, strict=True):
        copy_block(ours, theirs)
    if block == "pre":
        copy_norm(encoder.final_norm, own.norm)
    ids, tokens = batch()
    x = encoder.embedding(ids)
    if pe == "sin":
        x = x + torch.stack([sinusoid(position, 8) for position in range(5)])
    expected = own(x, src_key_padding_mask=~tokens.attention_mask)
    out, leaves = encoder(ids, tokens), [encoder.embedding.weight]
    # The encoding's frequencies are float32 numbers.
    tolerance = 1e-5 if pe == "sin" else 1e-10
    assert_same(out[tokens.attention_mask], expected[tokens.attention_mask], leaves, tolerance)


def test_a_stack_ends_with_a_norm_where_nothing_else_normalises_its_sums(
    assemble: Assemble,
) -> None:
    for block in ("pre", "res-post"):
        assert isinstance(assemble(block=block).encoder.final_norm, LayerNorm)
    assert assemble(block="post").encoder.final_norm is None
    assert assemble(block="bare").encoder.final_norm is None
    # 2 per block, and the final one
    for block, norms in (("pre", 5), ("post", 4), ("res-post", 5), ("bare", 4)):
        assert sum(isinstance(m, LayerNorm) for m in assemble(block=block).modules()) == norms


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_bag_of_tokens_has_no_order_and_encodings_that_say_so_give_it_one(
    assemble: Assemble, registry: Registry, attention: str
) -> None:
    ids = torch.tensor([[4, 9, 2, 7, 5]])
    shuffled, tokens = ids[:, [2, 0, 4, 1, 3]], Tokens.whole(5)
    for pe in ENCODINGS:
        if (attention, pe) == ("torch", "rope"):
            continue
        model = shake(assemble(attention=attention, pe=pe)).eval()
        same = torch.allclose(model(ids, tokens), model(shuffled, tokens), rtol=0, atol=1e-10)
        assert same != registry.get("pe", pe).can("order"), pe


def test_symmetric_alibi_reads_a_text_backwards_as_forwards(assemble: Assemble) -> None:
    ids, tokens = torch.tensor([[4, 9, 2, 7, 5]]), Tokens.whole(5)
    for pe, same in (("alibi", True), ("rope", False), ("sin", False)):
        model = shake(assemble(pe=pe)).eval()
        assert torch.allclose(model(ids, tokens), model(ids.flip(1), tokens), atol=1e-10) == same


@cells_of(AXES)
def test_dropout_acts_in_training_only(assemble: Assemble, cell: dict[str, str]) -> None:
    dropping, still = assemble(**cell, dropout=0.3), assemble(**cell)
    expected = still.eval()(*batch())
    assert torch.equal(dropping.eval()(*batch()), expected)
    assert_same(still.train()(*batch()), expected, tolerance=1e-5)
    torch.manual_seed(0)
    first = dropping.train()(*batch())
    assert not torch.allclose(first, expected, atol=1e-3)
    assert not torch.allclose(first, dropping(*batch()), atol=1e-3)


def test_embeddings_begin_with_the_spread_asked_for_and_all_else_as_it_was(
    assemble: Assemble,
) -> None:
    usual, small = assemble(dim=64, heads=4), assemble(dim=64, heads=4, embedding_std=0.05)
    ids = torch.arange(1, 20)[None]
    vectors = small.encoder.embedding(ids)
    # Of 1,216 draws: four standard errors of their spread are 0.004.
    assert vectors.std().item() == pytest.approx(0.05, abs=0.004)
    assert_same(vectors, 0.05 * usual.encoder.embedding(ids))
    others = dict(usual.named_parameters())
    for name, parameter in small.named_parameters():
        assert name == "encoder.embedding.weight" or torch.equal(parameter, others[name])


def test_the_head_is_one_linear_layer_unless_it_has_a_width_of_its_own(assemble: Assemble) -> None:
    def shapes(model: Classifier) -> list[tuple[int, ...]]:
        return [tuple(p.shape) for p in model.head.parameters()]

    assert shapes(assemble()) == [(3, 8), (3,)]
    assert shapes(assemble(head_hidden=6)) == [(6, 8), (6,), (3, 6), (3,)]
    head = assemble(head_hidden=6).head.eval()
    w1, b1, w2, b2 = head.parameters()
    x = torch.linspace(-2, 2, 8)
    assert_same(head(x), w2 @ (w1 @ x + b1).clamp_min(0) + b2, tolerance=1e-6)


class Stubborn(Split):
    """An attention of a fixed length that cannot take a context other than x."""

    def __init__(self, dim: int, heads: int, *, dropout: float, max_length: int) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.max_length = max_length

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if layer.context is not None:
            raise RuntimeError("no context but x")
        return super().forward(x, layer)


def test_an_attention_of_fixed_length_without_cross_is_built_and_called_as_it_can_be(
    assemble: Assemble, registry: Registry
) -> None:
    register = Register(Owner("elsewhere", "1"))
    register(
        "attention",
        "stubborn",
        Stubborn,
        summary="",
        capabilities=("rotate", "bias", "padding", "exact", "fixed-length"),
    )
    registry.admit(register)
    model = assemble(attention="stubborn", pool="cls")
    assert model.encoder.blocks[0].attention.max_length == 16
    assert_same(model(*batch()), assemble(pool="cls")(*batch()), tolerance=1e-5)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("attention", "Attention"),
        ("pe", "PositionalEncoding"),
        ("norm", "Module"),
        ("ffn", "Module"),
        ("block", "Block"),
        ("pool", "Pool"),
    ],
)
def test_a_component_that_is_not_what_its_kind_promises_is_refused_by_name(
    assemble: Assemble, registry: Registry, axis: str, expected: str
) -> None:
    register = Register(Owner("elsewhere", "1.5"))
    register(axis, "fake", lambda *args, **kwargs: "nothing", summary="")
    registry.admit(register)
    with pytest.raises(
        ZooError, match=rf"{axis} 'fake' of elsewhere 1.5 built a str, not a .*\.{expected}"
    ):
        assemble(**{axis: "fake"})


def test_parameters_given_by_name_reach_the_component(assemble: Assemble) -> None:
    model = assemble(norm="rms(eps=0.5)", pe="learned(std=3.0)", ffn="swiglu(matched=False)")
    assert model.encoder.final_norm.eps == 0.5
    assert model.encoder.position.table.weight.std() > 2
    assert model.encoder.blocks[0].ffn.outer.weight.shape == (8, 12)
