"""Hyper-connections equal the paper's equations, token by token and stream by stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from block_helpers import (
    DIM,
    LENGTH,
    WithLayer,
    Wrapped,
    assert_same,
    build,
    context,
    randoms,
    with_memory,
)
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues


def connect(connection: Any, streams: list[list[list[Tensor]]], sublayer: Any) -> list:
    """Algorithm 2 of the paper's appendix J; streams[text][token][stream] is a vector (D)."""
    n = len(streams[0][0])
    inputs, kept, writes = [], [], []
    for text in streams:
        for own in text:
            read, mix, write = (
                p.clone() for p in (connection.read, connection.mix, connection.write)
            )
            if connection.dynamic is not None:
                weight = connection.dynamic.weight  # read, mix of the n streams, write
                s_alpha, s_beta = connection.scales
                for i in range(n):
                    normed = connection.stream_norm(own[i])
                    read[i] += s_alpha * torch.tanh(weight[0] @ normed)
                    write[i] += s_beta * torch.tanh(weight[n + 1] @ normed)
                    for j in range(n):
                        mix[i, j] += s_alpha * torch.tanh(weight[1 + j] @ normed)
            inputs.append(sum(read[i] * own[i] for i in range(n)))
            kept.append([sum(mix[i, j] * own[i] for i in range(n)) for j in range(n)])
            writes.append(write)
    h = torch.stack(inputs).view(len(streams), -1, DIM)
    out = sublayer(connection.norm(h)).flatten(0, 1)
    new = [
        [stream + write[j] * added for j, stream in enumerate(own)]
        for own, write, added in zip(kept, writes, out, strict=True)
    ]
    return [new[t * len(streams[0]) : (t + 1) * len(streams[0])] for t in range(len(streams))]


def by_hand(blocks: list[Any], x: Tensor, layer_context: Any, n: int) -> Tensor:
    """The sum of the streams (B, L, D) after the last of these blocks."""
    streams = [[[token] * n for token in text] for text in x]
    for block in blocks:
        attend = Wrapped(block, layer_context)
        streams = connect(block.attention_norm, streams, lambda h, attend=attend: attend(h)[0])
        network = WithLayer(block.ffn, layer_context)
        streams = connect(block.ffn_norm, streams, network)
    return torch.stack([torch.stack([sum(own) for own in text]) for text in streams])


def in_turn(blocks: list[Any], x: Tensor, layer_context: Any) -> Tensor:
    """As a stack calls its blocks: the context's ``shared`` is empty at first."""
    layer_context = replace(layer_context, shared={})
    for number, block in enumerate(blocks):
        x = block(x, replace(layer_context, index=number))
    return x


@pytest.mark.parametrize(
    "name", ["hyper-connections(streams=2)", "hyper-connections(streams=3, dynamic=False)"]
)
def test_two_layers_are_the_papers_recurrence(name: str) -> None:
    blocks = [build(name, layer_index=layer, layer_count=2) for layer in (0, 1)]
    x, layer_context = randoms(2, LENGTH, DIM), context()
    expected = by_hand(blocks, x, layer_context, blocks[0].streams)
    leaves = [x, *(p for block in blocks for p in block.parameters())]
    assert_same(in_turn(blocks, x, layer_context), expected, leaves)


@pytest.mark.parametrize("dynamic", [True, False])
def test_new_ones_are_pre_norm_of_which_there_are_n(dynamic: bool) -> None:
    x, layer_context, name = randoms(2, LENGTH, DIM), with_memory(), "hyper-connections"
    name = f"hyper-connections(streams=3, dynamic={dynamic})"
    stacks = [
        [build(b, cross=True, shaken=False, layer_index=i, layer_count=2) for i in (0, 1)]
        for b in (name, "pre")
    ]
    streams, pre = (in_turn(blocks, x, layer_context) for blocks in stacks)
    torch.testing.assert_close(streams, 3 * pre, rtol=1e-10, atol=1e-10)


def test_each_sublayer_reads_another_stream_at_first() -> None:
    blocks = [build("hyper-connections", shaken=False, layer_index=i) for i in (0, 1, 2)]
    connections = [c for b in blocks for c in (b.attention_norm, b.ffn_norm)]
    assert [int(c.read.argmax()) for c in connections] == [0, 1, 2, 3, 0, 1]
    assert all(c.read.sum() == 1 for c in connections)


def test_step_by_step_equals_the_causal_pass_over_two_layers() -> None:
    blocks = [build("hyper-connections", layer_index=i) for i in (0, 1)]
    tokens, x = Tokens.whole(LENGTH), randoms(2, LENGTH, DIM)
    causal = context(tokens=tokens, causal=True)
    caches = [KeyValues() for _ in blocks]
    steps = []
    for now in (slice(t, t + 1) for t in range(LENGTH)):
        h, shared = x[:, now], {}
        for number, (block, cache) in enumerate(zip(blocks, caches, strict=True)):
            step = replace(causal, tokens=tokens[now], cache=cache, shared=shared, index=number)
            h = block(h, step)
        steps.append(h)
    whole = in_turn(blocks, x, causal)
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=1e-10, atol=1e-10)


def test_what_a_layer_with_another_block_adds_is_shared_out() -> None:
    """The streams' sum stays what the stack passes on, whatever changed it in between."""
    first, last = (build("hyper-connections(streams=2)", layer_index=i) for i in (0, 2))
    x, added = randoms(2, LENGTH, DIM), randoms(2, LENGTH, DIM, seed=1)
    mixed = context()
    last(first(x, mixed) + added, replace(mixed, index=2))

    alone = context()
    total = first(x, alone)
    streams, _ = alone.shared["hyper-connections"]
    alone.shared["hyper-connections"] = (streams + added[:, :, None] / 2, total)
    last(total, replace(alone, index=2))
    actual, expected = (c.shared["hyper-connections"][0] for c in (mixed, alone))
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


def test_the_static_weights_do_not_decay() -> None:
    from zoo.training.trainer import undecayed

    block = build("hyper-connections")
    spared = {f"{c}.{n}" for c in ("attention_norm", "ffn_norm") for n in ("read", "mix", "write")}
    assert undecayed(block) == spared


def test_no_streams_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one stream, not 0"):
        build("hyper-connections(streams=0)")
