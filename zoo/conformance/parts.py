"""One adaptor that builds, draws and calls any part, in a known state."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from typing import Any, Self

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.attention.split import Split
from zoo.components.block.base import Block
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import NO_POSITIONS, PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import EXACT, finite, has_shape, must
from zoo.conformance.outcomes import CheckSettings, CheckSkipped
from zoo.conformance.reference import ContentBias, ReferenceEncoding
from zoo.data.tokenizer import SPECIALS
from zoo.models.seeding import seeded
from zoo.registry import Choice
from zoo.registry.kinds import PASSED

# All different, √(DIM / HEADS) from HEADS too, so that one used in place of another shows.
BATCH, DIM, HEADS, HIDDEN, MAX_LENGTH = 3, 16, 2, 40, 600
# What every part of a layer is offered when it is built: the first layer, whose parts need nothing
# that an earlier one leaves.
PLACE = {"layer_index": 0, "layer_count": 4}
LAST = {**PLACE, "layer_index": PLACE["layer_count"] - 1}
JITTER, DROPOUT = 0.1, 0.5
VOCAB, CLASSES, BASELINE_MOST = 50, 4, 32
VOCABULARY = [*SPECIALS, *(f"word{i}" for i in range(VOCAB - len(SPECIALS)))]
# What a factory must give; one of another kind, any module.
CONTRACTS: dict[str, type[nn.Module]] = {
    "attention": Attention,
    "pe": PositionalEncoding,
    "block": Block,
    "pool": Pool,
}


@dataclass(frozen=True)
class Way:
    """How a part is called. encoded: with an encoding. first: the first token's position."""

    name: str
    encoded: bool = False
    padded: bool = False
    causal: bool = False
    cross: bool = False
    first: int = 0


PLAIN, PADDED = Way("plain"), Way("padded", padded=True)
CAUSAL = Way("causal", encoded=True, padded=True, causal=True)
CROSS = replace(CAUSAL, name="cross", cross=True)


@dataclass(frozen=True)
class Call:
    """What a part is called with: x (B, L, D) or ids (B, L), its tokens, and the way.

    context: keys and values of an attention, or a block's memory. more: further fields of the
    layer's context.
    """

    x: Tensor
    tokens: Tokens
    way: Way = PLAIN
    context: Tensor | None = None
    context_tokens: Tokens | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = f", rows {self.more['read']}" if self.more.get("read") else ""
        return f"{self.way.name}{rows}, {self.x.shape[1]} tokens"

    @property
    def inputs(self) -> dict[str, Tensor]:
        """What gradients are taken of, by name."""
        named = {"x": self.x, "context": self.context}
        return {n: x for n, x in named.items() if x is not None and x.is_floating_point()}

    def map(self, change: Callable[[Tensor], Tensor]) -> Call:
        """The same call with every tensor changed: inputs, masks and positions."""

        def changed(value: Any) -> Any:
            if isinstance(value, Tokens):
                mask, positions = map(changed, (value.attention_mask, value.positions))
                return replace(value, attention_mask=mask, positions=positions)
            return change(value) if isinstance(value, Tensor) else value

        return replace(self, **{f.name: changed(getattr(self, f.name)) for f in fields(self)})

    def with_inputs(self, change: Callable[[Tensor], Tensor]) -> Call:
        """The same call with changed inputs."""
        return self.map(lambda t: change(t) if t.is_floating_point() else t)

    def leaves(self) -> Call:
        """The same call with copies of the inputs, which require gradients."""
        return self.with_inputs(lambda x: x.detach().clone().requires_grad_())

    def columns(self, rows: slice, **more: Any) -> Call:
        """The call with these positions of L alone."""
        return replace(self.but(**more), x=self.x[:, rows], tokens=self.tokens[rows])

    def but(self, **more: Any) -> Call:
        """The call with further fields of the layer's context."""
        return replace(self, more={**self.more, **more})


class Part:
    """Builds one choice as the contract of its kind says, and calls it where it is a torch module.

    dim, heads, hidden, max_length, place, sizes: what it is built with. cross, ffn, norm: whether a
    block has a cross-attention and a feed-forward network, and what makes its norms. bias: of
    an encoding: by content where it takes that, for each of the heads, or one.
    ids: whether it takes token ids. per_text: whether it gives one output a text, not one a token.
    pads: whether padding never matters. sides: where it may stand. tolerance: of two ways of
    computing the same. quiet: whether training without dropout is deterministic. files: the
    single-file plug-ins in use. model: the kind of model that it stands in; empty for none.
    """

    dim, heads, hidden, place = DIM, HEADS, HIDDEN, PLACE
    sizes = Sizes(dim=8, layers=1, heads=2, ffn_dim=16, max_length=BASELINE_MOST, vocab_size=VOCAB)
    cross, ffn, bias = False, True, "content"
    norm: Callable[[], nn.Module] | None = None
    model = ""

    def __init__(self, choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> None:
        self.choice, self.settings, self.files = choice, settings, files
        self.kind, self.can = choice.component.kind, choice.can
        self.passes = PASSED.get(self.kind, ())  # names of arguments
        self.contract = CONTRACTS.get(self.kind, nn.Module)
        self.ids = baseline = self.kind == "baseline"
        self.per_text = self.kind in ("pool", "baseline")
        self.pads = self.kind != "attention" or self.can("padding")
        self.sides = ("right",) if baseline else ("right", "left", "inner")
        self.tolerance = 1e-6 if baseline else EXACT
        self.max_length = BASELINE_MOST if baseline else MAX_LENGTH
        self.quiet = not (baseline or self.can("random"))

    def make(self, dropout: float = 0.0) -> Any:
        """Call the factory with the contract's arguments."""
        build, can, dim, heads = self.choice.build, self.can, self.dim, self.heads
        of_layer, more = {"offered": self.place}, dict[str, Any]()
        match self.kind:
            case "attention":
                more = {"max_length": self.max_length} if can("fixed-length") else {}
                return build(dim, heads, dropout=dropout, **of_layer, **more)
            case "pe":
                more = {"head_dim": dim // heads, "max_length": self.max_length}
                return build(dim=dim, heads=heads, **of_layer, **more)
            case "norm":
                return build(dim, **of_layer)
            case "ffn":
                return build(dim, self.hidden, dropout, **of_layer)
            case "block":
                make_ffn = partial(PlainFFN, dim) if self.ffn else lambda: None
                more = {"cross": Split(dim, heads)} if self.cross else {}
                parts = Split(dim, heads), make_ffn(), self.norm or partial(nn.LayerNorm, dim)
                offered = {**self.place, "make_ffn": make_ffn}
                return build(*parts, dropout=dropout, offered=offered, **more)
            case "pool":
                return build(dim)
            case "baseline" if can("stream") or can("masked"):
                return build(vocab_size=VOCAB)
            case "baseline" if can("tokens"):
                more = {"vocabulary": VOCABULARY} if can("vocabulary") else {}
                more |= {"head_hidden": 0} if can("head") else {}
                more |= {"classes": CLASSES, "sizes": self.sizes, "dropout": dropout}
                return build(vocab_size=VOCAB, **more)
        return build()

    def but(self, **changes: Any) -> Self:
        """The same adaptor with other attributes."""
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def with_parameters(self, **parameters: Any) -> Self:
        """The same with these parameters of the component, and defaults for the others."""
        return self.but(choice=replace(self.choice, parameters=parameters))

    def at(self, dim: int, heads: int, hidden: int = HIDDEN) -> Self:
        """The same for parts of other sizes."""
        return self.but(dim=dim, heads=heads, hidden=hidden)

    @property
    def ways(self) -> Sequence[Way]:
        """Every way of calling that the contract and the declared capabilities allow."""
        can = self.can
        match self.kind:
            case "attention":
                encoded = any(map(can, ("rotate", "bias", "content-bias")))
                full = Way("encoded", encoded, self.pads)
                ways = [] if can("causal-only") else [PLAIN, full]
                if can("causal"):
                    full_causal = replace(full, name="causal", causal=True)
                    ways += [Way("plain causal", causal=True), full_causal]
                return [*ways, replace(full, name="cross", cross=True)] if can("cross") else ways
            case "pe":
                far = Way("far positions", encoded=True, first=MAX_LENGTH)
                return (Way("encoded", True, True), CAUSAL, far)
            case "norm":
                return (PLAIN,)
            case "block":
                uncausal = replace(CAUSAL, name="padded", causal=False)
                return (CROSS,) if self.cross else (uncausal, CAUSAL)
            case "ffn" if can("causal"):
                return (PLAIN, PADDED, replace(CAUSAL, encoded=False))
        return (PLAIN, PADDED)

    @property
    def shown_ways(self) -> list[Way]:
        """The ways that differ in more than padding."""
        return list({(w.encoded, w.causal, w.cross): w for w in self.ways if not w.first}.values())

    def out_dim(self, module: Any) -> int:
        """The width of an output."""
        own = module.width if self.kind == "pool" else None
        return own or {"pe": 4 * self.dim, "baseline": CLASSES}.get(self.kind, self.dim)

    def encoding(self, gain: Tensor | float = 1.0, without: str = "") -> ReferenceEncoding:
        """What an encoded call has, with every slot that it may, or all but one.

        gain: a factor of what it does.
        """

        def has(slot: str) -> bool:
            of_block = self.kind == "block" and slot != "content-bias"
            return slot != without and (of_block or self.can(slot))

        content = has("content-bias") and self.bias == "content"
        kind = ContentBias if content else ReferenceEncoding
        heads = 1 if self.bias == "one" or self.can("one-head") else self.heads
        return kind(has("rotate"), has("bias"), heads=heads, gain=gain)

    def layer(self, call: Call) -> LayerContext:
        """The context of a call in the layer at ``place``."""
        across = "memory" if self.kind == "block" else "context"
        fields: dict[str, Any] = {across: call.context, f"{across}_tokens": call.context_tokens}
        fields |= {"index": self.place["layer_index"], "count": self.place["layer_count"]}
        fields["position"] = self.encoding() if call.way.encoded else NO_POSITIONS
        return LayerContext(call.tokens, **{"causal": call.way.causal, **fields, **call.more})

    def call(self, module: Any, call: Call) -> Any:
        """What it gives."""
        match self.kind:
            case "norm":
                return module(call.x)
            case "pool":
                return module(call.x, call.tokens.attention_mask)
            case "baseline":
                return module(call.x, call.tokens)
        return module(call.x, self.layer(call))

    def run(self, module: Any, call: Call) -> Tensor:
        """What it gives, of the contract's shape and finite, with zeros in rows of padding."""
        out: Tensor = self.call(module, call)
        must(isinstance(out, Tensor), f"{call}: gives a {type(out).__name__}, no tensor")
        read, (texts, length) = call.more.get("read") or slice(None), call.x.shape[:2]
        rows = [] if self.per_text else [len(range(length)[read])]
        has_shape(out, (texts, *rows, self.out_dim(module)), f"{call}: output")
        finite(out, f"{call}: output")
        mask = call.tokens.attention_mask
        return out if self.per_text or mask is None else out.masked_fill(~mask[:, read, None], 0)

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: float = JITTER,
    ) -> Any:
        """The part in evaluation mode, its weights drawn from the seed.

        jitter: the size of noise added to every weight, so that no check passes only because one is
        initialised to zero or one. Raises CheckSkipped where the factory gives None and may.
        """
        with seeded(self.settings.seed + seed, "checks/build"):
            made = self.make(dropout)
            if made is None and self.kind == "ffn":
                raise CheckSkipped("it builds nothing, which its kind allows")
            made = is_a(made, self.contract)
            if isinstance(made, PositionalEncoding):
                made = Probe(made, self.dim, self.heads)
            perturb(made, jitter)
        return made.to(dtype).eval()

    def draw(self, length: int, *, seed: int = 0, texts: int = BATCH) -> Tensor:
        """Texts (B, L, D) in float64, or ids (B, L), the same first ones whatever their number."""
        draws = [self.generator(seed, text) for text in range(texts)]
        if self.ids:
            first = len(SPECIALS)
            return torch.stack([torch.randint(first, VOCAB, (length,), generator=g) for g in draws])
        x = torch.stack([normal(g, length, self.dim) for g in draws])
        return 1 + 2 * x if self.kind in ("norm", "ffn") else x

    def calls(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Call]:
        """A call in every way: where it is padded, of a full text, half of one, and one token.

        And of a block one for a few rows. texts: which of the batch; each has the same values
        whichever are taken.
        """

        def inputs(n: int, way: Way) -> tuple[Tensor, Tokens]:
            counts = torch.tensor([n, (n + 1) // 2, 1])[texts]
            mask = torch.arange(n) < counts[:, None] if way.padded else None
            x = self.draw(n, seed=seed + n)[texts]
            positions = torch.arange(n) + min(way.first, self.max_length - n)
            x = x.to(dtype) if x.is_floating_point() else x
            return x, Tokens(mask, positions, in_order=True)

        calls = [
            Call(*inputs(length, way), way, *(inputs(length + 3, way) if way.cross else ()))
            for way in self.ways
        ]
        few = [calls[-1].but(read=slice(1, 3))] if self.kind == "block" and not self.ids else []
        return [*calls, *few]

    def generator(self, *seeds: int) -> torch.Generator:
        """A random generator of its own."""
        number = reduce(lambda number, seed: 1009 * number + seed + 1, seeds, self.settings.seed)
        return torch.Generator().manual_seed(number)


class Probe(nn.Module):
    """An encoding in an attention with large scores: (B, L, D) to (B, L, 4 D).

    What it embeds, what it rotates as queries and as keys, and what the attention then gives.
    """

    def __init__(self, encoding: PositionalEncoding, dim: int, heads: int) -> None:
        super().__init__()
        self.encoding = encoding
        self.attention = Split(dim, heads)
        with torch.no_grad():
            for name in ("q", "k"):
                self.attention.project.get_parameter(f"{name}.weight").mul_(3)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        positions, heads = layer.tokens.positions, self.attention.heads
        embedded = self.encoding.embed(x, positions)
        q = x.unflatten(-1, (heads, -1)).transpose(1, 2)
        turned = [self.encoding.rotate(q, positions), self.encoding.rotate_keys(q, positions)]
        out = self.attention(embedded, replace(layer, position=self.encoding))
        return torch.cat([embedded, *(t.transpose(1, 2).flatten(2) for t in turned), out], dim=-1)


class PlainFFN(nn.Module):
    """A feed-forward network that is smooth everywhere, and knows the length of its input."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x: Tensor, layer: LayerContext) -> Any:
        tokens = layer.tokens.positions.shape[-1]
        what = f"a feed-forward network is given {x.shape[1]} positions, and a context of {tokens}"
        hint = "one before the attention is called with replace(layer, read=None)"
        must(x.shape[1] == tokens, f"{what}: {hint}")
        return self.out(self.inner(x).tanh())


def is_a(made: Any, wanted: type[Any]) -> Any:
    """What a factory gave; CheckFailed unless it is what it should be."""
    named = (f"{kind.__module__}.{kind.__name__}" for kind in (type(made), wanted))
    must(isinstance(made, wanted), f"the factory gives a {', no '.join(named)}")
    return made


def forms(part: Part) -> list[Part]:
    """The part, and a block also with a cross-attention; CheckSkipped for a fitted baseline."""
    if part.kind == "baseline" and not part.can("tokens"):
        raise CheckSkipped("it is no torch module: it does not declare 'tokens'")
    crosses = part.kind == "block" and part.can("cross")
    return [part, part.but(cross=True)] if crosses else [part]


def perturb(module: nn.Module, size: float = JITTER) -> None:
    """Add noise to every parameter."""
    with torch.no_grad():
        for parameter in module.parameters() if size else ():
            parameter.add_(size * torch.randn(parameter.shape))


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers in float64."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def autocast(enabled: bool = True) -> torch.autocast:
    """As a run with ``--set precision=bf16``; or, where it is not enabled, as one without."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


def gradients(
    part: Part,
    module: nn.Module,
    call: Call,
    run: Callable[..., Tensor] | None = None,
    *,
    mixed: bool = False,
) -> dict[str, Tensor]:
    """The output, and the gradients of all inputs and weights by name.

    run: what gives the output, by default the part. mixed: whether that is under autocast.
    """
    call = call.leaves()
    with autocast(mixed):
        out = (run or part.run)(module, call)
    inputs = {f"gradient of the input {name}": x for name, x in call.inputs.items()}
    weights = {f"gradient of {name}": p for name, p in module.named_parameters() if p.requires_grad}
    leaves, result = {**inputs, **weights}, {"output": out.detach()}
    if out.requires_grad and leaves:
        total = out.double().sin().sum()
        slopes = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
        result |= zip(leaves, slopes, strict=True)
    return result
