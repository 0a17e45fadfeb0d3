"""Models of Transformers with an attention of the zoo equal their eager selves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import zoo_hf
from torch import Tensor
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
)

import zoo

LENGTH = 12


@pytest.fixture(autouse=True)
def _built_ins_alone():
    """Neither what is installed nor the plug-in of another test."""
    zoo_hf.use_plugins()


def bert(attention: str, **changes: Any) -> PreTrainedModel:
    settings = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": LENGTH,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.5,
        "num_labels": 3,
    }
    config = BertConfig(**{**settings, **changes}, attn_implementation=attention)
    torch.manual_seed(0)
    return BertForSequenceClassification(config)


def modernbert(attention: str, **changes: Any) -> PreTrainedModel:
    """Layers 0 and 3 attend to the whole text, the others to 2 tokens on each side."""
    settings = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": LENGTH,
        "local_attention": 4,
        "global_attn_every_n_layers": 3,
        "pad_token_id": 0,
        "initializer_range": 0.5,
    }
    config = ModernBertConfig(**{**settings, **changes}, attn_implementation=attention)
    torch.manual_seed(0)
    return ModernBertForMaskedLM(config)


def llama(attention: str, **changes: Any) -> PreTrainedModel:
    """A causal model in which two queries share a key."""
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
        attn_implementation=attention,
        **changes,
    )
    torch.manual_seed(0)
    return LlamaForCausalLM(config)


def batch() -> dict[str, Tensor]:
    """Three texts of 12, 9 and 2 tokens."""
    generator = torch.Generator().manual_seed(1)
    mask = (torch.arange(LENGTH) < torch.tensor([[12], [9], [2]])).long()
    return {
        "input_ids": torch.randint(1, 50, (3, LENGTH), generator=generator) * mask,
        "attention_mask": mask,
    }


def real(output: Tensor, mask: Tensor) -> Tensor:
    """The outputs that are compared: of texts, or of real tokens; those of padding are free."""
    return output if output.dim() == 2 else output[mask.bool()]


def compared(ours: PreTrainedModel, eager: PreTrainedModel, given: dict[str, Tensor]) -> None:
    """Outputs, and gradients of the weights, are equal but for rounding."""
    assert ours.config._attn_implementation.startswith("zoo_")
    assert eager.config._attn_implementation == "eager"
    eager.load_state_dict(ours.state_dict())
    mask = given.get("attention_mask", torch.ones_like(given["input_ids"]))
    found, wanted = (real(model.eval()(**given).logits, mask) for model in (ours, eager))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    weights = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(2))
    for output in (found, wanted):
        (output * weights).sum().backward()
    for (name, one), other in zip(ours.named_parameters(), eager.parameters(), strict=True):
        if other.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.parametrize("make", [bert, modernbert, llama])
@pytest.mark.parametrize("attention", ["naive", "split", "packed", "fused"])
def test_a_model_with_an_attention_of_the_zoo_equals_its_eager_self(attention: str, make: Any):
    compared(make(f"zoo_{attention}"), make("eager"), batch())
    unpadded = {"input_ids": batch()["input_ids"][:1]}
    compared(make(f"zoo_{attention}"), make("eager"), unpadded)


def test_padding_and_windows_count():
    """The comparison above would fail if masks were lost."""
    given = batch()
    model = modernbert("zoo_fused").eval()
    mask = given["attention_mask"]
    padded = real(model(**given).logits, mask)
    longer = {"input_ids": given["input_ids"], "attention_mask": torch.ones_like(mask)}
    assert not torch.allclose(padded, real(model(**longer).logits, mask), atol=1e-3)
    wide = modernbert("zoo_fused", local_attention=2 * LENGTH).eval()
    assert not torch.allclose(padded, real(wide(**given).logits, mask), atol=1e-3)


def test_another_scale_of_the_scores_is_kept():
    model, eager = bert("zoo_split"), bert("eager")
    for each in (model, eager):
        for layer in each.bert.encoder.layer:
            layer.attention.self.scaling = 0.9
    compared(model, eager, batch())
    changed = eager(**batch()).logits
    assert not torch.allclose(changed, bert("eager").eval()(**batch()).logits, atol=1e-4)


@pytest.mark.parametrize("kind", ["bool", "added"])
def test_a_mask_of_the_callers_own_is_taken(kind: str):
    allowed = torch.rand(3, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(3)) < 0.5
    allowed |= torch.eye(LENGTH, dtype=torch.bool)
    added = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)
    ids = batch()["input_ids"]
    model, eager = bert("zoo_fused").eval(), bert("eager").eval()
    found = model(ids, attention_mask=allowed if kind == "bool" else added).logits
    torch.testing.assert_close(found, eager(ids, attention_mask=added).logits, rtol=1e-4, atol=1e-5)


def test_dropout_of_attention_is_the_models():
    model = bert("zoo_naive", attention_probs_dropout_prob=0.5).train()
    torch.manual_seed(0)
    one, other = model(**batch()).logits, model(**batch()).logits
    assert not torch.equal(one, other)
    model.eval()
    assert torch.equal(model(**batch()).logits, model(**batch()).logits)


def test_building_it_leaves_the_random_numbers_as_they_were():
    model = bert("zoo_packed", num_attention_heads=1, hidden_size=14).eval()
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    model(**batch())
    assert torch.equal(torch.rand(3), wanted)


def test_a_name_is_offered_or_refused_where_a_model_is_made():
    single = (
        r"attention 'single' cannot .* a single head, .*; these can: .*zoo_fused.*offer_all\(\)"
    )
    with pytest.raises(zoo.ZooError, match=single):
        bert("zoo_single")
    with pytest.raises(zoo.ZooError, match="no attention 'fusd'; did you mean 'fused'"):
        bert("zoo_fusd")
    with pytest.raises(ValueError, match='attn_implementation="none"` is not supported'):
        bert("none")
    model = bert("eager")
    with pytest.raises(zoo.ZooError, match=single):
        model.set_attn_implementation("zoo_single")


def test_every_offer_has_an_attention_and_a_mask_and_every_other_a_reason():
    for offered in zoo_hf.offer_all():
        assert bool(offered.implementation) != bool(offered.reason), offered
        if offered.implementation:
            assert offered.implementation in AttentionInterface()
            assert offered.implementation in AttentionMaskInterface()
    reasons = {o.attention: o.reason for o in zoo_hf.offer_all() if o.reason}
    assert reasons.keys() == {"single", "torch"}
    assert "single head" in reasons["single"]
    assert "no ProjectedAttention" in reasons["torch"]


PLUGIN = '''
"""Attentions that are offered, and some that must not be."""

import torch
from torch import nn

from zoo import hookimpl
from zoo.components.attention.base import MultiHead, ProjectedAttention
from zoo.components.attention.projections import PackedProjection
from zoo.components.attention.base import softmax_attend


class Own(MultiHead):
    """softmax(QK^T / sqrt(d)) V in a plug-in's own words."""

    projection = PackedProjection

    def __init__(self, dim, heads, *, dropout=0.0, power=1.0):
        super().__init__(dim, heads, dropout=dropout)
        self.power = power

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1) ** self.power
        return weights / weights.sum(dim=-1, keepdim=True) @ v


class Normed(Own):
    def adjust(self, q, k, v, layer):
        return nn.functional.normalize(q, dim=-1), k, v


class Doubled(Own):
    def output(self, heads, x, layer):
        return 2 * super().output(heads, x, layer)


class Weighted(Own):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.share = nn.Parameter(torch.ones(heads))


class Turned(ProjectedAttention):
    """Turns keys after a feature map, so that a rotation before it is another thing."""

    projection = PackedProjection

    def rotate(self, q, k, layer):
        return super().rotate(q.exp(), k.exp(), layer)

    def mix(self, q, k, v, layer):
        mask = layer.keys.attention_mask
        return softmax_attend(q, k, v, None if mask is None else mask[:, None, None], None)


class Means(ProjectedAttention):
    """The mean of the real values: it can have no mask but padding."""

    projection = PackedProjection

    def mix(self, q, k, v, layer):
        mask = layer.keys.attention_mask
        real = torch.ones_like(v[..., :1]) if mask is None else mask[:, None, :, None].to(v)
        return ((v * real).sum(dim=2, keepdim=True) / real.sum(dim=2, keepdim=True)).expand_as(q)


class Numbered(Own):
    def __init__(self, dim, heads, *, dropout=0.0, layer_index=0):
        super().__init__(dim, heads, dropout=dropout)


class Shared(Own):
    """Adds the queries of the first layer, which the first layer itself does not."""

    def adjust(self, q, k, v, layer):
        return q if layer.index == 0 else q + layer.shared.setdefault("q", q), k, v


class Broken(Own):
    def attend(self, q, k, v, mask, bias):
        raise KeyError("nothing")


@hookimpl
def zoo_register(register):
    for name, kind, capabilities in (
        ("normed", Normed, ("rotate", "bias", "padding")),
        ("doubled", Doubled, ("bias", "padding")),
        ("weighted", Weighted, ("bias", "padding")),
        ("turned", Turned, ("rotate", "padding")),
        ("means", Means, ("padding",)),
        ("broken", Broken, ("padding",)),
        ("numbered", Numbered, ("bias", "padding")),
        ("shared", Shared, ("bias", "padding")),
        ("deaf", Own, ("bias",)),
        ("biasless", Own, ("padding",)),
        ("flash-own", Own, ("bias", "padding")),
    ):
        register("attention", name, kind, summary=name, capabilities=capabilities)
    register("attention", "own", Own, summary="own", capabilities=("rotate", "bias", "padding"),
             parameters={"power": 1.0})
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "several.py"
    file.write_text(PLUGIN)
    return file


def test_an_attention_of_a_plug_in_is_offered_as_well(plugin: Path):
    offered = {o.attention: o for o in zoo_hf.use_plugins(plugin)}
    assert offered["own"] == zoo_hf.OfferedAttention("own", "zoo_own", any_mask=True)
    for make in (bert, modernbert):
        compared(make("zoo_own"), make("eager"), batch())
    name = zoo_hf.offer("own(power=3.0)")
    assert name == "zoo_own(power=3.0)"
    sharper, plain = (bert(one).eval()(**batch()).logits for one in (name, "eager"))
    assert not torch.allclose(sharper, plain, atol=1e-3)


def test_what_is_more_than_its_mixing_is_not_offered(plugin: Path):
    reasons = {o.attention: o.reason for o in zoo_hf.use_plugins(plugin) if o.reason}
    assert reasons.keys() - {"single", "torch"} == {
        *("normed", "doubled", "weighted", "turned", "numbered", "shared", "broken", "deaf"),
        "flash-own",
    }
    for name in ("normed", "doubled", "turned"):
        assert "does more than its 'mix'" in reasons[name]
    assert "weights or tables of its own, such as 'share'" in reasons["weighted"]
    for name in ("numbered", "shared"):
        assert reasons[name] == "it differs from layer to layer"
    assert reasons["deaf"] == "it does not declare 'padding'"
    assert "KeyError: 'nothing'" in reasons["broken"]
    assert "another meaning for 'flash'" in reasons["flash-own"]
    with pytest.raises(zoo.ZooError, match="attention 'doubled' cannot be used in Transformers: "):
        zoo_hf.offer("doubled")
    bert("zoo_own(power=2.5)")  # with parameters, as a model asks for it
    assert "zoo_own(power=2.5)" in AttentionInterface()


def test_an_attention_with_padding_alone_serves_models_with_padding_alone(plugin: Path):
    offered = {o.attention: o for o in zoo_hf.use_plugins(plugin)}
    assert offered["means"].implementation == "zoo_means"
    assert not offered["means"].any_mask
    given = batch()
    model = bert("zoo_means").eval()
    alone = {name: value[1:2, :9] for name, value in given.items()}
    torch.testing.assert_close(model(**given).logits[1:2], model(**alone).logits)
    for make in (modernbert, llama):
        with pytest.raises(zoo.ZooError, match="'means' takes no mask but padding, and this model"):
            make("zoo_means")(**given)
    mask = torch.ones(3, 1, LENGTH, LENGTH, dtype=torch.bool)
    with pytest.raises(zoo.ZooError, match=r"'means' takes no mask but padding: \(B, Lk\)"):
        model(given["input_ids"], attention_mask=mask)
    with pytest.raises(zoo.ZooError, match="'biasless' adds nothing to its scores"):
        bert("zoo_biasless")(given["input_ids"], attention_mask=mask.float())


def test_scores_that_are_not_products_alone_are_refused():
    function = AttentionInterface()["zoo_fused"]
    q = torch.randn(1, 2, 3, 8)
    with pytest.raises(zoo.ZooError, match="'fused' does not support 'softcap'"):
        function(torch.nn.Identity(), q, q, q, None, softcap=30.0)


@pytest.mark.parametrize("attention", ["naive", "fused"])
def test_a_models_bias_and_scale_are_added_and_taken(attention: str):
    """As T5's: relative positions are a bias of the scores, which are not divided by √Dh."""
    generator = torch.Generator().manual_seed(4)
    q, k, v = (torch.randn(2, 2, 5, 8, generator=generator) for _ in range(3))
    bias = torch.randn(1, 2, 5, 5, generator=generator)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    function = AttentionInterface()[f"zoo_{attention}"]
    module = torch.nn.Identity().eval()
    found, weights = function(module, q, k, v, real, scaling=1.0, position_bias=bias)
    scores = (q @ k.transpose(-2, -1) + bias).masked_fill(~real[:, None, None], -torch.inf)
    wanted = (scores.softmax(dim=-1) @ v).transpose(1, 2)
    torch.testing.assert_close(found, wanted)
    assert weights is None
