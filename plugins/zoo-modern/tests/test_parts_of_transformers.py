"""Parts that the library ``transformers`` has as well, with copied weights."""

import math

import pytest
import torch
from part_comparison import HEADS, SIZES, agree, build, randoms
from zoo_modern.ffn.geglu import GEGLU
from zoo_modern.ffn.glu import GLU
from zoo_modern.ffn.moe import Experts
from zoo_modern.ffn.reglu import ReGLU
from zoo_modern.pe.rope_partial import PartialRotary
from zoo_modern.pe.t5 import T5
from zoo_modern.pe.yarn import Yarn

from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import NoPositions
from zoo.components.tokens import Tokens

transformers = pytest.importorskip("transformers")
modeling_rope_utils = pytest.importorskip("transformers.modeling_rope_utils")
modeling_gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
modeling_mixtral = pytest.importorskip("transformers.models.mixtral.modeling_mixtral")
modeling_t5 = pytest.importorskip("transformers.models.t5.modeling_t5")

DIM, HIDDEN = 6, 12


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_is_that_of_transformers(bidirectional):
    config = modeling_t5.T5Config(d_model=12, d_kv=6, num_heads=HEADS, is_decoder=not bidirectional)
    theirs = modeling_t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    position = T5(**SIZES, bidirectional=bidirectional)
    with torch.no_grad():
        theirs.relative_attention_bias.weight.copy_(position.table)
    whole = torch.arange(300)
    out, expected = position.bias(whole, whole), theirs.compute_bias(300, 300)[0]
    torch.testing.assert_close(out, expected, rtol=0, atol=0)
    weights = torch.randn(out.shape)
    (out * weights).sum().backward()
    (expected * weights).sum().backward()
    gradient = theirs.relative_attention_bias.weight.grad
    torch.testing.assert_close(position.table.grad, gradient, rtol=1e-5, atol=1e-4)


def test_partial_rope_is_that_of_gpt_j():
    position = PartialRotary(**{**SIZES, "head_dim": 16}, share=0.5)
    x = torch.randn(2, HEADS, 40, 16)
    sin, cos = modeling_gptj.create_sinusoidal_positions(40, 8).chunk(2, dim=-1)
    by_token = x.transpose(1, 2)  # GPT-J has (B, L, H, Dh)
    rotated = modeling_gptj.apply_rotary_pos_emb(by_token[..., :8], sin[None], cos[None])
    expected = torch.cat([rotated, by_token[..., 8:]], dim=-1).transpose(1, 2)
    torch.testing.assert_close(position.rotate(x, torch.arange(40)), expected)


def test_yarn_is_that_of_transformers_outside_of_the_ramp():
    parameters = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 8.0}
    parameters["original_max_position_embeddings"] = 256
    config = transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=1, rope_parameters=parameters
    )
    theirs, scale = modeling_rope_utils.ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))
    position = Yarn(**{**SIZES, "head_dim": 64}, factor=8.0, length=256)
    thetas = [10000 ** (-i / 32) for i in range(32)]
    turns = [256 * theta / (2 * math.pi) for theta in thetas]
    ends = torch.tensor([n for n, r in enumerate(turns) if r < 0.8 or r > 40])
    assert 0 < len(ends) < 32
    torch.testing.assert_close(position.angles.frequencies[ends], theirs[ends])
    assert position.scale == pytest.approx(scale)


@pytest.mark.parametrize(("kind", "name"), [(GEGLU, "gelu"), (ReGLU, "relu"), (GLU, "sigmoid")])
def test_a_gated_one_is_that_of_transformers(kind, name):
    config = modeling_t5.T5Config(
        d_model=DIM, d_ff=8, dropout_rate=0.0, feed_forward_proj="gated-relu"
    )
    config.dense_act_fn = name
    theirs, ffn = modeling_t5.T5DenseGatedActDense(config).double(), build(kind, DIM, HIDDEN)
    pairs = {"wi_0": ffn.gate, "wi_1": ffn.value, "wo": ffn.outer}
    theirs.load_state_dict({f"{n}.weight": p.weight.detach() for n, p in pairs.items()})
    x = randoms(2, 3, DIM)
    agree(ffn(x, LayerContext(Tokens.whole(3))), theirs(x), [x])


def test_the_balancing_loss_is_that_of_transformers():
    moe, losses = build(Experts, DIM, HIDDEN).train(), []
    x, mask = randoms(3, 5, DIM), torch.arange(5) < torch.tensor([5, 2, 1])[:, None]
    position = NoPositions(dim=DIM, heads=1, head_dim=DIM, max_length=5)
    moe(x, LayerContext(Tokens(mask, torch.arange(5)), position, losses=losses))
    logits = (moe.router(x).flatten(0, 1),)
    expected = modeling_mixtral.load_balancing_loss_func(logits, 4, 1, mask)
    torch.testing.assert_close(losses[0].value.float(), expected, rtol=1e-5, atol=1e-5)
