"""The set-up for attentions, and checks of what one takes and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention, MultiHead, ProjectedAttention
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import (
    EXACT,
    close,
    differ,
    finite,
    has_shape,
    largest,
    must,
    refusal,
)
from zoo.conformance.check import check
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.reference import (
    Cancelling,
    CausalBias,
    ContentBias,
    KeysTurned,
    ReferenceEncoding,
)
from zoo.conformance.setup import (
    BATCH,
    DIM,
    HEADS,
    MAX_LENGTH,
    PLACE,
    Case,
    Draw,
    ModuleSetup,
    first_layer,
    padded_mask,
    padded_tokens,
    token_tensors,
    with_garbage,
)
from zoo.conformance.training import LITTLE_DROPOUT, agrees, many_times, mean_is_kept
from zoo.registry import Choice

SHIFT = 7
# A short text, and one longer than the usual window that no block size divides.
LENGTHS = (6, 149)
FAR, BLOCK = 5000, 523


class AttentionSetup(ModuleSetup, kind="attention"):
    """Builds ``Attention(dim, heads, dropout=…)`` and calls it in every declared way."""

    # The base class of a variant takes its projections; no user can give them.
    passes = ("dim", "heads", "dropout", "max_length", "projection", *PLACE)
    contract = Attention
    # More than the usual window, and more than the usual block of a kernel.
    lengths = (*LENGTHS, BLOCK)

    def make(self, dropout: float = 0.0) -> Any:
        fixed: dict[str, Any] = {"max_length": MAX_LENGTH} if self.can("fixed-length") else {}
        return self.choice.build(self.dim, self.heads, dropout=dropout, offered=self.place, **fixed)

    def build(self, *args: Any, **options: Any) -> Any:
        """One that is causal by nature is called so by every check."""
        module = super().build(*args, **options)
        if self.can("causal-only"):
            module.register_forward_pre_hook(_causal)
        return module

    def encoding(self, module: Any) -> ReferenceEncoding:
        """The reference encoding with every declared slot."""
        return ReferenceEncoding(self.can("rotate"), self.can("bias"), heads=module.heads)

    def fault(self, module: Any) -> str:
        """Softmax over the queries: then it is their weights of a key that add up to one."""
        if not isinstance(module, MultiHead):
            return ""
        q, k = self.normal(2, 1, module.heads, LENGTHS[0], module.head_dim)
        out = module.attend(q, k, torch.ones_like(k), None, None)
        by_query, whole = out - 1, out.sum(dim=-2) - LENGTHS[0]
        over_queries = largest(by_query) > EXACT and largest(whole) < EXACT
        return "softmax is over the queries, not over the keys (dim=-1)" if over_queries else ""

    def tokens(self, length: int, texts: slice = slice(None)) -> Tokens:
        """Padded, if it takes padding."""
        return padded_tokens(length, texts) if self.can("padding") else Tokens.whole(length)

    def call(
        self, module: Any, x: Tensor, tokens: Tokens, *, encoded: bool = True, **more: Any
    ) -> Tensor:
        """With its encoding, or with none."""
        position = self.encoding(module) if encoded else None
        return attend(module, x, tokens, position=position, **more)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, context = draw(length, self.dim), draw(length + 3, self.dim)
        padded, keys = self.tokens(length, draw.texts), self.tokens(length + 3, draw.texts)

        def cross(module: nn.Module, x: Tensor, context: Tensor) -> Tensor:
            return attend(module, x, padded, context, keys, position=self.encoding(module))

        # Without a mask and a bias an attention may take a shorter way, each time.
        whole = Tokens.whole(length)
        cases = [self.case("plain", x, whole, encoded=False)]
        if self.can("rotate") or self.can("bias"):
            cases.append(self.case("encoded", x, whole))
        if self.can("padding"):
            cases.append(self.case("padded", x, padded))
        if self.can("causal"):
            cases.append(self.case("plain causal", x, whole, encoded=False, causal=True))
            cases.append(self.case("causal", x, padded, causal=True))
        if self.can("cross"):
            fixed = (*token_tensors(padded), *token_tensors(keys))
            cases.append(Case("cross", (x, context), cross, x.shape, fixed))
        return cases


def _causal(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    x, layer = args
    return x, replace(layer, causal=True)


def attend(
    module: nn.Module,
    x: Tensor,
    tokens: Tokens | None = None,
    context: Tensor | None = None,
    context_tokens: Tokens | None = None,
    **more: Any,
) -> Tensor:
    """Call an attention in the first layer; the defaults are whole texts and no encoding."""
    if context is not None and context_tokens is None:
        context_tokens = Tokens.whole(context.shape[1])
    whole = tokens or Tokens.whole(x.shape[1])
    layer = first_layer(whole, context=context, context_tokens=context_tokens, **more)
    out: Tensor = module(x, layer)
    return out


@check("attention")
def length(setup: AttentionSetup) -> None:
    """It takes any length, or with `fixed-length` any up to its maximum, and refuses more."""
    module, fixed = setup.build(), setup.can("fixed-length")
    for asked in (1, 2, MAX_LENGTH):
        out = attend(module, setup.normal(1, asked, DIM))
        has_shape(out, (1, asked, DIM), f"length {asked}")
        finite(out, f"length {asked}: output")
    longer = setup.normal(1, MAX_LENGTH + 1, DIM)
    error = refusal(lambda: attend(module, longer), (ValueError, IndexError))
    must(fixed or error is None, f"refuses length {MAX_LENGTH + 1}: {error}")
    what = f"built for {MAX_LENGTH} tokens, yet takes {MAX_LENGTH + 1} without a ValueError"
    must(not fixed or error is not None, what)


@check("attention")
def permutation(setup: AttentionSetup) -> None:
    """Without an encoding it is equivariant to permutation, or declares `order` and is not."""
    module, ordered = setup.build(), setup.can("order")
    off = 0.0
    # The longest is for windows and the like, which see an order only beyond some distance.
    for length in (*LENGTHS, MAX_LENGTH) if ordered else LENGTHS:
        x = setup.normal(1, length, DIM)
        shuffle = torch.randperm(length)
        shuffled, expected = attend(module, x[:, shuffle]), attend(module, x)[:, shuffle]
        off = max(off, largest(shuffled - expected))
        try:
            if not ordered:
                close(shuffled, expected, f"length {length}: output of a shuffled text")
        except CheckFailed as failure:
            raise CheckFailed(f"{failure}; if it depends on the order, declare 'order'") from None
    must(off > 1e-6 or not ordered, "declares 'order', yet is equivariant to permutation")


def _encoded(choice: Choice) -> str | None:
    able = choice.can("rotate") or choice.can("bias")
    return None if able else "it declares neither 'rotate' nor 'bias'"


@check("attention", applies=_encoded)
def positions(setup: AttentionSetup) -> None:
    """The encoding gets the positions given: any spacing, each text's own, and far ones."""
    module = setup.build()
    position, x = setup.encoding(module), setup.normal(BATCH, 6, DIM)
    near = torch.arange(6)
    each = torch.stack([near, 3 * near, 2 * near + 1])  # (B, L)
    out = attend(module, x, Tokens(None, each), position=position)
    for text in range(BATCH):
        alone = attend(module, x[text : text + 1], Tokens(None, each[text]), position=position)
        close(out[text], alone[0], f"text {text} at positions of its own against alone")
    out = attend(module, x, position=position)
    differ(attend(module, x, Tokens(None, 3 * near), position=position), out, "three times apart")
    # Crossing the lengths at which positions are likely to begin again.
    for start in () if setup.can("absolute") else (MAX_LENGTH - 3, 509, 1021, FAR):
        later = attend(module, x, Tokens(None, near + start), position=position)
        close(later, out, f"output {start} positions later", tolerance=1e-6)


@check("attention", needs="rotate")
def rotation(setup: AttentionSetup) -> None:
    """A rotation of queries and keys acts, and only through the offset of positions."""
    module, rotated = setup.build(), ReferenceEncoding(rotates=True)
    x = setup.normal(BATCH, 6, DIM)
    out = attend(module, x, position=rotated)
    differ(out, attend(module, x), "the output with and without a rotation")
    later = Tokens(None, torch.arange(6) + SHIFT)
    if not setup.can("absolute"):
        close(attend(module, x, later, position=rotated), out, f"output {SHIFT} positions later")
    if setup.can("cross") and not setup.can("absolute"):
        again = attend(module, x, later, x, later, position=rotated)
        close(again, out, f"output {SHIFT} positions later, by a context")
    apart = attend(module, x, position=KeysTurned(rotates=True))
    differ(apart, out, "the output where rotate_keys differs from rotate")


@check("attention", needs="bias")
def score_bias(setup: AttentionSetup) -> None:
    """A bias acts on the scores: a very low one hides a key from a query, and no other key."""
    module = setup.build()
    position = ReferenceEncoding(biases=True, heads=module.heads)
    x = setup.normal(BATCH, 6, DIM)
    biased = attend(module, x, position=position)
    differ(biased, attend(module, x), "the output with and without a bias")
    causal = CausalBias(heads=module.heads)
    out = attend(module, x, position=causal)
    changed = torch.cat([x[:, :3], torch.randn_like(x[:, 3:])], dim=1)
    again = attend(module, changed, position=causal)
    close(again[:, :3], out[:, :3], "rows from which a bias hides what is changed")
    differ(again[:, 3:], out[:, 3:], "rows from which nothing is hidden")
    each = Tokens(None, torch.arange(6).expand(BATCH, 6))
    close(attend(module, x, each, position=position), biased, "output for positions per text")


@check("attention", needs="content-bias")
def content_bias(setup: AttentionSetup) -> None:
    """A bias made of queries, keys and the mask acts, and what the mask hides never changes it."""
    module, position, length = setup.build(), ContentBias(), LENGTHS[0]
    x, real = setup.normal(BATCH, length, DIM), padded_mask(length)
    tokens = setup.tokens(length)
    if setup.can("exact"):
        alike = attend(module, x, position=Cancelling())
        what = "rows of the output, where a bias of -q·k / √Dh leaves no score"
        close(alike, alike[:, :1].expand(alike.shape), what)
    for causal in setup.causal_or_not:
        call = partial(attend, module, causal=causal)
        out, what = call(x, tokens, position=position), ", causal" * causal
        differ(out, call(x, tokens), f"the output with and without a bias{what}")
        if setup.can("padding"):
            dirty = call(with_garbage(x, real), tokens, position=position)
            close(dirty[real], out[real], f"real rows with other values in padding{what}")
        if causal:
            past = call(x[:, :3], tokens[:3], position=position)[real[:, :3]]
            close(past, out[:, :3][real[:, :3]], "rows 0 to 2 without a future")


@check("attention")
def dropout_scale(setup: AttentionSetup) -> None:
    """Dropout scales up what it leaves: the mean of what it mixes is that of evaluation."""
    module, x = setup.build(dropout=LITTLE_DROPOUT), many_times(setup.normal(BATCH, 6, DIM))
    if not isinstance(module, ProjectedAttention):
        return mean_is_kept(module, lambda module: attend(module, x))
    # Before ``output``, which may have a norm, whose output dropout changes in other ways.
    mix: Callable[..., Tensor] = module.mix
    mixed: list[Tensor] = []

    def seen(q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        mixed.append(mix(q, k, v, layer))
        if not module.training and largest(mix(q, k, 2 * v, layer) - 2 * mixed[-1]) > 1e-6:
            raise CheckSkipped("what it mixes is not linear in the values")
        return mixed[-1]

    def call(module: nn.Module) -> Tensor:
        out = attend(module, x)
        return mixed[-1] if mixed else out

    module.mix = seen  # type: ignore[method-assign]
    try:
        return mean_is_kept(module, call)
    finally:
        del module.mix


@check("attention")
def heads(setup: AttentionSetup) -> None:
    """The number and width of its heads are those that planning expects: heads · head_dim = dim."""
    module = setup.build()
    heads, width = (1, DIM) if setup.can("one-head") else (HEADS, DIM // HEADS)
    what = f"{module.heads} heads of width {module.head_dim} instead of {heads} of {width}"
    hint = "; one with a single head declares 'one-head'" if module.heads == 1 else ""
    must((module.heads, module.head_dim) == (heads, width), what + hint)


@check("attention")
def encoding_learns(setup: AttentionSetup) -> None:
    """What an encoding learns gets its gradient through every slot that the attention declares."""
    module, x = setup.build(), setup.normal(BATCH, 6, DIM)
    for slot in ("rotate", "bias", "content-bias"):
        if setup.can(slot):
            gain = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
            make = ContentBias if slot == "content-bias" else ReferenceEncoding
            position = make(slot == "rotate", slot == "bias", heads=module.heads, gain=gain)
            call = partial(attend, module, x, position=position)
            agrees(call, [gain], f"a number that the encoding learns, by {slot!r}")
