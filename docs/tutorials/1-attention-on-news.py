# %% [markdown]
# # Attention on BBC news
#
# A text is a row of vectors, one for each word piece. Attention lets each of them read the others:
# a query asks, keys answer, and the values of the keys that answer best are mixed.
#
#     Attention(Q, K, V) = softmax(Q Kᵀ / √D) V          Vaswani et al. 2017, equation 1
#
# Here it is written out, compared with the zoo's parts, and trained on news articles.

# %% [markdown]
# ## The equation in three lines

# %%
import math

import torch


def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, L, L)
    weights = scores.softmax(dim=-1)  # each row sums to one
    return weights @ v, weights


torch.manual_seed(0)
words = "the minister said that the team won".split()
x = torch.randn(len(words), 16)  # made-up vectors of seven words
mixed, weights = attention(x, x, x)
weights.sum(dim=-1)

# %% [markdown]
# ## Several heads
#
# A model of width D has H heads. Each sees queries, keys and values of width D / H through matrices
# of its own, so that different heads can look for different things. The zoo computes this in
# several ways: `naive` loops over the heads and writes the softmax out, `fused` uses torch's
# kernel. From one seed they begin with the same weights, and compute the same function:

# %%
from zoo.components.attention.fused import Fused
from zoo.components.attention.naive import Naive
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import NoPositions
from zoo.components.tokens import Tokens

built = []
for kind in (Naive, Fused):
    torch.manual_seed(1)
    built.append(kind(64, 4).eval())
positions = NoPositions(dim=64, heads=4, head_dim=16, max_length=32)
texts = torch.randn(2, 32, 64)  # two texts of 32 tokens
outputs = [one(texts, LayerContext(Tokens.whole(32), positions)) for one in built]
difference = (outputs[0] - outputs[1]).abs().max().item()
assert difference < 1e-5

# %% [markdown]
# ## News articles
#
# Five topics of BBC news (Greene and Cunningham, ICML 2006). Where the articles are not at hand,
# the made-up topics of `newswire` take their place.

# %%
from pathlib import Path

from zoo.data.sources.load_data import load_corpus
from zoo.registry.loading import built_ins

articles = Path("../shared/data/bbc-news")
data = str(articles.resolve()) if articles.is_dir() else "newswire"
corpus, _ = load_corpus(built_ins(), data)
print(f"{len(corpus.train.texts)} training and {len(corpus.test.texts)} test documents")
print("topics:", ", ".join(corpus.label_names))
words_of = [len(text.split()) for text in corpus.train.texts]
print(f"{min(words_of)} to {max(words_of)} words each")

# %% [markdown]
# ## Training
#
# One call trains a small classifier with each attention, scores it on the test documents, and puts
# the result on one row. Two passes over the first 64 word pieces of each article are enough to see
# that it learns; `fused` and `naive` score the same, because they are the same function.

# %%
import tempfile

import zoo

table = zoo.bench(
    attention=["fused", "naive"],
    pe="none",
    data=data,
    seeds=1,
    epochs=2,
    layers=1,
    max_length=64,
    phases="train",
    threads=1,
    on="inline",
    out=tempfile.mkdtemp(),
).table
table[["attention", "score", "params"]].round(3)

# %% [markdown]
# The last row is the baseline, a bag of words. It is on every table, because on topics of news it
# is hard to beat: the words alone say what an article is about, and attention is not needed for it.
#
# ## What a model looks at
#
# A saved model shows its attention weights. Rows are the tokens that ask, columns those that
# answer.

# %%
import contextlib

import matplotlib.pyplot as plt

from zoo.cli import main
from zoo.inference.attention_map import attention_map

options = "--pe none --epochs 2 --set layers=1 --max-length 64 --threads 1 --on inline".split()
with contextlib.chdir(tempfile.mkdtemp()):
    main(["train", "--data", data, *options, "--save", "model"])
    model = zoo.load("model")
found = attention_map(model, "the minister said that the team won")

figure, axes = plt.subplots(figsize=(4, 4))
axes.imshow(found.means[1], cmap="Blues")
axes.set_xticks(range(len(found.tokens)), found.tokens, rotation=90)
axes.set_yticks(range(len(found.tokens)), found.tokens)
figure.tight_layout()

# %% [markdown]
# `zoo attend model "a text" --out map.png` draws every layer of a saved model.
#
# Next: [a transformer from scratch](2-transformer-from-scratch.md).
