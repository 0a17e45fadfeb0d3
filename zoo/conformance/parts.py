"""One adaptor that builds, draws and calls any part, in a known state."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any, ClassVar, Self

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
from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.conformance.reference import ContentBias, ReferenceEncoding
from zoo.data.tokenizer import SPECIALS
from zoo.errors import ZooError
from zoo.models.seeding import seeded
from zoo.registry import AXES, Choice
from zoo.registry.kinds import PASSED

MODULES = (*AXES, "baseline")
# All different, √(DIM / HEADS) from HEADS too, so that one used in place of another shows.
BATCH, DIM, HEADS, HIDDEN, MAX_LENGTH = 3, 16, 2, 40, 600
# What every part of a layer is offered when it is built: the first layer, whose parts need nothing
# that an earlier one leaves.
PLACE = {"layer_index": 0, "layer_count": 4}
LAST = {**PLACE, "layer_index": PLACE["layer_count"] - 1}
JITTER, DROPOUT = 0.1, 0.5
VOCAB, CLASSES = 50, 4
VOCABULARY = [*SPECIALS, *(f"word{i}" for i in range(VOCAB - len(SPECIALS)))]


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
        return f"{self.way.name}{rows}, {self.x.shape[-2 if self.x.dim() > 2 else -1]} tokens"

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

    contract: the type that the factory must give. dim, heads, hidden, place: what it is built with.
    ids: whether it takes token ids. per_text: whether it gives one output a text, not one a token.
    cross: whether a block has a cross-attention. tolerance: of two ways of computing the same.
    sides: where padding may stand. pads: whether padding never matters. files: the single-file
    plug-ins in use.
    """

    contract: ClassVar[Any] = object
    dim, heads, hidden, max_length = DIM, HEADS, HIDDEN, MAX_LENGTH
    place: Mapping[str, int] = PLACE
    ids, per_text, cross = False, False, False
    tolerance = EXACT
    sides: tuple[str, ...] = ("right", "left", "inner")

    def __init__(self, choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> None:
        self.choice, self.settings, self.files = choice, settings, files
        self.kind, self.can = choice.component.kind, choice.can
        self.passes = PASSED.get(self.kind, ())  # names of arguments

    def make(self, dropout: float = 0.0) -> Any:
        """Call the factory with the contract's arguments."""
        return self.choice.build()

    def but(self, **changes: Any) -> Self:
        """The same adaptor with other attributes."""
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def given(self, **parameters: Any) -> Self:
        """The same with these parameters of the component, and defaults for the others."""
        choice = replace(self.choice, parameters=parameters)
        return self.but(choice=choice, can=choice.can)

    def at(self, dim: int, heads: int, hidden: int = HIDDEN) -> Self:
        """The same for parts of other sizes."""
        return self.but(dim=dim, heads=heads, hidden=hidden)

    @property
    def ways(self) -> Sequence[Way]:
        """Every way of calling that the declared capabilities allow."""
        return (PLAIN,)

    @property
    def shown_ways(self) -> list[Way]:
        """The ways that differ in more than padding."""
        return list({(w.encoded, w.causal, w.cross): w for w in self.ways if not w.first}.values())

    @property
    def pads(self) -> bool:
        return True

    @property
    def quiet(self) -> bool:
        """Whether training without dropout is deterministic."""
        return not self.can("random")

    @property
    def out_dim(self) -> int:
        """The width of an output."""
        return self.dim

    def encoding(self, gain: Tensor | float = 1.0) -> PositionalEncoding:
        """What an encoded call has. gain: a factor of what it does."""
        return NO_POSITIONS

    def layer(self, call: Call) -> LayerContext:
        """The context of a call in the layer at ``place``."""
        across = "memory" if self.kind == "block" else "context"
        fields: dict[str, Any] = {across: call.context, f"{across}_tokens": call.context_tokens}
        fields |= {"index": self.place["layer_index"], "count": self.place["layer_count"]}
        fields["position"] = self.encoding() if call.way.encoded else NO_POSITIONS
        return LayerContext(call.tokens, **{"causal": call.way.causal, **fields, **call.more})

    def call(self, module: Any, call: Call) -> Any:
        """What it gives."""
        return module(call.x, self.layer(call))

    def run(self, module: Any, call: Call) -> Tensor:
        """What it gives, of the contract's shape and finite, with zeros in rows of padding."""
        out: Tensor = self.call(module, call)
        must(isinstance(out, Tensor), f"{call}: gives a {type(out).__name__}, no tensor")
        read, (texts, length) = call.more.get("read") or slice(None), call.x.shape[:2]
        rows = [] if self.per_text else [len(range(length)[read])]
        has_shape(out, (texts, *rows, self.out_dim), f"{call}: output")
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
            made = self.make(dropout if "dropout" in self.passes else 0.0)
            wanted, *others = getattr(self.contract, "__args__", (self.contract,))
            if made is None and others:
                raise CheckSkipped("it builds nothing, which its kind allows")
            if not isinstance(made, wanted):
                named = (f"{kind.__module__}.{kind.__name__}" for kind in (type(made), wanted))
                raise CheckFailed(f"the factory gives a {', no '.join(named)}")
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
        return torch.stack([normal(g, length, self.dim) for g in draws])

    def calls(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Call]:
        """A call in every way: where it is padded, of a full text, half of one, and one token.

        texts: which of the batch; each has the same values whichever are taken.
        """

        def inputs(n: int, way: Way) -> tuple[Tensor, Tokens]:
            counts = torch.tensor([n, (n + 1) // 2, 1])[texts]
            mask = torch.arange(n) < counts[:, None] if way.padded else None
            x = self.draw(n, seed=seed + n)[texts]
            x = x.to(dtype) if x.is_floating_point() else x
            return x, Tokens(mask, torch.arange(n), in_order=True)

        calls = []
        for way in self.ways:
            x, tokens = inputs(length, way)
            positions = tokens.positions + min(way.first, self.max_length - length)
            context = inputs(length + 3, way) if way.cross else (None, None)
            calls.append(Call(x, replace(tokens, positions=positions), way, *context))
        return calls

    def generator(self, *seeds: int) -> torch.Generator:
        """A random generator of its own."""
        number = reduce(lambda number, seed: 1009 * number + seed + 1, seeds, self.settings.seed)
        return torch.Generator().manual_seed(number)


class AttentionPart(Part):
    """Builds ``Attention(dim, heads, dropout=…)``."""

    contract = Attention

    def make(self, dropout: float = 0.0) -> Any:
        fixed = {"max_length": self.max_length} if self.can("fixed-length") else {}
        return self.choice.build(self.dim, self.heads, dropout=dropout, offered=self.place, **fixed)

    @property
    def pads(self) -> bool:
        return self.can("padding")

    @property
    def ways(self) -> Sequence[Way]:
        """Plain, then with each encoding that it can take, causal, and with a context."""
        encoded = any(map(self.can, ("rotate", "bias", "content-bias")))
        full = Way("encoded", encoded, self.pads)
        ways = [] if self.can("causal-only") else [PLAIN, full]
        if self.can("causal"):
            ways += [Way("plain causal", causal=True), replace(full, name="causal", causal=True)]
        return [*ways, replace(full, name="cross", cross=True)] if self.can("cross") else ways

    def encoding(self, gain: Tensor | float = 1.0) -> PositionalEncoding:
        """The reference encoding with every declared slot."""
        kind = ContentBias if self.can("content-bias") else ReferenceEncoding
        heads = 1 if self.can("one-head") else self.heads
        return kind(self.can("rotate"), self.can("bias"), heads=heads, gain=gain)


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
        for rotated in turned:
            has_shape(rotated, q.shape, "what it rotates")
        out = self.attention(embedded, replace(layer, position=self.encoding))
        return torch.cat([embedded, *(t.transpose(1, 2).flatten(2) for t in turned), out], dim=-1)


class EncodingPart(Part):
    """Builds ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)``; called in a Probe."""

    contract = PositionalEncoding
    ways = (
        Way("encoded", True, True),
        CAUSAL,
        Way("far positions", True, first=MAX_LENGTH),
    )

    def make(self, dropout: float = 0.0) -> Any:
        sizes = {"dim": self.dim, "heads": self.heads, "head_dim": self.dim // self.heads}
        return self.choice.build(**sizes, max_length=self.max_length, offered=self.place)

    @property
    def out_dim(self) -> int:
        return 4 * self.dim


class NormPart(Part):
    """Builds ``Norm(dim)``, which takes each token by itself."""

    contract = nn.Module

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim, offered=self.place)

    def draw(self, length: int, **options: Any) -> Tensor:
        return 1 + 2 * super().draw(length, **options)

    def call(self, module: Any, call: Call) -> Any:
        return module(call.x)


class FFNPart(NormPart):
    """Builds ``FFN(dim, hidden, dropout)``; None is a layer without a feed-forward network."""

    contract = nn.Module | None
    call = Part.call

    @property
    def ways(self) -> Sequence[Way]:
        """Plain, padded and, where it reads the past alone, causal."""
        causal = replace(CAUSAL, encoded=False)
        return [PLAIN, PADDED, causal] if self.can("causal") else [PLAIN, PADDED]

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim, self.hidden, dropout, offered=self.place)


class PoolPart(Part):
    """Builds ``Pool(dim)`` and calls it with and without a mask."""

    contract = Pool
    per_text = True
    ways = (PLAIN, PADDED)

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(self.dim)

    def call(self, module: Any, call: Call) -> Any:
        return module(call.x, call.tokens.attention_mask)

    @property
    def out_dim(self) -> int:
        return int(getattr(self.build(), "width", None) or self.dim)


class PlainFFN(nn.Module):
    """A feed-forward network that is smooth everywhere, and knows the length of its input."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 2 * dim), nn.Tanh(), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor, layer: LayerContext) -> Any:
        tokens = layer.tokens.positions.shape[-1]
        what = f"a feed-forward network is given {x.shape[1]} positions, and a context of {tokens}"
        hint = "one before the attention is called with replace(layer, read=None)"
        must(x.shape[1] == tokens, f"{what}: {hint}")
        return self.layers(x)


class BlockPart(Part):
    """Builds ``Block(attention, ffn, norm, dropout=, cross=)`` from plain parts.

    ffn: with a feed-forward network. norm: makes its norms; None: layer norm.
    """

    contract = Block
    ffn = True
    norm: Callable[[], nn.Module] | None = None

    @property
    def ways(self) -> Sequence[Way]:
        """Causal or not, with a memory where it has a cross-attention."""
        if self.cross:
            return [replace(CAUSAL, name="cross", cross=True)]
        return [replace(CAUSAL, name="padded", causal=False), CAUSAL]

    def make(self, dropout: float = 0.0) -> Any:
        def make_ffn() -> PlainFFN | None:
            return PlainFFN(self.dim) if self.ffn else None

        return self.choice.build(
            Split(self.dim, self.heads),
            make_ffn(),
            self.norm or (lambda: nn.LayerNorm(self.dim)),
            dropout=dropout,
            offered={**self.place, "make_ffn": make_ffn},
            **({"cross": Split(self.dim, self.heads)} if self.cross else {}),
        )

    def calls(self, *args: Any, **options: Any) -> list[Call]:
        """As of every part, and for a few rows."""
        calls = super().calls(*args, **options)
        return [*calls, calls[-1].but(read=slice(1, 3))]

    def encoding(self, gain: Tensor | float = 1.0) -> PositionalEncoding:
        return ReferenceEncoding(rotates=True, biases=True, heads=self.heads, gain=gain)


class BaselinePart(Part):
    """Builds ``Baseline(vocab_size=, classes=, sizes=, dropout=)``.

    One that learns from texts takes none of these, one that learns from token ids only
    ``vocab_size``.
    """

    contract = nn.Module
    ids, per_text, quiet = True, True, False
    tolerance, max_length, out_dim = 1e-6, 32, CLASSES
    sides = ("right",)
    ways = (PLAIN, PADDED)

    def make(self, dropout: float = 0.0, classes: int = CLASSES, sizes: Sizes | None = None) -> Any:
        if self.can("stream") or self.can("masked"):
            return self.choice.build(vocab_size=VOCAB)
        if not self.can("tokens"):
            return self.choice.build()
        more: dict[str, Any] = {"vocabulary": VOCABULARY} if self.can("vocabulary") else {}
        more |= {"head_hidden": 0} if self.can("head") else {}
        own = Sizes(dim=8, layers=1, heads=2, ffn_dim=16, max_length=32, vocab_size=VOCAB)
        options = {"classes": classes, "sizes": sizes or own, "dropout": dropout, **more}
        return self.choice.build(vocab_size=VOCAB, **options)

    def call(self, module: Any, call: Call) -> Any:
        return module(call.x, call.tokens)


PARTS: dict[str, type[Part]] = {
    "attention": AttentionPart,
    "pe": EncodingPart,
    "norm": NormPart,
    "ffn": FFNPart,
    "block": BlockPart,
    "pool": PoolPart,
    "baseline": BaselinePart,
}


def part_of(choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> Part:
    """The adaptor of a choice."""
    return PARTS.get(choice.component.kind, Part)(choice, settings, files)


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


def other_values(value: object) -> list[Any]:
    """Other values of a parameter, where it is a number or a switch."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1] if value else [1]
    if isinstance(value, float):
        return [value / 2, 2 * value, value / 100, 100 * value] if value else [0.5]
    return []


def parameters_act(
    part: Part, given: Mapping[str, Any], differ: Callable[[Any, Any], bool]
) -> None:
    """Fail unless each parameter that is a number or a switch acts, or refuses other values.

    given: the parameters that are not at their defaults. differ: whether two parts do.
    """
    for name, default in part.choice.component.parameters.items():
        plain, tried = given.get(name, default), []
        for value in other_values(plain):
            # It may refuse the value, or the sizes with it.
            with contextlib.suppress(ZooError, ValueError, TypeError, CheckFailed):
                if differ(part.given(**given), part.given(**{**given, name: value})):
                    break
                tried.append(repr(value))
        else:
            what = f"'{name}' changes nothing: with {' or '.join(tried)}"
            must(not tried, f"{what} there is bit by bit what there is with {plain!r}")


def gradients(
    part: Part, module: nn.Module, call: Call, run: Callable[..., Tensor] | None = None
) -> dict[str, Tensor]:
    """The output, and the gradients of all inputs and weights by name."""
    call = call.leaves()
    out = (run or part.run)(module, call)
    inputs = {f"gradient of the input {name}": x for name, x in call.inputs.items()}
    weights = {f"gradient of {name}": p for name, p in module.named_parameters() if p.requires_grad}
    leaves, result = {**inputs, **weights}, {"output": out.detach()}
    if out.requires_grad and leaves:
        total = out.sin().sum()
        slopes = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
        result |= zip(leaves, slopes, strict=True)
    return result
