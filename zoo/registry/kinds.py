"""The kinds of components, and what one of each may declare that it can do."""

from __future__ import annotations

from collections.abc import Mapping

AXES = ("attention", "pe", "norm", "ffn", "block", "pool")
KINDS = (*AXES, "data", "baseline", "task", "metric", "executor")

# What a component of each kind may declare, and what the declaration means.
CAPABILITIES: Mapping[str, Mapping[str, str]] = {
    "attention": {
        "rotate": "rotates queries and keys as the encoding asks (rotary encodings)",
        "bias": "adds the encoding's bias to its scores (ALiBi and its kin)",
        "padding": "padded positions never influence real ones",
        "causal": "attends to the past alone when asked",
        "cross": "takes keys and values from a context other than x",
        "cache": "keeps keys and values between decoding steps",
        "exact": "computes softmax(QK^T / sqrt(d)) V and nothing else",
        "map": "has an attention map to show",
        "absolute": "what a rotation does to its scores depends on where tokens stand as well",
        "order": "tells one order of the tokens from another without any encoding (a window, say)",
        "one-head": "has one head as wide as the model, whatever number of heads is asked for",
        "fixed-length": "is built for one greatest length, and refuses longer input",
        "eager": "cannot be compiled by torch.compile",
    },
    "pe": {
        "embed": "adds to the embeddings",
        "rotate": "rotates queries and keys",
        "bias": "adds a bias to the scores",
        "order": "lets attention tell one order of the tokens from another",
        "directed": "its bias tells left from right",
        "absolute": "its rotation or bias depends on where tokens stand, not on their offset alone",
        "fixed-length": "knows no position beyond the greatest length it was built for",
        "eager": "cannot be compiled by torch.compile",
    },
    "norm": {
        "scale-invariant": "gives the same output when its input is scaled",
        "unit-rms": "starts with outputs whose mean square is one",
        "unit-variance": "starts with outputs of mean zero and variance one, over D",
        "unbiased": "starts with outputs of mean zero and variance one, over D - 1",
        "eager": "cannot be compiled by torch.compile",
    },
    "ffn": {
        "gated": "multiplies two projections, each 2/3 as wide, to keep the parameter count",
        "eager": "cannot be compiled by torch.compile",
    },
    "block": {
        "residual": "adds its input to its output",
        "cross": "has a place for cross-attention",
        "eager": "cannot be compiled by torch.compile",
    },
    "pool": {
        "first": "reads the first position alone",
        "eager": "cannot be compiled by torch.compile",
    },
    "data": {},
    "baseline": {
        "texts": "learns from raw texts (fit, predict) and not from the harness's batches",
        "tokens": "is a torch module, trained by the harness on the same batches as every cell",
        "stream": "models a stream of tokens (fit, nats), for --task lm",
        "vocabulary": "is told the word piece behind every id, as vocabulary=",
        "eager": "cannot be compiled by torch.compile",
    },
    "task": {},
    "metric": {},
    "executor": {},
}
