"""Blocks equal the layers of ``transformers`` that arrange the same sub-layers and norms."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from block_helpers import (
    DIM,
    HEADS,
    LENGTH,
    WithLayer,
    Wrapped,
    assert_same,
    build,
    context,
    randoms,
    registry,
    with_memory,
)
from torch import Tensor, nn

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

SMALL = {"hidden_size": DIM, "num_attention_heads": HEADS, "intermediate_size": 12}


def test_sandwich_is_gemma_2s_layer() -> None:
    pytest.importorskip("transformers")
    from transformers.models.gemma2.modeling_gemma2 import Gemma2Config, Gemma2DecoderLayer

    block, x, layer_context = build("sandwich"), randoms(2, LENGTH, DIM), context()
    layer = Gemma2DecoderLayer(Gemma2Config(**SMALL, num_key_value_heads=1, head_dim=4), 0)
    layer.self_attn, layer.mlp = Wrapped(block, layer_context), WithLayer(block.ffn, layer_context)
    layer.input_layernorm = block.attention_norm.before
    layer.post_attention_layernorm = block.attention_norm.after
    layer.pre_feedforward_layernorm = block.ffn_norm.before
    layer.post_feedforward_layernorm = block.ffn_norm.after
    assert_same(block(x, layer_context), layer(x), [x, *block.parameters()])


def test_parallel_is_gpt_neoxs_layer() -> None:
    pytest.importorskip("transformers")
    from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXConfig, GPTNeoXLayer

    block, x, layer_context = build("parallel"), randoms(2, LENGTH, DIM), context()
    layer = GPTNeoXLayer(GPTNeoXConfig(**SMALL, use_parallel_residual=True), 0).eval()
    layer.attention, layer.mlp = Wrapped(block, layer_context), WithLayer(block.ffn, layer_context)
    layer.attention.forward = lambda h, **unused: Wrapped.forward(layer.attention, h)
    layer.input_layernorm = block.attention_norm
    layer.post_attention_layernorm = block.ffn_norm
    assert_same(block(x, layer_context), layer(x), [x, *block.parameters()])


def test_parallel_with_one_norm_is_gpt_js_layer() -> None:
    pytest.importorskip("transformers")
    from transformers.models.gptj.modeling_gptj import GPTJBlock, GPTJConfig

    config = GPTJConfig(n_embd=DIM, n_head=HEADS, rotary_dim=2, attn_implementation="eager")
    block, layer_context = build("parallel(shared_norm=True)"), context()
    x = randoms(2, LENGTH, DIM)
    layer = GPTJBlock(config).eval()
    layer.attn, layer.mlp, layer.ln_1 = (
        Wrapped(block, layer_context),
        WithLayer(block.ffn, layer_context),
        block.shared_norm,
    )
    assert_same(block(x, layer_context), layer(x)[0], [x, *block.parameters()])


def test_layer_scale_is_dinov2s_layer() -> None:
    pytest.importorskip("transformers")
    from transformers.models.dinov2.modeling_dinov2 import Dinov2Config, Dinov2Layer

    block, x, layer_context = build("layer-scale"), randoms(2, LENGTH, DIM), context()
    layer = Dinov2Layer(Dinov2Config(hidden_size=DIM, num_attention_heads=HEADS)).eval()
    layer.attention, layer.mlp = Wrapped(block, layer_context), WithLayer(block.ffn, layer_context)
    layer.norm1, layer.norm2 = block.attention_norm.norm, block.ffn_norm.norm
    layer.layer_scale1.lambda1 = block.attention_norm.factors
    layer.layer_scale2.lambda1 = block.ffn_norm.factors
    assert_same(block(x, layer_context), layer(x), [x, *block.parameters()])


def test_drop_path_in_training_leaves_out_what_dinov2s_layer_does() -> None:
    pytest.importorskip("transformers")
    from transformers.models.dinov2.modeling_dinov2 import Dinov2Config, Dinov2Layer

    # In float32, whose random numbers theirs are as well.
    block, layer_context = (
        build("drop-path(rate=0.4)").float(),
        context(tokens=Tokens.whole(LENGTH)),
    )
    config = Dinov2Config(hidden_size=DIM, num_attention_heads=HEADS, drop_path_rate=0.4)
    layer, x = Dinov2Layer(config), randoms(64, LENGTH, DIM).float()
    layer.attention, layer.mlp = Wrapped(block, layer_context), WithLayer(block.ffn, layer_context)
    layer.norm1, layer.norm2 = block.attention_norm, block.ffn_norm
    layer.layer_scale1 = layer.layer_scale2 = nn.Identity()
    outputs = []
    for part in (lambda: block.train()(x, layer_context), lambda: layer.train()(x)):
        torch.manual_seed(3)
        outputs.append(part())
    assert_same(*outputs, block.parameters(), tolerance=1e-5)


def test_macaron_is_a_conformers_layer_without_convolution_and_last_norm() -> None:
    pytest.importorskip("transformers")
    from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
        Wav2Vec2ConformerConfig,
        Wav2Vec2ConformerEncoderLayer,
    )

    block, x, layer_context = build("macaron"), randoms(2, LENGTH, DIM), context()
    config = Wav2Vec2ConformerConfig(**SMALL, conv_depthwise_kernel_size=3)
    layer = Wav2Vec2ConformerEncoderLayer(config).eval()
    layer.ffn1 = WithLayer(block.first_ffn, layer_context)
    layer.ffn2 = WithLayer(block.ffn, layer_context)
    layer.ffn1_layer_norm, layer.ffn2_layer_norm = block.first_norm, block.ffn_norm
    layer.self_attn, layer.self_attn_layer_norm = (
        Wrapped(block, layer_context),
        block.attention_norm,
    )
    layer.conv_module.forward = torch.zeros_like
    layer.final_layer_norm = nn.Identity()
    assert_same(block(x, layer_context), layer(x), [x, *block.parameters()])


def test_rezero_is_the_papers_sum() -> None:
    block, x, layer_context = build("rezero"), randoms(2, LENGTH, DIM), context()
    h = x + block.alpha * Wrapped(block, layer_context)(x)[0]
    expected = h + block.alpha * block.ffn(h, layer_context)
    assert_same(block(x, layer_context), expected, [x, *block.parameters()])
    new = build("rezero", shaken=False)
    assert torch.equal(new(x, layer_context), x), "a new one adds nothing"


Step = Callable[[Tensor, Callable[[Tensor], Tensor], nn.Module], Tensor]
STEPS: dict[str, Step] = {
    "sandwich": lambda x, f, norm: x + norm.after(f(norm.before(x))),
    "layer-scale": lambda x, f, norm: x + norm.factors * f(norm.norm(x)),
    "deepnorm": lambda x, f, norm: norm(x * 3**0.25 + f(x)),
    "macaron": lambda x, f, norm: x + f(norm(x)),
}


@pytest.mark.parametrize("name", [*STEPS, "parallel", "rezero"])
def test_cross_attention_is_one_more_sublayer(name: str) -> None:
    block, x, layer_context = build(name, cross=True), randoms(2, LENGTH, DIM), with_memory()

    def attend(h: Tensor) -> Tensor:
        position = layer_context.position
        return block.attention(h, LayerContext(layer_context.tokens, position, causal=True))

    def cross(h: Tensor) -> Tensor:
        memory, tokens = layer_context.memory, layer_context.memory_tokens
        position = layer_context.position
        return block.cross(
            h, LayerContext(layer_context.tokens, position, context=memory, context_tokens=tokens)
        )

    attention_norm, cross_norm, ffn_norm = block.attention_norm, block.cross_norm, block.ffn_norm
    if name == "parallel":
        expected = (
            x
            + attend(attention_norm(x))
            + cross(cross_norm(x))
            + block.ffn(ffn_norm(x), layer_context)
        )
    elif name == "rezero":
        expected = x + block.alpha * attend(x)
        expected = expected + block.alpha * cross(expected)
        expected = expected + block.alpha * block.ffn(expected, layer_context)
    else:
        step, half = STEPS[name], 0.5 if name == "macaron" else 1.0
        expected = x
        if name == "macaron":
            expected = x + 0.5 * block.first_ffn(block.first_norm(x), layer_context)
        expected = step(expected, attend, attention_norm)
        expected = step(expected, cross, cross_norm)
        expected = step(expected, lambda h: half * block.ffn(h, layer_context), ffn_norm)
    assert layer_context.memory is not None
    assert_same(block(x, layer_context), expected, [x, layer_context.memory, *block.parameters()])


@pytest.mark.parametrize(("layers", "initial"), [(2, 0.1), (18, 0.1), (24, 1e-5), (36, 1e-6)])
def test_layer_scale_starts_smaller_in_deeper_stacks(layers: int, initial: float) -> None:
    block = build("layer-scale", shaken=False, layer_count=layers)
    for norm in (block.attention_norm, block.ffn_norm):
        torch.testing.assert_close(norm.factors.double(), torch.full((DIM,), initial).double())
    chosen = build("layer-scale(initial=0.5)", shaken=False, layer_count=layers)
    assert chosen.ffn_norm.factors.eq(0.5).all()


@pytest.mark.parametrize("name", ["sandwich", "parallel", "layer-scale", "macaron"])
def test_the_sum_is_normed_after_the_stack(name: str) -> None:
    assert registry().get("block", name).resolve().final_norm
