"""What must hold of every peer, however it is built."""

import warnings

import pytest
import torch
from peer_helpers import CLASSES, SIZES, VOCAB_SIZE, WAYS, batch, build
from torch import nn
from zoo_peers.encoders import HfBert, TorchEncoder, XEncoder

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes

LENGTHS = [9, 1, 4]
every_way = pytest.mark.parametrize("way", WAYS)
with_and_without_gradients = pytest.mark.parametrize("gradients", [True, False])


@every_way
def test_the_encoder_is_the_librarys(way):
    import transformers
    import x_transformers

    peer = build(way)
    library = {
        "torch": nn.TransformerEncoder,
        "x": x_transformers.Encoder,
        "bert": transformers.BertModel,
    }
    assert type(peer.encoder) is library[way.partition("-")[0]]


def test_attention_is_the_kernel_asked_for(monkeypatch):
    ids, tokens = batch(LENGTHS)
    calls = []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def counted(*args, **kwargs):
        calls.append(args[0].shape)
        return kernel(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)
    for way, expected in [("torch", 2), ("x", 2), ("bert", 2), ("bert-eager", 0)]:
        calls.clear()
        build(way)(ids, tokens)
        assert len(calls) == expected, way


@every_way
@with_and_without_gradients
def test_padding_does_not_change_the_logits(way, gradients):
    peer = build(way)
    ids, tokens = batch(LENGTHS)
    with torch.set_grad_enabled(gradients):
        expected = peer(ids, tokens)
        longer, more = batch(LENGTHS, more=5, seed=2)
        longer = torch.where(more.attention_mask, torch.cat([ids, longer[:, 9:]], dim=1), longer)
        torch.testing.assert_close(peer(longer, more), expected)
        for text, n in enumerate(LENGTHS):
            alone = peer(ids[text : text + 1, :n], Tokens.whole(n))
            torch.testing.assert_close(alone[0], expected[text])


@every_way
@with_and_without_gradients
def test_a_text_of_padding_only_gives_finite_logits_and_changes_no_other(way, gradients):
    peer = build(way)
    ids, tokens = batch([9, 0, 4])
    with torch.set_grad_enabled(gradients):
        out = peer(ids, tokens)
        others = peer(ids[[0, 2]], Tokens(tokens.attention_mask[[0, 2]], tokens.positions))
    assert out.isfinite().all()
    torch.testing.assert_close(out[[0, 2]], others)


@every_way
def test_the_order_of_tokens_counts(way):
    peer = build(way)
    ids, _ = batch([9])
    assert not torch.allclose(peer(ids, Tokens.whole(9)), peer(ids.flip(1), Tokens.whole(9)))


@every_way
def test_positions_are_those_that_are_given(way):
    peer = build(way)
    ids, _ = batch([9, 9])
    straight = Tokens.whole(9)
    backwards = straight.positions.flip(0)
    per_text = Tokens(None, torch.stack([straight.positions, backwards]))
    out = peer(ids, per_text)
    torch.testing.assert_close(out[:1], peer(ids[:1], straight))
    torch.testing.assert_close(out[1:], peer(ids[1:], Tokens(None, backwards)))
    assert not torch.allclose(out[1:], peer(ids[1:], straight))


@every_way
def test_every_parameter_learns(way):
    peer = build(way).train()
    ids, tokens = batch(LENGTHS)
    peer(ids, tokens).square().sum().backward()
    assert [n for n, p in peer.named_parameters() if p.grad is None or not p.grad.any()] == []


@every_way
def test_it_learns_which_words_a_text_holds(way):
    peer = build(way).train()
    ids, tokens = batch([9, 4, 1, 6, 9, 7])
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    optimizer = torch.optim.AdamW(peer.parameters(), lr=1e-2)
    for _ in range(40):
        loss = nn.functional.cross_entropy(peer(ids, tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    peer.eval()
    with torch.inference_mode():
        assert peer(ids, tokens).argmax(dim=1).tolist() == labels.tolist()


@every_way
def test_dropout_acts_in_training_alone_and_before_anything_else(way):
    ids, tokens = batch(LENGTHS)
    quiet, dropping = build(way), build(way, dropout=0.5)
    torch.testing.assert_close(dropping(ids, tokens), quiet(ids, tokens))
    dropping.train()
    assert not torch.allclose(dropping(ids, tokens), dropping(ids, tokens))
    quiet.train()
    torch.testing.assert_close(quiet(ids, tokens), quiet(ids, tokens), rtol=0, atol=0)


@pytest.mark.parametrize("way", ["torch", "x", "bert"])
def test_attention_dropout_is_an_option_of_its_own(way):
    ids, tokens = batch(LENGTHS)
    peer = build(way, attention_dropout=0.5).train()
    assert not torch.allclose(peer(ids, tokens), peer(ids, tokens))
    rates = {m.p for m in peer.modules() if isinstance(m, nn.Dropout)}
    rates |= {m.dropout for m in peer.modules() if isinstance(m, nn.MultiheadAttention)}
    assert rates <= {0.0, 0.5}
    peer = build(way, dropout=0.25)
    attention = [m.dropout for m in peer.modules() if isinstance(m, nn.MultiheadAttention)]
    assert not any(attention)


def sizes_of(dim, hidden):
    return Sizes(dim=dim, layers=3, heads=4, ffn_dim=hidden, max_length=32)


def parameters(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("dim", "hidden", "head"), [(16, 64, 0), (24, 100, 10), (52, 107, 0)])
def test_it_has_as_many_parameters_as_the_formula(dim, hidden, head):
    sizes = sizes_of(dim, hidden)
    how = {"vocab_size": VOCAB_SIZE, "classes": CLASSES, "sizes": sizes, "head_hidden": head}
    words, positions = VOCAB_SIZE * dim, 32 * dim
    top = (dim * head + head + head * CLASSES if head else dim * CLASSES) + CLASSES
    ffn = 2 * dim * hidden + hidden + dim
    layer = 4 * dim * dim + 4 * dim + ffn + 4 * dim  # with all biases and two norms
    assert parameters(TorchEncoder(**how)) == words + 3 * layer + top
    learned = TorchEncoder(**how, positions="learned", norm_first=True)
    assert parameters(learned) == words + positions + 3 * layer + 2 * dim + top
    bare = 4 * dim * dim + ffn + 2 * dim  # no biases in attention, norms without shift
    if dim // 4 % 2 == 0:
        assert parameters(XEncoder(**how)) == words + 3 * bare + dim + top
    absolute = XEncoder(**how, positions="absolute")
    assert parameters(absolute) == words + positions + 3 * bare + dim + top
    front = words + positions + 2 * dim + 2 * dim  # two types, and a norm
    assert parameters(HfBert(**how)) == front + 3 * layer + top


def test_torchs_layers_start_from_weights_of_their_own():
    torch.manual_seed(0)
    peer = TorchEncoder(vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES)
    one, two = (layer.linear1.weight for layer in peer.encoder.layers)
    assert not torch.allclose(one, two)


def test_torch_leaves_padding_out_where_it_can(monkeypatch):
    """The fast path is taken, gives (B, L, D), and never where gradients are wanted."""
    made = []
    to_nested = torch._nested_tensor_from_mask
    monkeypatch.setattr(
        torch, "_nested_tensor_from_mask", lambda *a, **k: made.append(1) or to_nested(*a, **k)
    )
    ids, tokens = batch(LENGTHS, more=3)
    peer = build("torch")
    with torch.inference_mode():
        assert peer.encode(ids, tokens).shape == (3, 12, SIZES.dim)
    assert made == [1]
    peer(ids, tokens)
    assert made == [1]
    with torch.inference_mode():
        build("torch-norm-first")(ids, tokens)
        build("torch-masked")(ids, tokens)
    assert made == [1]
    assert torch.backends.mha.get_fastpath_enabled()


def test_building_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for heads, dim in ((2, 12), (3, 12)):
            for way in WAYS:
                build(way, sizes=SIZES.model_copy(update={"heads": heads, "dim": dim}))


@every_way
@with_and_without_gradients
def test_autocast_to_bfloat16_stays_near(way, gradients):
    peer = build(way)
    ids, tokens = batch(LENGTHS)
    expected = peer(ids, tokens).detach()
    with torch.set_grad_enabled(gradients), torch.autocast("cpu", torch.bfloat16):
        out = peer.float()(ids, tokens)
    assert float((out.detach() - expected).norm() / expected.norm()) < 0.05


@pytest.mark.parametrize(
    ("way", "options", "says"),
    [
        ("torch", {"sizes": SIZES.model_copy(update={"heads": 5})}, "does not divide into 5 heads"),
        ("torch-learned", {"attention_dropout": 0.0, "pool": "max"}, "one of mean, cls, not 'max'"),
        ("x", {"sizes": SIZES.model_copy(update={"heads": 6})}, "even width from 4, not 2"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(way, options, says):
    with pytest.raises(ValueError, match=says):
        build(way, **options)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        (TorchEncoder, {"positions": "rotary"}, "one of sinusoidal, learned, not 'rotary'"),
        (TorchEncoder, {"activation": "tanh"}, "one of relu, gelu, not 'tanh'"),
        (XEncoder, {"positions": "learned"}, "one of rotary, absolute, not 'learned'"),
        (HfBert, {"attn_implementation": "flash_attention_2"}, "flash_attention_2"),
        (HfBert, {"attn_implementation": "fast"}, "fast"),
    ],
)
def test_values_that_are_not_known_are_refused(kind, options, says):
    with pytest.raises(ValueError, match=says):
        kind(vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=SIZES, **options)
