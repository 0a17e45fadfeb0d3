"""Whole classifiers: what must hold whichever parts they are assembled from."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from references import assert_same, canonical, shake
from small_models import (
    ATTENTIONS,
    BLOCKS,
    ENCODINGS,
    Stubborn,
    cells_of,
    classifier,
    few_cells_of,
    padded,
)
from torch import Tensor, nn

from zoo.components.block.arrangements import Pre
from zoo.components.norm.layer import LayerNorm
from zoo.components.tokens import Tokens
from zoo.errors import ZooError
from zoo.models.architectures import Classifier
from zoo.models.seeding import derive, seeded
from zoo.registry import Owner, Register

AXES = {
    "attention": ATTENTIONS,
    "pe": ENCODINGS,
    "norm": ("layer", "layer-plain", "layer-std", "rms", "none"),
    "ffn": ("relu", "gelu", "gelu-tanh", "swiglu", "none"),
    "block": BLOCKS,
}

TEXTS = [[12, 3, 7, 9, 5], [17, 2], [8, 19, 8]]


@pytest.fixture
def assemble(registry) -> Callable[..., Classifier]:
    """A small classifier of the usual cell, except for the choices, sizes and options named."""
    return partial(classifier, registry)


def batch(side: str = "right", garbage: int = 0) -> tuple[Tensor, Tokens]:
    """Three texts of different lengths."""
    return padded(TEXTS, side, garbage)


@cells_of({**AXES, "pool": ("mean", "cls")})
def test_a_text_in_a_batch_gets_the_logits_that_it_gets_alone(assemble, cell):
    """Whatever the padding holds, wherever it is, and however much there is of it."""
    model = shake(assemble(**cell)).eval()
    with torch.no_grad():
        expected = torch.cat([model(torch.tensor([t]), Tokens.whole(len(t))) for t in TEXTS])
        ids, tokens = batch()
        shared = Tokens(tokens.attention_mask, torch.arange(5))
        wide = padded([*TEXTS, [1] * 9], "right", garbage=3)
        others = (batch(side, 7) for side in ("right", "left", "both"))
        for inputs in ((ids, tokens), (ids, shared), wide, *others):
            assert_same(model(*inputs)[:3], expected)


@few_cells_of({**AXES, "pool": ("mean", "cls")})
def test_an_empty_document_gives_finite_logits_and_changes_no_other(assemble, cell):
    model = shake(assemble(**cell)).train()
    ids, tokens = batch()
    attention_mask = tokens.attention_mask.clone()
    attention_mask[1] = False
    out = model(ids, Tokens(attention_mask, tokens.positions))
    gradients = torch.autograd.grad(out.square().sum(), list(model.parameters()), allow_unused=True)
    assert out.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)
    assert_same(out[[0, 2]], model(ids, tokens)[[0, 2]])


@few_cells_of(AXES, rounds=2)
def test_computing_only_cls_in_the_last_layer_equals_computing_every_position(assemble, cell):
    calls = []
    for every in (False, True):
        model = shake(assemble(**cell, pool="cls"))
        model.encoder.all_positions |= every
        out = model(*batch())
        calls.append((out, *torch.autograd.grad(out.square().sum(), list(model.parameters()))))
    for ours, theirs in zip(*calls, strict=True):
        assert_same(ours, theirs)


def test_the_last_layer_computes_one_position_for_cls_and_the_others_all(assemble):
    ids, tokens = batch()
    for pool, rows in (("cls", 1), ("mean", 5)):
        model, seen = assemble(pool=pool), []
        for block in model.encoder.blocks:
            block.ffn.register_forward_hook(lambda m, args, out, seen=seen: seen.append(out.shape))
        model(ids, tokens)
        assert [shape[1] for shape in seen] == [5, rows]


def parts(model: Classifier) -> dict[str, list[Tensor]]:
    """The initial weights by axis; attention's in their canonical form."""
    blocks = list(model.encoder.blocks)
    return {
        "embedding": [model.encoder.embedding.weight],
        "pe": list(model.encoder.position.parameters()),
        "attention": [weight for b in blocks for weight in canonical(b.attention).values()],
        "ffn": [weight for b in blocks if b.ffn is not None for weight in b.ffn.parameters()],
        "head": list(model.head.parameters()),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"attention": "naive"},
        {"attention": "torch", "pe": "learned"},
        {"attention": "single"},
        {"pe": "none"},
        {"norm": "rms"},
        {"ffn": "swiglu"},
        {"ffn": "none"},
        {"block": "post"},
        {"block": "bare"},
        {"pool": "cls"},
        {"heads": 4},
        {"dropout": 0.5},
    ],
    ids=str,
)
def test_exchanging_one_component_leaves_the_initial_weights_of_all_others(assemble, change):
    before, after = parts(assemble(head_hidden=6)), parts(assemble(head_hidden=6, **change))
    for axis in before:
        if axis in change and axis != "attention":
            assert len(before[axis]) != len(after[axis]) or change[axis] == "none"
            continue
        for ours, theirs in zip(before[axis], after[axis], strict=True):
            assert torch.equal(ours, theirs), axis


class Thrice(Pre):
    """A block with three feed-forward networks, of which it computes one."""

    def __init__(self, attention, ffn, norm, *, dropout=0.0, make_ffn):
        super().__init__(attention, ffn, norm, dropout=dropout)
        self.more = nn.ModuleList([make_ffn(), make_ffn()])


def test_each_network_of_a_block_has_weights_of_its_own_and_the_first_those_of_any_block(
    assemble, registry
):
    register = Register(Owner("elsewhere", "1"))
    register("block", "thrice", Thrice, summary="", capabilities=("residual",))
    registry.admit(register)
    block, usual = (assemble(block=name).encoder.blocks[0] for name in ("thrice", "pre"))
    first, *others = (next(ffn.parameters()) for ffn in (block.ffn, *block.more))
    assert torch.equal(first, next(usual.ffn.parameters()))
    assert not any(map(torch.equal, (first, first, others[0]), (*others, others[1])))


def test_layers_and_seeds_differ_and_one_seed_repeats(assemble):
    first, more, other = (parts(assemble(seed=s, layers=n)) for s, n in ((3, 2), (3, 3), (4, 2)))
    for axis in first:  # more layers leave the first ones as they were
        for ours, theirs in zip(first[axis], more[axis], strict=False):
            assert torch.equal(ours, theirs), axis
    for axis in ("embedding", "attention", "ffn", "head"):
        assert not torch.equal(first[axis][0], other[axis][0])
    assert not torch.equal(first["attention"][0], first["attention"][8])
    assert not torch.equal(first["ffn"][0], first["ffn"][4])


def test_every_part_has_a_seed_of_its_own_and_torchs_generator_goes_on(assemble):
    draws = set()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assemble(seed=1)
    for seed, part in ((0, "head"), (0, "embedding"), (1, "head"), (10, "head")):
        with seeded(seed, part):
            draws.add(float(torch.rand(())))
        assert 0 <= derive(seed, part) < 2**63
    assert len(draws) == 4
    assert torch.equal(torch.rand(3), expected)


def test_a_stack_ends_with_a_norm_where_nothing_else_normalises_its_sums(assemble):
    # 2 per block, and the final one
    for block, norms in (("pre", 5), ("post", 4), ("res-post", 5), ("bare", 4)):
        model = assemble(block=block)
        assert isinstance(model.encoder.final_norm, LayerNorm) == (norms == 5)
        assert sum(isinstance(m, LayerNorm) for m in model.modules()) == norms


@few_cells_of(AXES)
def test_dropout_acts_in_training_only(assemble, cell):
    dropping, still = assemble(**cell, dropout=0.3), assemble(**cell)
    expected = still.eval()(*batch())
    assert torch.equal(dropping.eval()(*batch()), expected)
    assert_same(still.train()(*batch()), expected, tolerance=1e-5)
    torch.manual_seed(0)
    first = dropping.train()(*batch())
    assert not torch.allclose(first, expected, atol=1e-4)
    assert not torch.allclose(first, dropping(*batch()), atol=1e-4)


def test_embeddings_begin_with_the_spread_asked_for_and_all_else_as_it_was(assemble):
    usual, small = assemble(dim=64, heads=4), assemble(dim=64, heads=4, embedding_std=0.05)
    ids = torch.arange(1, 20)[None]
    vectors = small.encoder.embedding(ids)
    # Of 1,216 draws: four standard errors of their spread are 0.004.
    assert vectors.std().item() == pytest.approx(0.05, abs=0.004)
    assert_same(vectors, 0.05 * usual.encoder.embedding(ids))
    others = dict(usual.named_parameters())
    for name, parameter in small.named_parameters():
        assert name == "encoder.embedding.weight" or torch.equal(parameter, others[name])


def test_the_head_is_one_linear_layer_unless_it_has_a_width_of_its_own(assemble):
    def shapes(model: Classifier) -> list[tuple[int, ...]]:
        return [tuple(p.shape) for p in model.head.parameters()]

    assert shapes(assemble()) == [(3, 8), (3,)]
    assert shapes(assemble(head_hidden=6)) == [(6, 8), (6,), (3, 6), (3,)]
    head = assemble(head_hidden=6).head.eval()
    w1, b1, w2, b2 = head.parameters()
    x = torch.linspace(-2, 2, 8)
    assert_same(head(x), w2 @ (w1 @ x + b1).clamp_min(0) + b2, tolerance=1e-6)


def test_an_attention_of_fixed_length_without_cross_is_built_and_called_as_it_can_be(
    assemble, registry
):
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
    assemble, registry, axis, expected
):
    register = Register(Owner("elsewhere", "1.5"))
    register(axis, "fake", lambda *args, **kwargs: "nothing", summary="")
    registry.admit(register)
    with pytest.raises(
        ZooError, match=rf"{axis} 'fake' of elsewhere 1.5 built a str, not a .*\.{expected}"
    ):
        assemble(**{axis: "fake"})
