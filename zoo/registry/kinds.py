"""The kinds of components, and the capabilities that a component of each may declare."""

from __future__ import annotations

from collections.abc import Mapping

AXES = ("attention", "pe", "norm", "ffn", "block", "pool")
KINDS = (*AXES, "data", "baseline", "task", "metric", "executor", "tracker")
# A command of ``zoo`` is registered as a component is, and not listed.
COMMAND = "command"

# What the contract of a kind passes to a factory by name or place; all else are its parameters.
LAYER = ("layer_index", "layer_count")
PASSED: Mapping[str, tuple[str, ...]] = {
    "attention": ("dim", "heads", "dropout", "max_length", "projection", *LAYER),
    "pe": ("dim", "heads", "head_dim", "max_length", *LAYER),
    "norm": ("dim", *LAYER),
    "ffn": ("dim", "hidden", "dropout", *LAYER),
    "block": ("attention", "ffn", "norm", "dropout", "cross", "make_ffn", *LAYER),
    "pool": ("dim",),
    "baseline": ("vocab_size", "classes", "sizes", "dropout", "vocabulary", "head_hidden"),
}
# What a part of a layer of any kind may declare.
EVERY_PART = {
    "random": "draws random numbers in training, without dropout too",
    "eager": "cannot be compiled by torch.compile",
}
# Kind to capability to what declaring it means.
CAPABILITIES: Mapping[str, Mapping[str, str]] = {
    "attention": {
        "rotate": "rotates queries and keys where the encoding does (rotary encodings)",
        "bias": "adds the encoding's bias to its scores (ALiBi and similar ones)",
        "content-bias": "adds a bias for which the encoding is given queries, keys and the mask",
        "padding": "padded positions never influence real ones",
        "causal": "attends only to the past when asked",
        "causal-only": "attends only to the past; an encoder runs two of it, one from the end",
        "cross": "takes keys and values from a context other than x",
        "cache": "keeps keys and values between decoding steps",
        "exact": "computes softmax(QK^T / sqrt(d)) V and nothing else",
        "map": "gives its attention weights",
        "absolute": "its output depends on absolute positions, not on their offsets alone",
        "order": "its output depends on the order of the tokens, even without an encoding",
        "one-head": "has a single head of the model's width, whatever the number of heads",
        "fixed-length": "is built for a maximum length, and refuses longer input",
        **EVERY_PART,
    },
    "pe": {
        "embed": "adds to the embeddings",
        "rotate": "rotates queries and keys",
        "bias": "adds a bias to the scores",
        "content-bias": "adds a bias to the scores that depends on queries and keys (CoPE, Shaw)",
        "order": "makes attention's output depend on the order of the tokens",
        "directed": "its bias differs between left and right",
        "scaled": "its rotation also changes the norms of queries and keys (xPos)",
        "absolute": "its rotation or bias depends on absolute positions, not on offsets alone",
        "fixed-length": "has no position beyond the maximum length it is built for",
        **EVERY_PART,
    },
    "norm": {
        "scale-invariant": "gives the same output when its input is scaled",
        "unit-rms": "new, its outputs have mean square 1",
        "unit-variance": "new, its outputs have mean 0 and variance 1, over D",
        "unbiased": "new, its outputs have mean 0 and variance 1, over D - 1",
        **EVERY_PART,
    },
    "ffn": {
        "gated": "multiplies two projections, each 2/3 as wide, to keep the parameter count",
        "neighbours": "reads other tokens of the text than its own",
        "causal": "with `neighbours`: reads only the past where the layer is causal",
        "cache": "with `neighbours`: keeps what it needs between decoding steps",
        **EVERY_PART,
    },
    "block": {
        "residual": "adds its input, or a share of it, to its output",
        "cross": "takes a cross-attention",
        **EVERY_PART,
    },
    "pool": {"first": "reads only the first position", **EVERY_PART},
    # A data set declares exactly one of the first four: what it holds, and so which tasks read it.
    "data": {
        "text-labels": "one label for each text (zoo.data.Corpus)",
        "token-labels": "a label for each token of a text (zoo.data.TaggedCorpus)",
        "pairs": "source texts with their targets (zoo.data.Pairs)",
        "text": "plain text without labels (zoo.data.Texts)",
        "streamed": "trains on each text once, until held-out texts are solved",
    },
    "baseline": {
        "texts": "learns from raw texts (fit, predict), outside the training loop",
        "token-texts": "learns from tokens and tags (fit, predict), outside the training loop",
        "tokens": "is a torch module, trained on the same batches as every cell",
        "stream": "models a sequence of tokens (fit, nats), for language modelling",
        "masked": "models masked tokens (fit, log_probabilities), for masked language modelling",
        "deterministic": "is fitted to the same model with every seed, so it is fitted once",
        "constant": "gives every text the same class, whatever the text says",
        "vocabulary": "takes the word piece of every id, as vocabulary=",
        "head": "takes the width of the cells' hidden layer in the head, as head_hidden=",
        "eager": EVERY_PART["eager"],
    },
    **{kind: {} for kind in ("task", "metric", "executor", "tracker")},
}
