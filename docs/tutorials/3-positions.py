# %% [markdown]
# # Positions
#
# Attention without positions treats a text as a bag of words: shuffle the words, and each still
# gets the same output. An encoding of positions changes one of three things: the embeddings, the
# queries and keys, or the scores.

# %%
import torch

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import NoPositions
from zoo.components.tokens import Tokens

torch.manual_seed(0)
attention = Fused(32, 4).eval()
sizes = {"dim": 32, "heads": 4, "head_dim": 8, "max_length": 64}
x, order = torch.randn(1, 10, 32), torch.randperm(10)
with torch.no_grad():
    layer = LayerContext(Tokens.whole(10), NoPositions(**sizes))
    shuffled_after = attention(x, layer)[:, order]
    shuffled_before = attention(x[:, order], layer)
assert torch.allclose(shuffled_after, shuffled_before, atol=1e-6)

# %% [markdown]
# ## Added to the embeddings
#
# `sin`: every position has a vector of sines and cosines of different speeds (Vaswani et al. 2017,
# section 3.5). `learned`: a table that is trained, which has no row for a position beyond its end.

# %%
import matplotlib.pyplot as plt

from zoo.components.pe.sin import Sinusoidal

positions = torch.arange(64)
added = Sinusoidal(**sizes).embed(torch.zeros(1, 64, 32), positions)[0]
figure, axes = plt.subplots(figsize=(4.5, 2.2))
axes.imshow(added.T, aspect="auto", cmap="RdBu")
axes.set(xlabel="position", ylabel="channel")
figure.tight_layout()

# %% [markdown]
# ## Rotating queries and keys
#
# `rope` turns each pair of numbers of a query or key by an angle that grows with its position (Su
# et al. 2021, RoFormer, equation 34). The angle between a query and a key is then that of their
# offset: moving both by the same distance changes no score.

# %%
from zoo.components.pe.rope import Rotary

rope = Rotary(**sizes)
q, k = torch.randn(2, 1, 1, 1, 8)


def score(q_position, k_position):
    turned_q = rope.rotate(q, torch.tensor([q_position]))
    turned_k = rope.rotate(k, torch.tensor([k_position]))
    return (turned_q * turned_k).sum().item()


[round(score(p + 3, p), 4) for p in (0, 10, 50)]

# %% [markdown]
# ## A bias on the scores
#
# `alibi` subtracts a multiple of the distance, with a slope of its own for each head (Press et al.
# 2022, section 3): keys that are far away count less.

# %%
from zoo.components.pe.alibi import Alibi

bias = Alibi(**sizes).bias(positions[:16], positions[:16])
figure, panels = plt.subplots(2, 2, figsize=(4, 4))
for head, axes in enumerate(panels.flat):
    axes.imshow(bias.reshape(4, 16, 16)[head], cmap="Blues_r")
    axes.set_title(f"head {head + 1}")
figure.tight_layout()

# %% [markdown]
# ## Does it matter?
#
# Not where the words alone decide, such as the topic of an article. `order` is a task that asks
# which of three words comes first, second and third: the same words in every class.

# %%
import tempfile

import zoo

table = zoo.bench(
    attention="fused",
    pe=["rope", "none"],
    data="order(train=1200, test=300, max_distance=4)",
    baseline="tfidf-logreg",
    seeds=1,
    evaluate_every=0,  # a few texts seen four times, instead of fresh ones until it is solved
    epochs=4,
    max_length=32,
    lr=0.003,
    phases="train",
    threads=1,
    on="inline",
    out=tempfile.mkdtemp(),
).table
table[["attention", "pe", "score"]].round(3)

# %% [markdown]
# Without positions the model guesses among six orders, like the bag of words in the last row. With
# one seed this is an example, and no evidence; [choosing parts](../choosing.md) has what published
# runs with several seeds found for every encoding, and
# [the encodings](../components/pe/index.md) a page each.
#
# Next: [masks and decoders](4-masks-and-decoders.md).
