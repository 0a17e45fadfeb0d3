"""The two functions by which a model of Transformers calls an attention of the zoo."""

from __future__ import annotations

import functools
import math
from typing import Any

from torch import Tensor, nn
from transformers.masking_utils import bidirectional_mask_function, sdpa_mask
from transformers.utils.import_utils import is_tracing

from zoo.components.attention.base import MultiHead, ProjectedAttention
from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, may_attend
from zoo.errors import ZooError
from zoo.models.seeding import seeded
from zoo.registry import Choice

UNSUPPORTED = ("softcap", "s_aux")  # of some models: scores that are not q·k alone


class AttentionFunctions:
    """An attention as Transformers calls it: one function for masks, one for the heads."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.any_mask = takes_any_mask(build_attention(choice, 2, 16))
        self._core = functools.lru_cache(maxsize=8)(self._new_core)

    def _new_core(self, heads: int, dim: int, dropout: float, training: bool) -> ProjectedAttention:
        """The attention without its projections, which are the model's."""
        core: ProjectedAttention = build_attention(self.choice, heads, dim, dropout)
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
    for those that ``takes_any_mask``, as for bias.
    """
    keys = Tokens.whole(k.shape[2], k.device)
    if mask is not None and mask.dim() == 2:
        keys = Tokens(mask.bool(), keys.positions)
    queries = keys if q.shape[2] == k.shape[2] else Tokens.whole(q.shape[2], q.device)
    if not takes_any_mask(attention):
        return attention.mix(q, k, v, LayerContext(queries, context_tokens=keys))
    assert isinstance(attention, MultiHead)
    if mask is None or mask.dim() == 2:
        mask = may_attend(queries, keys, causal=False)
    else:
        # Without a key to attend to, any output will do but NaN: nobody reads it.
        mask = mask | ~mask.any(dim=-1, keepdim=True)
    return attention.attend(q, k, v, mask, bias)


def takes_any_mask(attention: ProjectedAttention) -> bool:
    """Whether its ``attend`` is all that it does with masks."""
    if not isinstance(attention, MultiHead):
        return False
    kind = type(attention)
    # That of fused is another for texts packed without padding alone, which none are here.
    mixes = MultiHead.mix, Fused.mix
    return kind.mix in mixes and kind.mask_and_bias is MultiHead.mask_and_bias


def build_attention(choice: Choice, heads: int, dim: int, dropout: float = 0.0) -> Any:
    """The attention, without touching torch's random numbers; whatever its factory returns."""
    with seeded(0, "attention"):
        return choice.build(dim, heads, dropout=dropout)
