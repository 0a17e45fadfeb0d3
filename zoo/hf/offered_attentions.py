"""The zoo's attentions as attention implementations of Transformers' own models.

A model there projects, splits into heads and rotates by itself; the zoo's attention does what is
between: from queries, keys and values to the outputs of the heads. So an attention is offered where
it does nothing else. One that projects in its own way, changes its output or has weights of its own
would not be itself there, and is not offered.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import bidirectional_mask_function, sdpa_mask
from transformers.utils.import_utils import is_tracing

from zoo.components.attention.base import MultiHead, ProjectedAttention
from zoo.components.attention.fused import Fused
from zoo.components.attention.projections import Packed, PerHead, Separate
from zoo.components.layer_context import LayerContext, with_layer
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.rope import Rotary
from zoo.components.tokens import Tokens, may_attend
from zoo.errors import ZooError, one_line
from zoo.hf.plugin_files import components, load_components
from zoo.models.seeding import seeded
from zoo.registry import Choice

PREFIX = "zoo_"
# Transformers takes a name with one of these for an implementation of its own, or of its Hub.
TAKEN = ("flash", "sdpa", "flex_attention", "/", "|")
REFUSED = {
    "causal-only": "it attends only to the past",
    "fixed-length": "it is built for a maximum length",
    "one-head": "it has a single head, whatever the number of heads",
}
UNSUPPORTED = ("softcap", "s_aux")  # of some models: scores that are not q·k alone
NO_ENCODING = PositionalEncoding(dim=0, heads=0, head_dim=0, max_length=0)


@dataclass(frozen=True)
class OfferedAttention:
    """An attention of the zoo, and what it is to Transformers.

    implementation: the value of ``attn_implementation``; empty where it is not offered, for this
    reason. any_mask: it takes sliding windows, causal and other masks, and not padding alone.
    """

    attention: str
    implementation: str = ""
    any_mask: bool = False
    reason: str = ""


def offer_all() -> list[OfferedAttention]:
    """Offer every registered attention that can be, with its default parameters.

    Returns all of them, also those that are not offered. One that is built around another is not
    among them: ``offer("bidirectional(fused)")``.
    """
    registry = components()
    found = [c for c in registry.components("attention") if c.wraps is None]
    return [_offer(Choice(component, registry.label(component))) for component in found]


def offer(attention: str) -> str:
    """Offer one attention, which may have parameters: ``top-k(keys=4)``.

    Returns the value of ``attn_implementation``. Raises ZooError where it cannot be offered.
    """
    offered = _offer(components().choose("attention", attention))
    if offered.reason:
        raise ZooError(f"attention '{attention}' cannot be used in Transformers: {offered.reason}")
    return offered.implementation


def use_plugins(*files: str | Path) -> list[OfferedAttention]:
    """Load single-file plug-ins, for models that are loaded later, and offer their attentions.

    They take the place of those of an earlier call. Returns what ``offer_all`` does.
    """
    load_components(*files)
    return offer_all()


def _offer(choice: Choice) -> OfferedAttention:
    name = str(choice)
    if reason := _why_not(choice):
        return OfferedAttention(name, reason=reason)
    attention = _Implementation(choice)
    implementation = PREFIX + name
    AttentionInterface.register(implementation, attention.forward)
    # Under the same name: a model is given no mask at all where its attention has no entry here.
    AttentionMaskInterface.register(implementation, attention.make_mask)
    return OfferedAttention(name, implementation, attention.any_mask)


class _Implementation:
    """An attention as Transformers calls it: one function for masks, one for the heads."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.any_mask = _takes_any_mask(_build(choice, 2, 16))
        self._core = functools.lru_cache(maxsize=8)(self._new_core)

    def _new_core(self, heads: int, dim: int, dropout: float, training: bool) -> ProjectedAttention:
        """The attention without its projections, which are the model's."""
        core: ProjectedAttention = _build(self.choice, heads, dim, dropout)
        del core.project, core.out
        return core.train(training)

    def make_mask(
        self,
        batch_size: int,
        q_length: int,
        kv_length: int,
        *,
        mask_function: Any,
        attention_mask: Tensor | None = None,
        allow_is_bidirectional_skip: bool = False,
        **rest: Any,
    ) -> Tensor | None:
        """None, or bool: (B, Lk), the real keys; or (B, 1, Lq, Lk), what each query attends to.

        The arguments are those of ``transformers.masking_utils.sdpa_mask``. Raises ZooError for a
        mask that this attention cannot have.
        """
        rest |= {"mask_function": mask_function, "allow_is_causal_skip": False}
        if not self.any_mask:
            if not sdpa_mask(1, q_length, kv_length, **rest).all():
                raise ZooError(
                    f"attention '{self.choice}' takes no mask but padding, and this model has "
                    "sliding windows, or is causal"
                )
        elif not allow_is_bidirectional_skip or mask_function is not bidirectional_mask_function:
            rest["attention_mask"] = attention_mask
            mask: Tensor = sdpa_mask(batch_size, q_length, kv_length, **rest)
            return mask
        if attention_mask is None or (not is_tracing(attention_mask) and attention_mask.all()):
            return None
        return attention_mask[:, -kv_length:]

    def forward(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        position_bias: Tensor | None = None,
        **rest: Any,
    ) -> tuple[Tensor, None]:
        """The heads' outputs (B, Lq, H, Dh), and no attention weights.

        query: (B, H, Lq, Dh); key, value: (B, Hk, Lk, Dh), Hk dividing H. attention_mask: of
        ``make_mask``, or one of the caller's own (B, 1 or H, Lq, Lk), bool or added to the scores;
        position_bias likewise added. Raises ZooError for what this attention cannot do.
        """
        for name in UNSUPPORTED:
            if rest.get(name) is not None:
                raise ZooError(f"attention '{self.choice}' does not support '{name}'")
        heads, width = query.shape[1], query.shape[3]
        if key.shape[1] != heads:
            groups = heads // key.shape[1]
            key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        # The zoo's attentions divide the scores by √Dh.
        if scaling is not None and not math.isclose(factor := scaling * math.sqrt(width), 1.0):
            query = query * factor
        core = self._core(heads, heads * width, dropout, module.training)
        out = self._mix(core, query, key, value, attention_mask, position_bias)
        return out.transpose(1, 2).contiguous(), None

    def _mix(
        self,
        core: ProjectedAttention,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """The heads' outputs (B, H, Lq, Dh)."""
        if mask is not None and mask.is_floating_point():
            bias, mask = mask if bias is None else bias + mask, None
        if bias is not None and not (self.any_mask and self.choice.can("bias")):
            raise ZooError(f"attention '{self.choice}' adds nothing to its scores")
        if mask is not None and mask.dim() == 4 and not self.any_mask:
            raise ZooError(f"attention '{self.choice}' takes no mask but padding: (B, Lk)")
        return mixed(core, q, k, v, mask, bias)


def mixed(
    attention: ProjectedAttention,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None = None,
) -> Tensor:
    """The outputs of the heads (B, H, Lq, Dh), from q, k and v (B, H, L, Dh).

    mask: bool (B, Lk), True where a key is real; or (B, 1, Lq, Lk), True where a query may attend,
    for those that ``_takes_any_mask``, as for bias.
    """
    keys = Tokens.whole(k.shape[2], k.device)
    if mask is not None and mask.dim() == 2:
        keys = Tokens(mask.bool(), keys.positions, in_order=True)
    queries = keys if q.shape[2] == k.shape[2] else Tokens.whole(q.shape[2], q.device)
    if not _takes_any_mask(attention):
        return attention.mix(q, k, v, queries, keys, NO_ENCODING, False)
    assert isinstance(attention, MultiHead)
    if mask is None or mask.dim() == 2:
        mask = may_attend(queries, keys, causal=False)
    else:
        # Without a key to attend to, any output will do but NaN: nobody reads it.
        mask = mask | ~mask.any(dim=-1, keepdim=True)
    return attention.attend(q, k, v, mask, bias)


def _takes_any_mask(attention: ProjectedAttention) -> bool:
    """Whether its ``attend`` is all that it does with masks."""
    if not isinstance(attention, MultiHead):
        return False
    kind = type(attention)
    return (
        kind.mix in (MultiHead.mix, Fused.mix)
        and kind.mask_and_bias is MultiHead.mask_and_bias
        and kind.with_content is MultiHead.with_content
    )


def _build(choice: Choice, heads: int, dim: int, dropout: float = 0.0) -> Any:
    with seeded(0, "attention"):
        return choice.build(dim, heads, dropout=dropout)


def _why_not(choice: Choice) -> str:
    """Why an attention is not offered; empty where it is."""
    if not choice.can("padding"):
        return "it does not declare 'padding'"
    if found := [reason for capability, reason in REFUSED.items() if choice.can(capability)]:
        return found[0]
    if found := [word for word in TAKEN if word in str(choice)]:
        return f"Transformers has another meaning for '{found[0]}' in a name"
    try:
        attention = _build(choice, 2, 16)
        if not isinstance(attention, ProjectedAttention):
            return "it is no ProjectedAttention, whose 'mix' can be called by itself"
        if any(map(choice.takes, ("layer_index", "layer_count"))) or _reads_layer(attention):
            return "it differs from layer to layer"
        if type(attention.project) not in (Packed, PerHead, Separate):
            return "it projects queries, keys or values in its own way"
        inside = (*attention.named_parameters(), *attention.named_buffers())
        own = [name for name, _ in inside if name.split(".")[0] not in ("project", "out")]
        if own:
            return f"it has weights or tables of its own, such as '{own[0]}'"
        if not _is_its_mixing(attention.eval(), rotate=choice.can("rotate")):
            return "it does more than its 'mix': before it, around it or after it"
    except Exception as error:  # noqa: BLE001 - of a plug-in
        return f"it failed on a small input: {one_line(error)}"
    return ""


def _reads_layer(attention: ProjectedAttention) -> bool:
    """Whether a method of its own is given the LayerContext, which Transformers does not have."""
    context = LayerContext(Tokens.whole(1), NO_ENCODING)
    inherited = (ProjectedAttention.queries_keys_values, MultiHead.mix, Fused.mix)
    methods = ("queries_keys_values", "adjust", "mix", "attend", "output")
    own = [m for m in methods if getattr(type(attention), m, None) not in (None, *inherited)]
    return any(with_layer(attention, method, context) for method in own)


@torch.no_grad()
def _is_its_mixing(attention: ProjectedAttention, *, rotate: bool) -> bool:
    """Whether projections, a rotation and ``mixed`` give what the whole attention gives."""
    with seeded(0, "input"):
        x = torch.randn(2, 6, 16)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    tokens = Tokens(mask, torch.arange(6), in_order=True)
    encoding = Rotary if rotate else PositionalEncoding
    position = encoding(dim=16, heads=2, head_dim=8, max_length=6)
    q, k, v = attention.project(x, x)
    q, k = position.rotate(q, tokens.positions), position.rotate(k, tokens.positions)
    heads = mixed(attention, q, k, v, mask)
    found = attention.out(heads.transpose(1, 2).flatten(2))[mask]
    return torch.allclose(found, attention(x, tokens=tokens, position=position)[mask], atol=1e-5)
