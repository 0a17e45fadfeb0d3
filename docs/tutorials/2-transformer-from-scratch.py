# %% [markdown]
# # A transformer from scratch
#
# An encoder in plain torch, in the order in which a text passes through it. At the end it takes the
# weights of the zoo's encoder and gives the same output.

# %% [markdown]
# ## Attention with heads
#
# `head_i = softmax(Q_i K_iᵀ / √Dh) V_i`, all heads side by side, then one more matrix (Vaswani et
# al. 2017, section 3.2.2).

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):  # (B, L, D)
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, L, Dh)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


# %% [markdown]
# ## A layer
#
# Two sub-layers, each with a norm before it and a residual around it (Xiong et al. 2020, figure
# 1b). The second is a network that every token passes through by itself.


# %%
class Layer(nn.Module):
    def __init__(self, dim, heads, ffn_dim):
        super().__init__()
        self.attention, self.attention_norm = SelfAttention(dim, heads), nn.LayerNorm(dim)
        self.inner, self.outer = nn.Linear(dim, ffn_dim), nn.Linear(ffn_dim, dim)
        self.ffn_norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.outer(F.gelu(self.inner(self.ffn_norm(x))))


# %% [markdown]
# ## The encoder
#
# Embeddings times √D, positions, layers, a last norm (Vaswani et al. 2017, sections 3.4 and 3.5).
# The positions are sines: attention alone cannot tell one order of the words from another.


# %%
def sines(length, dim):
    position = torch.arange(length)[:, None]
    angle = position / 10000 ** (torch.arange(0, dim, 2) / dim)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (L, D)


class Encoder(nn.Module):
    def __init__(self, vocabulary, dim, heads, ffn_dim, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, ffn_dim) for _ in range(layers))
        self.final_norm = nn.LayerNorm(dim)

    def forward(self, ids):  # (B, L)
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        x = x + sines(ids.shape[1], x.shape[-1])
        for layer in self.layers:
            x = layer(x)
        return self.final_norm(x)


ours = Encoder(vocabulary=1000, dim=64, heads=4, ffn_dim=256, layers=2).eval()
sum(p.numel() for p in ours.parameters())

# %% [markdown]
# ## The zoo's encoder
#
# A *cell* names one component for every part. Any of them can be exchanged: that is what
# `zoo bench` does for every combination that it is asked for.

# %%
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins

cell = Cell.parse(
    built_ins(),
    {"attention": "packed", "pe": "sin", "norm": "layer", "ffn": "gelu", "block": "pre",
     "pool": "mean"},
)  # fmt: skip
sizes = Sizes(dim=64, heads=4, ffn_dim=256, layers=2)
classifier = build_classifier(cell, sizes, vocab_size=1000, classes=5, seed=0).eval()
theirs = classifier.encoder
sum(p.numel() for p in theirs.parameters())

# %% [markdown]
# ## The same function
#
# Both have the same tensors in the same order, so the weights of one are copied into the other.

# %%
for (mine, p), (other, _) in list(zip(ours.named_parameters(), theirs.named_parameters()))[:7]:
    print(f"{mine:<32}{other:<40}{tuple(p.shape)}")

# %%
with torch.no_grad():
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        mine.copy_(other)

    ids = torch.randint(1000, (3, 20))
    difference = (ours(ids) - theirs(ids, Tokens.whole(20))).abs().max().item()
assert difference < 1e-4
f"largest difference {difference:.1e}"

# %% [markdown]
# ## A part of your own
#
# The zoo's attention is split so that a new one is a few lines: projections, heads, rotation and
# masks are there, and `attend` is left. [Your part](../your-part.md) goes on from here, to the
# checks that find a mistake and to a row of the table.

# %%
from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext


class Plain(MultiHead):
    """softmax(Q Kᵀ / √Dh + bias) V."""

    projection = PackedProjection

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1) @ v


torch.manual_seed(2)
mine = Plain(64, 4)
mine.load_state_dict(theirs.blocks[0].attention.state_dict())
x = torch.randn(2, 10, 64)
with torch.no_grad():
    layer = LayerContext(Tokens.whole(10), theirs.position)
    gap = (mine(x, layer) - theirs.blocks[0].attention(x, layer)).abs().max().item()
assert gap < 1e-5
f"largest difference {gap:.1e}"

# %% [markdown]
# Next: [positions](3-positions.md).
