# %% [markdown]
# # Masks and decoders
#
# Texts of a batch differ in length, and a decoder must not see the future. Both are masks: pairs of
# query and key that may not meet.

# %% [markdown]
# ## Padding
#
# Shorter texts are filled up. `attention_mask` is True where a token is real. What stands in the
# padding never changes the output of a real token:

# %%
import torch

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.pe.rope import Rotary
from zoo.components.tokens import Tokens, may_attend

torch.manual_seed(0)
attention = Fused(32, 4).eval()
rope = Rotary(dim=32, heads=4, head_dim=8, max_length=64)
real = torch.tensor([[True] * 8, [True] * 5 + [False] * 3])  # the second text has 5 tokens
tokens = Tokens(real, torch.arange(8))
x = torch.randn(2, 8, 32)
other = torch.where(real[..., None], x, 100.0)  # anything else in the padding
with torch.no_grad():
    outputs = [attention(one, LayerContext(tokens, rope)) for one in (x, other)]
assert torch.equal(outputs[0][real], outputs[1][real])

# %% [markdown]
# ## The future
#
# In a decoder token i reads only tokens 1 to i. With padding, both masks hold.

# %%
import matplotlib.pyplot as plt

figure, panels = plt.subplots(1, 3, figsize=(4.8, 2.2))
masks = {
    "padding": may_attend(tokens, tokens, causal=False)[1, 0].expand(8, 8),
    "causal": may_attend(Tokens.whole(8), Tokens.whole(8), causal=True),
    "both": may_attend(tokens, tokens, causal=True)[1, 0],
}
for axes, (title, mask) in zip(panels, masks.items()):
    axes.imshow(mask, cmap="Blues", vmin=0, vmax=1.3)
    axes.set(title=title, xlabel="key", ylabel="query")
figure.tight_layout()

# %% [markdown]
# ## A language model
#
# A decoder predicts the next token at every position. Because no output depends on later tokens,
# all of them are trained in one pass.

# %%
from zoo.config.sizes import Sizes
from zoo.models.build import build_language_model
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins

cell = Cell.parse(
    built_ins(),
    {"attention": "fused", "pe": "rope", "norm": "rms", "ffn": "swiglu", "block": "pre",
     "pool": "mean"},
)  # fmt: skip
sizes = Sizes(dim=48, heads=4, ffn_dim=96, layers=2, max_length=256)
text = "a cat sat on a mat. a dog sat on a log. a hen sat in a pen. " * 4
letters = sorted(set(text))
ids = torch.tensor([[letters.index(letter) for letter in text]])
model = build_language_model(cell, sizes, vocab_size=len(letters), seed=0)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(121):
    logits = model(ids[:, :-1], Tokens.whole(ids.shape[1] - 1))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[0, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step:>3}: {loss.item():.3f} nats per letter")

# %% [markdown]
# ## Generating, with a cache
#
# Token by token: each new one is read once, and keys and values of those before it are kept. With
# and without the cache the text is the same; without it every step reads the whole text again.

# %%
from zoo.models.decoding import Decoding, generate

prompt = torch.tensor([[letters.index(letter) for letter in "a dog"]])
for cache in (True, False):
    (found,) = generate(model, prompt, Decoding(max_new=60, cache=cache))
    print("".join(letters[i] for i in found.ids), f"({'with' if cache else 'without'} cache)")

# %% [markdown]
# ## From sources to targets
#
# The whole transformer has an encoder and a decoder; in between, each token of the target reads the
# source by cross-attention. It is a task of the same command, with the same parts:
#
#     zoo bench --task seq2seq --data reverse --pe rope
#     zoo train --task lm --data book.txt --save writer
#     zoo generate writer --prompt "It was" --max-new-tokens 50
#
# [Tasks](../tasks.md) has them all, and
# [the attentions that can be causal](../components/attention/index.md) declare it.
