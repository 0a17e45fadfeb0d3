"""What attention makes of an encoding, and of none."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.base import CheckFailed, check, needs
from zoo.conformance.compare import close, differ, largest, must
from zoo.conformance.probes import Forbid, Probe
from zoo.conformance.setups.attention import BATCH, LENGTHS, AttentionRig, attend
from zoo.conformance.setups.base import DIM, MAX_LENGTH, normal
from zoo.registry import Choice

SHIFT = 7


@check("attention")
def permutation(rig: AttentionRig) -> None:
    """Without an encoding it is equivariant to permutation, or declares `order` and is not."""
    module = rig.attention()
    broken = False
    # The longer ones are for those with an order of their own that begins at some distance.
    for length in (*LENGTHS, MAX_LENGTH) if rig.can("order") else LENGTHS:
        x = normal(rig.generator(0), 1, length, DIM)
        shuffle = torch.randperm(length)
        out, shuffled = attend(module, x), attend(module, x[:, shuffle])
        if rig.can("order"):
            broken = broken or largest(shuffled - out[:, shuffle]) > 1e-6
            continue
        try:
            close(shuffled, out[:, shuffle], f"length {length}: output of a shuffled text")
        except CheckFailed as failure:
            raise CheckFailed(f"{failure}; an attention of an order declares 'order'") from None
    must(broken or not rig.can("order"), "declares 'order', yet is equivariant to permutation")


def _encoded(choice: Choice) -> str | None:
    if choice.can("rotate") or choice.can("bias"):
        return None
    return "it declares neither 'rotate' nor 'bias'"


@check("attention", applies=_encoded)
def positions(rig: AttentionRig) -> None:
    """The encoding is asked at the positions given: of any spacing, and each text's own."""
    module = rig.attention()
    position = rig.encoding(module)
    x = normal(rig.generator(0), BATCH, 6, DIM)
    near = torch.arange(6)
    each = torch.stack([near, 3 * near, 2 * near + 1])  # (B, L)
    out = attend(module, x, Tokens(None, each), position=position)
    for text in range(BATCH):
        alone = attend(module, x[text : text + 1], Tokens(None, each[text]), position=position)
        close(out[text], alone[0], f"text {text} at positions of its own against alone")
    differ(out[1:2], attend(module, x[1:2], position=position), "positions thrice as far apart")


@check("attention", applies=needs("rotate"))
def rotation(rig: AttentionRig) -> None:
    """A rotation of queries and keys acts, and through the offset of positions alone."""
    module = rig.attention()
    turned = Probe(rotates=True)
    x = normal(rig.generator(0), BATCH, 6, DIM)
    out = attend(module, x, position=turned)
    differ(out, attend(module, x), "the output with and without a rotation")
    if rig.can("absolute"):
        return
    later = Tokens(None, torch.arange(6) + SHIFT)
    close(attend(module, x, later, position=turned), out, f"output {SHIFT} positions later")
    if rig.can("cross"):
        again = attend(module, x, later, x, later, position=turned)
        close(again, out, f"output {SHIFT} positions later, by a context")


@check("attention", applies=needs("bias"))
def score_bias(rig: AttentionRig) -> None:
    """A bias acts on the scores: one that is very low hides a key from a query, and no other."""
    module = rig.attention()
    x = normal(rig.generator(0), BATCH, 6, DIM)
    biased = attend(module, x, position=Probe(biases=True, heads=module.heads))
    differ(biased, attend(module, x), "the output with and without a bias")
    forbid = Forbid(module.heads)
    out = attend(module, x, position=forbid)
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    again = attend(module, changed, position=forbid)
    close(again[:, :3], out[:, :3], "rows from which a bias hides what is changed")
    differ(again[:, 3:], out[:, 3:], "rows from which nothing is hidden")
    each = Tokens(None, torch.arange(6).expand(BATCH, 6))
    position = Probe(biases=True, heads=module.heads)
    close(attend(module, x, each, position=position), biased, "output for positions per text")
