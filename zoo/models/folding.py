"""Rules that let torch's functions serve all members of an ensemble with one kernel.

``torch.func.vmap`` has a rule for nearly every function, but loops over the members in the
backward pass of scaled dot-product attention, and applies autocast beneath itself, where a linear
layer or a norm is products and sums already. They get rules here; components need no line of code.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._C import _functorch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

from zoo.components import dropout as own

_NATIVE_LAYER_NORM: Callable[..., Tensor] = F.layer_norm
_NATIVE_ATTENTION: Callable[..., Tensor] = F.scaled_dot_product_attention

Rule = Callable[..., Tensor]


def at_once(rule: Rule, member: Tensor, *operands: Any) -> Tensor:
    """Apply a rule on stacks (S, …) from inside the vmap over S members.

    member: which one this is; from it the rule's level of vmap is known. What the rule does
    is recorded by autograd as if there were no vmap. This is what ``torch.autograd.Function``
    with a ``vmap`` of its own does, without the tenth of a millisecond that it takes to begin.
    """
    level = _functorch.maybe_get_level(member)
    members = len(_functorch.get_unwrapped(member))
    with retrieve_current_functorch_interpreter().lower():
        stacked = [
            _functorch._remove_batch_dim(operand, level, members, 0)
            if isinstance(operand, Tensor)
            else operand
            for operand in operands
        ]
        out = rule(*stacked)
    return _functorch._add_batch_dim(out, 0, level)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x (S, …, D), weight (S, O, D) and bias (S, O) to (S, …, O), as one batched product."""
    rows = x.reshape(len(x), -1, x.shape[-1])
    if bias is None:
        out = torch.bmm(rows, weight.mT)
    else:
        out = torch.baddbmm(bias[:, None], rows, weight.mT)
    return out.reshape(*x.shape[:-1], weight.shape[-2])


def layer_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """x (S, …, D), weight and bias (S, D) to (S, …, D): one norm, then each member's own."""
    out = _NATIVE_LAYER_NORM(x, x.shape[-1:], eps=eps)
    own = (len(x), *[1] * (x.dim() - 2), x.shape[-1])
    if weight is not None and bias is not None:
        return torch.addcmul(bias.view(own), out, weight.view(own))
    out = out if weight is None else out * weight.view(own)
    return out if bias is None else out + bias.view(own)


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, options: dict[str, Any]
) -> Tensor:
    """``scaled_dot_product_attention`` of q, k, v (S, B, …), the members folded into the batch.

    mask: (S, …), what follows broadcastable to (B, …, Lq, Lk); None for none.
    """
    if mask is not None:
        while mask.dim() < q.dim():
            mask = mask.unsqueeze(1)
        mask = mask.expand(*q.shape[:2], *mask.shape[2:]).flatten(0, 1)
    folded = (x.flatten(0, 1) for x in (q, k, v))
    out = _NATIVE_ATTENTION(*folded, attn_mask=mask, **options)
    return out.reshape(*q.shape[:2], *out.shape[1:])


@contextlib.contextmanager
def replaced(
    stand_in: Callable[[Tensor, float], Tensor], **functions: Callable[..., Any]
) -> Iterator[None]:
    """Let functions of ``torch.nn.functional``, and the zoo's dropout, be others for a while."""
    before = {name: getattr(F, name) for name in functions}
    own.stand_in = stand_in
    try:
        for name, function in functions.items():
            setattr(F, name, function)
        yield
    finally:
        own.stand_in = None
        for name, function in before.items():
            setattr(F, name, function)


def folded(
    member: Tensor, dropout: Callable[..., Tensor], ours: Callable[[Tensor, float], Tensor]
) -> contextlib.AbstractContextManager[None]:
    """The rules, for one call inside the vmap.

    dropout, ours: what stands for ``F.dropout``, and for the zoo's.
    """

    def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return at_once(linear, member, x, weight, bias)

    def _layer_norm(
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        if len(shape) != 1:
            return _NATIVE_LAYER_NORM(x, shape, weight, bias, eps)
        return at_once(layer_norm, member, x, weight, bias, eps)

    def _attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Tensor:
        if dropout_p > 0:
            # The kernels draw inside, where the members' streams cannot be told apart.
            return written_out(
                query, key, value, attn_mask, is_causal, lambda w: dropout(w, dropout_p), **options
            )
        options["is_causal"] = is_causal
        return at_once(attention, member, query, key, value, attn_mask, options)

    return replaced(
        ours,
        linear=_linear,
        layer_norm=_layer_norm,
        scaled_dot_product_attention=_attention,
        dropout=dropout,
    )


def written_out(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    drop: Callable[[Tensor], Tensor],
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention step by step, with dropout of one's own on its weights."""
    if enable_gqa:
        groups = q.shape[-3] // k.shape[-3]
        k, v = k.repeat_interleave(groups, -3), v.repeat_interleave(groups, -3)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~past, -torch.inf)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        else:
            scores = scores + mask
    return drop(scores.softmax(dim=-1)) @ v
