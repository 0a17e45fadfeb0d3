"""Other libraries' encoders as baselines of encoder-zoo: rows of the same table.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width.
"""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl

requires_zoo = ">=0.1"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the peers."""
    register(
        "baseline",
        "torch-encoder",
        "zoo_peers.torch_encoder:TorchEncoder",
        summary="torch.nn.TransformerEncoder, mean pool and the cells' head",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html",
        capabilities=("tokens", "head"),
        parameters={
            "positions": "sinusoidal",
            "activation": "relu",
            "norm_first": False,
            "fast_path": True,
            "attention_dropout": 0.0,
            "pool": "mean",
        },
    )
    register(
        "baseline",
        "x-transformers",
        "zoo_peers.x_encoder:XEncoder",
        summary="x-transformers' Encoder with flash attention, mean pool and the cells' head",
        source="https://github.com/lucidrains/x-transformers",
        capabilities=("tokens", "head"),
        parameters={
            "positions": "rotary",
            "attention_dropout": 0.0,
            "pool": "mean",
        },
    )
    register(
        "baseline",
        "hf-bert",
        "zoo_peers.hf_bert:HfBert",
        summary="Hugging Face's BertModel from a config or pretrained, mean pool, the cells' head",
        source="Devlin et al. 2019, https://arxiv.org/abs/1810.04805; "
        "https://huggingface.co/docs/transformers/model_doc/bert",
        capabilities=("tokens", "vocabulary", "head"),
        parameters={
            "pretrained": "",
            "attn_implementation": "sdpa",
            "attention_dropout": 0.0,
            "pool": "mean",
        },
    )
