"""Each peer computes what its paper says with the weights that it holds, in float64."""

import math

import pytest
import torch
from peer_helpers import CLASSES, SIZES, VOCAB_SIZE, Layer, Written, batch, build, linear
from torch import Tensor

from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load


def torch_layers(peer):
    layers = []
    for layer in peer.encoder.layers:
        weights = layer.self_attn.in_proj_weight.detach().chunk(3)
        biases = layer.self_attn.in_proj_bias.detach().chunk(3)
        q, k, v = zip(weights, biases, strict=True)
        o = linear(layer.self_attn.out_proj)
        norms = linear(layer.norm1), linear(layer.norm2)
        layers.append(Layer(q, k, v, o, linear(layer.linear1), linear(layer.linear2), *norms))
    return layers


def waves(n: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/D)) and PE(pos, 2i + 1) its cosine."""
    dim = SIZES.dim
    rows = [
        [(math.cos if i % 2 else math.sin)(at / 10000 ** (2 * (i // 2) / dim)) for i in range(dim)]
        for at in range(n)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def words(peer, ids: Tensor) -> Tensor:
    """The cells' embedding: √D · W[id]."""
    return math.sqrt(SIZES.dim) * peer.embed.embedding.weight.detach()[ids]


def written_torch(peer, way):
    def embed(ids):
        if way == "torch-learned":
            return words(peer, ids) + peer.embed.position.table.weight.detach()[: len(ids)]
        return words(peer, ids) + waves(len(ids))

    first = way == "torch-norm-first"
    return Written(
        embed,
        torch_layers(peer),
        SIZES.heads,
        pre=first,
        gelu=way == "torch-learned",
        final=linear(peer.encoder.norm) if first else None,
    )


def turn(row: Tensor, position: int) -> Tensor:
    """Each pair (x₂ᵢ, x₂ᵢ₊₁) turned by position · 10000^(-2i/Dh) (Su et al. 2021, equation 34)."""
    turned = []
    for pair in range(len(row) // 2):
        angle = position * 10000 ** (-2 * pair / len(row))
        x, y = row[2 * pair], row[2 * pair + 1]
        turned.append(x * math.cos(angle) - y * math.sin(angle))
        turned.append(x * math.sin(angle) + y * math.cos(angle))
    return torch.stack(turned)


def written_x(peer, way):
    def norm(module):  # its scale is stored less one
        return 1 + module.gamma.detach(), torch.zeros(SIZES.dim, dtype=torch.float64)

    blocks = list(peer.encoder.layers)
    layers = []
    for attention, ffn in zip(blocks[::2], blocks[1::2], strict=True):
        made = attention[1]
        q, k, v, o = (linear(m) for m in (made.to_q, made.to_k, made.to_v, made.to_out))
        inner, outer = linear(ffn[1].ff[0][0]), linear(ffn[1].ff[2])
        layers.append(Layer(q, k, v, o, inner, outer, norm(attention[0][0]), norm(ffn[0][0])))

    def embed(ids):
        if way == "x":
            return words(peer, ids)
        table = peer.embed.position.table.emb.weight.detach()
        return words(peer, ids) + table[: len(ids)] / math.sqrt(SIZES.dim)

    rotary = {"turn": turn} if way == "x" else {}
    final = norm(peer.encoder.final_norm)
    return Written(embed, layers, SIZES.heads, pre=True, gelu=True, final=final, **rotary)


def written_bert(peer, way):
    bert = peer.encoder
    layers = []
    for layer in bert.encoder.layer:
        attention, ours = layer.attention, layer.attention.self
        layers.append(
            Layer(
                *(linear(m) for m in (ours.query, ours.key, ours.value, attention.output.dense)),
                linear(layer.intermediate.dense),
                linear(layer.output.dense),
                linear(attention.output.LayerNorm),
                linear(layer.output.LayerNorm),
            )
        )

    def embed(ids):
        parts = bert.embeddings
        x = parts.word_embeddings.weight[ids] + parts.position_embeddings.weight[: len(ids)]
        x = x + parts.token_type_embeddings.weight[0]
        return whole.norm(x.detach(), linear(parts.LayerNorm))

    whole = Written(embed, layers, SIZES.heads, gelu=True, eps=1e-12)
    return whole


WRITTEN = {"torch": written_torch, "x": written_x, "bert": written_bert}


@pytest.mark.parametrize(
    "way",
    [
        *("torch", "torch-learned", "torch-masked", "torch-norm-first"),
        *("x", "x-absolute", "bert", "bert-eager"),
    ],
)
@pytest.mark.parametrize("gradients", [True, False])
def test_is_the_encoder_written_out(way, gradients):
    peer = build(way)
    written = WRITTEN[way.partition("-")[0]](peer, way)
    ids, tokens = batch([9, 1, 4], more=2)
    with torch.set_grad_enabled(gradients):  # without them torch takes another way
        out, logits = peer.encode(ids, tokens), peer(ids, tokens)
    # Sines and rotations have angles in float32, whatever the model is in.
    within = 1e-6 if way in ("torch", "torch-masked", "torch-norm-first", "x") else 1e-9
    assert out.shape == (3, 11, SIZES.dim)
    assert logits.shape == (3, CLASSES)
    for text, n in enumerate([9, 1, 4]):
        expected = written(ids[text, :n])
        torch.testing.assert_close(out[text, :n].detach(), expected, rtol=within, atol=within)
        pooled = expected[0] if way in ("torch-norm-first", "bert-eager") else expected.mean(0)
        weight, bias = linear(peer.head[1])
        top = weight @ pooled + bias
        torch.testing.assert_close(logits[text].detach(), top, rtol=within, atol=within)


# How a cell's parameters are called in torch's encoder.
AS_IN_TORCH = {
    "encoder.embedding": "embed.embedding",
    "encoder.position": "embed.position",
    "encoder.blocks": "encoder.layers",
    "encoder.final_norm": "encoder.norm",
    "attention.project.qkv.": "self_attn.in_proj_",
    "attention.out": "self_attn.out_proj",
    "attention_norm": "norm1",
    "ffn_norm": "norm2",
    "ffn.inner": "linear1",
    "ffn.outer": "linear2",
    ".scale": ".weight",
    ".shift": ".bias",
}


@pytest.mark.parametrize(
    ("way", "parts"),
    [
        ("torch", {"pe": "sin", "ffn": "relu", "block": "post", "pool": "mean"}),
        ("torch-learned", {"pe": "learned", "ffn": "gelu", "block": "post", "pool": "mean"}),
        ("torch-norm-first", {"pe": "sin", "ffn": "relu", "block": "pre", "pool": "cls"}),
    ],
)
def test_torchs_encoder_is_a_cell_of_the_zoo(way, parts):
    """With equal weights it is the same function: rows differ in cost and in how they start."""
    peer = build(way)
    names = {"attention": "fused", "norm": "layer", **parts}
    cell = build_classifier(
        Cell.parse(load().registry, names), SIZES, vocab_size=VOCAB_SIZE, classes=CLASSES, seed=0
    )
    weights = {}
    for name in cell.state_dict():
        theirs = name
        for ours, torchs in AS_IN_TORCH.items():
            theirs = theirs.replace(ours, torchs)
        weights[name] = peer.state_dict()[theirs]
    assert len(weights) == len(peer.state_dict())
    cell.load_state_dict(weights)
    cell = cell.double().eval()
    ids, tokens = batch([9, 1, 4])
    torch.testing.assert_close(cell(ids, tokens), peer(ids, tokens), rtol=1e-9, atol=1e-9)
