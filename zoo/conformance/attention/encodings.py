"""Attention with a positional encoding, and without one."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, largest, must
from zoo.conformance.check import CheckFailed, check, needs
from zoo.conformance.reference_parts import CausalBias, ReferenceEncoding
from zoo.conformance.setups.attention_setup import LENGTHS, AttentionSetup, attend
from zoo.conformance.setups.setup import BATCH, DIM, MAX_LENGTH, normal
from zoo.registry import Choice

SHIFT = 7


@check("attention")
def permutation(setup: AttentionSetup) -> None:
    """Without an encoding it is equivariant to permutation, or declares `order` and is not."""
    module = setup.build()
    broken = False
    # The longest is for windows and the like, which see an order only beyond some distance.
    for length in (*LENGTHS, MAX_LENGTH) if setup.can("order") else LENGTHS:
        x = normal(setup.generator(0), 1, length, DIM)
        shuffle = torch.randperm(length)
        out, shuffled = attend(module, x), attend(module, x[:, shuffle])
        if setup.can("order"):
            broken = broken or largest(shuffled - out[:, shuffle]) > 1e-6
            continue
        try:
            close(shuffled, out[:, shuffle], f"length {length}: output of a shuffled text")
        except CheckFailed as failure:
            raise CheckFailed(f"{failure}; if it depends on the order, declare 'order'") from None
    must(broken or not setup.can("order"), "declares 'order', yet is equivariant to permutation")


def _encoded(choice: Choice) -> str | None:
    if choice.can("rotate") or choice.can("bias"):
        return None
    return "it declares neither 'rotate' nor 'bias'"


@check("attention", applies=_encoded)
def positions(setup: AttentionSetup) -> None:
    """The encoding is called with the positions given: any spacing, and each text's own."""
    module = setup.build()
    position = setup.encoding(module)
    x = normal(setup.generator(0), BATCH, 6, DIM)
    near = torch.arange(6)
    each = torch.stack([near, 3 * near, 2 * near + 1])  # (B, L)
    out = attend(module, x, Tokens(None, each), position=position)
    for text in range(BATCH):
        alone = attend(module, x[text : text + 1], Tokens(None, each[text]), position=position)
        close(out[text], alone[0], f"text {text} at positions of its own against alone")
    differ(out[1:2], attend(module, x[1:2], position=position), "positions three times apart")


@check("attention", applies=needs("rotate"))
def rotation(setup: AttentionSetup) -> None:
    """A rotation of queries and keys acts, and only through the offset of positions."""
    module = setup.build()
    rotated = ReferenceEncoding(rotates=True)
    x = normal(setup.generator(0), BATCH, 6, DIM)
    out = attend(module, x, position=rotated)
    differ(out, attend(module, x), "the output with and without a rotation")
    if setup.can("absolute"):
        return
    later = Tokens(None, torch.arange(6) + SHIFT)
    close(attend(module, x, later, position=rotated), out, f"output {SHIFT} positions later")
    if setup.can("cross"):
        again = attend(module, x, later, x, later, position=rotated)
        close(again, out, f"output {SHIFT} positions later, by a context")


@check("attention", applies=needs("bias"))
def score_bias(setup: AttentionSetup) -> None:
    """A bias acts on the scores: a very low one hides a key from a query, and no other key."""
    module = setup.build()
    x = normal(setup.generator(0), BATCH, 6, DIM)
    biased = attend(module, x, position=ReferenceEncoding(biases=True, heads=module.heads))
    differ(biased, attend(module, x), "the output with and without a bias")
    causal = CausalBias(module.heads)
    out = attend(module, x, position=causal)
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    again = attend(module, changed, position=causal)
    close(again[:, :3], out[:, :3], "rows from which a bias hides what is changed")
    differ(again[:, 3:], out[:, 3:], "rows from which nothing is hidden")
    each = Tokens(None, torch.arange(6).expand(BATCH, 6))
    position = ReferenceEncoding(biases=True, heads=module.heads)
    close(attend(module, x, each, position=position), biased, "output for positions per text")
