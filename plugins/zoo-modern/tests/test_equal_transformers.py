"""Mixers with copied weights, equal to the same parts of Hugging Face's transformers."""

from __future__ import annotations

import pytest
import torch
from mixers_helpers import DIM, HEADS, build, encoding, near
from zoo_modern.attention.gated_deltanet import GatedDeltaNet
from zoo_modern.attention.latent import Latent
from zoo_modern.attention.mamba2 import Mamba2
from zoo_modern.attention.short_conv import ShortConvolution
from zoo_modern.attention.sink import Sink

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

pytest.importorskip("transformers", minversion="5.0")

LENGTH = 70  # more than one chunk
TOLERANCE = 1e-5  # theirs compute in float32 inside


def compare(ours, theirs, call, *, tolerance=TOLERANCE, pe="none"):
    """Outputs, and the gradients of the input, in float32; padding is at the end of one text."""
    ours = ours.float()
    torch.manual_seed(1)
    x = torch.randn(2, LENGTH, DIM)
    mask = torch.arange(LENGTH) < torch.tensor([[LENGTH], [5]])
    outs, grads = [], []
    weights = torch.randn(x.shape)
    tokens, position = Tokens(mask, torch.arange(LENGTH)), encoding(pe, ours).float()
    for run in (
        lambda x: ours(x, LayerContext(tokens, position, causal=True)),
        lambda x: call(theirs, x, mask),
    ):
        one = x.clone().requires_grad_()
        out = run(one)
        outs.append(out[mask])
        grads += torch.autograd.grad((out * weights)[mask].sum(), one)
    near(*outs, tolerance)
    near(*grads, 10 * tolerance)


@torch.no_grad()
def copy(to, **parameters):
    for name, value in parameters.items():
        to.get_parameter(name.replace("__", ".")).copy_(value)


def kernel(convolution):
    """(size, channels), oldest first, as torch.nn.Conv1d has it."""
    return convolution.weight.T[:, None]


def test_short_convolution_is_that_of_lfm2():
    from transformers import Lfm2Config
    from transformers.models.lfm2.modeling_lfm2 import Lfm2ShortConv

    ours = build(ShortConvolution)
    config = Lfm2Config(
        hidden_size=DIM, conv_L_cache=3, conv_bias=False, num_hidden_layers=1, layer_types=["conv"]
    )
    theirs = Lfm2ShortConv(config, 0)
    copy(
        theirs,
        in_proj__weight=ours.project.weight,
        conv__weight=kernel(ours.convolution),
        out_proj__weight=ours.out.weight,
    )
    compare(ours, theirs, lambda module, x, mask: module(x, attention_mask=mask))


def test_gated_deltanet_is_that_of_qwen3_next():
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

    ours, width = build(GatedDeltaNet), DIM // HEADS
    config = Qwen3NextConfig(
        hidden_size=DIM,
        num_hidden_layers=1,
        layer_types=["linear_attention"],
        linear_num_key_heads=HEADS,
        linear_num_value_heads=HEADS,
        linear_key_head_dim=width,
        linear_value_head_dim=width,
        linear_conv_kernel_dim=4,
        rms_norm_eps=1e-6,
    )
    theirs = Qwen3NextGatedDeltaNet(config, 0)

    def by_head(*matrices):
        """Rows of all matrices, head after head."""
        return torch.cat([m.unflatten(0, (HEADS, -1)) for m in matrices], dim=1).flatten(0, 1)

    copy(
        theirs,
        in_proj_qkvz__weight=by_head(*ours.qkv.weight.chunk(3), ours.gate.weight),
        in_proj_ba__weight=by_head(ours.rate.weight, ours.step.weight),
        conv1d__weight=kernel(ours.convolution),
        dt_bias=ours.step_bias,
        A_log=ours.log_a,
        norm__weight=ours.norm.weight,
        out_proj__weight=ours.out.weight,
    )
    compare(ours, theirs, lambda module, x, mask: module(x, attention_mask=mask))


def test_mamba2_is_theirs():
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    ours = build(Mamba2, state=6)
    config = Mamba2Config(
        hidden_size=DIM,
        num_heads=HEADS,
        head_dim=2 * DIM // HEADS,
        state_size=6,
        expand=2,
        conv_kernel=4,
        n_groups=1,
        use_bias=False,
        use_conv_bias=True,
        chunk_size=16,
        num_hidden_layers=1,
        layer_norm_epsilon=1e-5,
    )
    theirs = Mamba2Mixer(config, 0).eval()
    copy(
        theirs,
        in_proj__weight=ours.project.weight,
        conv1d__weight=kernel(ours.convolution),
        conv1d__bias=ours.convolution.bias,
        dt_bias=ours.step_bias,
        A_log=ours.log_a,
        D=ours.skip,
        norm__weight=ours.norm.weight,
        out_proj__weight=ours.out.weight,
    )
    compare(ours, theirs, lambda module, x, mask: module(x, attention_mask=mask))


def added_mask(mask):
    """0 where a query may attend, else -inf: (B, 1, L, L)."""
    past = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    return torch.zeros(()).where(past & mask[:, None, None, :], -torch.inf)


def test_latent_attention_is_that_of_deepseek_v2():
    from transformers import DeepseekV2Config
    from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention

    ours, width = build(Latent, kv_rank=6, q_rank=7), DIM // HEADS
    rotated = ours.position_dim
    config = DeepseekV2Config(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        num_hidden_layers=1,
        q_lora_rank=7,
        kv_lora_rank=6,
        qk_nope_head_dim=width,
        qk_rope_head_dim=rotated,
        v_head_dim=width,
        attention_bias=True,
        attn_implementation="eager",
    )
    theirs = DeepseekV2Attention(config, 0).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.zero_()
    copy(
        theirs,
        q_a_proj__weight=ours.project.q_down.weight,
        q_a_layernorm__weight=ours.project.q_norm.weight,
        q_b_proj__weight=ours.project.q_up.weight,
        kv_a_proj_with_mqa__weight=ours.project.kv_down.weight,
        kv_a_layernorm__weight=ours.project.kv_norm.weight,
        kv_b_proj__weight=ours.project.kv_up.weight,
        o_proj__weight=ours.out.weight,
        o_proj__bias=ours.out.bias,
    )
    rope = encoding("rope", ours).float()
    turns = torch.polar(
        torch.ones(LENGTH, rotated // 2), rope.angles(torch.arange(LENGTH)).float()
    )[None]

    def call(module, x, mask):
        return module(x, attention_mask=added_mask(mask), position_embeddings=turns)[0]

    compare(ours, theirs, call, pe="rope")


def test_sinks_are_those_of_gpt_oss():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    ours = build(Sink)

    def call(module, x, mask):
        project = ours.project
        q, k, v = (project.split(layer(x)) for layer in (project.q, project.k, project.v))
        module.sinks, module.num_key_value_groups = ours.sinks, 1
        scale = ours.head_dim**-0.5
        heads, _ = eager_attention_forward(module, q, k, v, added_mask(mask), scale)
        return ours.out(heads.flatten(2))

    compare(ours, torch.nn.Module(), call)
