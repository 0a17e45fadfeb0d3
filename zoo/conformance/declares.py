"""What a part declares is true: a capability is a probe, tried both ways."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import (
    close,
    differ,
    finite,
    has_shape,
    hinting,
    largest,
    must,
    refusal,
    same,
    trying,
)
from zoo.conformance.check import check
from zoo.conformance.models import any_model
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.parts import (
    DIM,
    DROPOUT,
    HEADS,
    HIDDEN,
    LAST,
    MAX_LENGTH,
    PLACE,
    AttentionPart,
    BlockPart,
    Call,
    EncodingPart,
    ModulePart,
    Part,
    PlainFFN,
    PoolPart,
    Way,
    forms,
    normal,
    other_values,
)
from zoo.conformance.reference import KeysTurned, ReferenceEncoding
from zoo.conformance.slopes import silent
from zoo.models.key_value_cache import KeyValues
from zoo.models.seeding import seeded
from zoo.registry import AXES, KINDS

# A norm's epsilon matters, so its claims hold to some 1e-4 for inputs of the order of one.
NEAR = 1e-4
WIDE = (64, 2, 80)  # heads so wide that encodings have several frequencies


@check("declares", *KINDS)
def declares(part: Part) -> None:
    """Parameters are the factory's own and act; each capability is there if declared, only then."""
    parameters(part)
    if part.kind not in AXES:
        return
    assert isinstance(part, ModulePart)
    _contract(part)
    if part.make() is None:
        return
    {
        "attention": _attention,
        "pe": _encoding,
        "norm": _norm,
        "ffn": _ffn,
        "block": _block,
        "pool": _pool,
    }[part.kind](part)  # type: ignore[operator]
    _parameters_act(part)


def parameters(part: Part) -> None:
    """The registered parameters are the factory's own, with the same plain defaults."""
    component = part.choice.component
    declared = dict(component.parameters)
    for name, default in declared.items():
        plain = None
        with contextlib.suppress(ValueError, SyntaxError):
            plain = ast.literal_eval(repr(default))
        written = type(plain) is type(default) and plain == default
        must(written, f"the default of '{name}' is no plain value: {default!r}")
    taken = inspect.signature(component.resolve()).parameters.values()
    rest = [p for p in taken if p.name not in part.passes]
    anything = any(p.kind is p.VAR_KEYWORD for p in rest)
    named = {p.name: p.default for p in rest if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name, default in declared.items():
        what = f"'{name}' is registered"
        must(name not in part.passes, f"{what}, but the contract passes it already")
        must(name in named or anything, f"{what}, but the factory does not take it")
        if name in named:
            own = named[name]
            text = "missing" if own is inspect.Parameter.empty else repr(own)
            equal = type(own) is type(default) and own == default
            must(equal, f"{what} with {default!r}, but the factory's default is {text}")
    for name in named:
        must(name in declared, f"the factory takes '{name}', which is not registered")


def _contract(part: ModulePart) -> None:
    """The factory builds what its kind's contract says, a new one each time, with its defaults."""
    first, second = part.make(0.0), part.make(0.0)
    if not isinstance(first, part.contract):
        part.build()  # fails, and says why
    must(first is None or first is not second, "the factory gives the same object twice")
    if first is not None and second is not None:
        shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
        must(not shared, f"two of them share {len(shared)} parameters")
        bare, explicit = part.given(), part.given(**part.choice.component.parameters)
        for call in part.calls(torch.float32):
            own, other = (p.run(p.build(torch.float32), call) for p in (explicit, bare))
            same(own, other, f"{call}: output with the defaults given")


def _attention(part: AttentionPart) -> None:
    module, fixed = part.build(), part.can("fixed-length")
    plain = part.shown_ways[0]

    def attend(x: Tensor, positions: Any = None, way: Way = plain, **how: Any) -> Tensor:
        tokens = Tokens.whole(x.shape[1]) if positions is None else Tokens(None, positions)
        return part.call(module, Call(x, tokens, way), **how)

    heads, width = (1, DIM) if part.can("one-head") else (HEADS, DIM // HEADS)
    what = f"{module.heads} heads of width {module.head_dim} instead of {heads} of {width}"
    hint = "; one with a single head declares 'one-head'" if module.heads == 1 else ""
    must((module.heads, module.head_dim) == (heads, width), what + hint)
    for length in (1, 2, MAX_LENGTH):
        with trying(f"{length} tokens"):
            has_shape(attend(part.draw(length)[:1]), (1, length, DIM), f"{length} tokens")
    longer = part.draw(MAX_LENGTH + 1)[:1]
    error = refusal(lambda: attend(longer), (ValueError, IndexError))
    must(fixed or error is None, f"refuses length {MAX_LENGTH + 1}: {error}")
    what = f"built for {MAX_LENGTH} tokens, yet takes {MAX_LENGTH + 1} without a ValueError"
    must(not fixed or error is not None, what)
    if not plain.causal:
        _order(part, attend)
    x, near = part.draw(6), torch.arange(6)
    for way in part.shown_ways:
        out = attend(x, way=way) if not way.cross else None
        if out is not None and (way.causal or not part.can("causal-only")):
            changed = torch.cat([torch.randn_like(x[:, :1]), x[:, 1:]], dim=1)
            differ(
                attend(changed, way=way)[:, 1:], out[:, 1:], "the later rows after changing row 0"
            )
        if out is not None and way.encoded:
            apart = attend(x, 3 * near, way)
            differ(apart, out, f"{way.name}: output at positions three times apart")
        if out is not None and way.causal and not part.can("causal-only"):
            free = attend(x, way=replace(way, causal=False))
            differ(free, out, f"{way.name}: a call that is not causal against a causal one")
    if part.can("cross"):
        call = next(call for call in part.calls() if call.way.cross)
        assert call.context is not None
        other = replace(call, context=torch.randn_like(call.context))
        differ(part.run(module, other), part.run(module, call), "output for another context")
    if part.can("rotate"):
        rotated, turned = (kind(rotates=True) for kind in (ReferenceEncoding, KeysTurned))
        out = attend(x, position=rotated)
        differ(out, attend(x), "the output with and without a rotation")
        differ(attend(x, position=turned), out, "the output where rotate_keys differs from rotate")
    if part.can("bias"):
        biased = attend(x, position=ReferenceEncoding(biases=True, heads=module.heads))
        differ(biased, attend(x), "the output with and without a bias")
    if part.can("content-bias"):
        contents = type(part.encoding(1))()
        differ(attend(x, position=contents), attend(x), "the output with a bias of the content")


def _order(part: AttentionPart, attend: Callable[..., Tensor]) -> None:
    """Without an encoding it is equivariant to permutation, or declares `order` and is not."""
    ordered, off = part.can("order"), 0.0
    # The longest is for windows and the like, which see an order only beyond some distance.
    for length in (6, 149, MAX_LENGTH) if ordered else (6, 149):
        x = part.draw(length)[:1]
        shuffle = torch.randperm(length)
        shuffled, expected = attend(x[:, shuffle]), attend(x)[:, shuffle]
        off = max(off, largest(shuffled - expected))
        with hinting("if it depends on the order, declare 'order'"):
            if not ordered:
                close(shuffled, expected, f"length {length}: output of a shuffled text")
    must(off > 1e-6 or not ordered, "declares 'order', yet is equivariant to permutation")


def _scores(encoding: PositionalEncoding, q: Tensor, k: Tensor | None = None) -> Tensor:
    """The bias expanded to (…, H, Lq, Lk), as attention adds it; zeros where there is none."""
    k = q if k is None else k
    bias = encoding.bias(q, k)
    if bias is None:
        return torch.zeros(HEADS, q.shape[-1], k.shape[-1], dtype=torch.float64)
    return bias.expand(*bias.shape[:-3], HEADS, q.shape[-1], k.shape[-1])


def _encoding(part: EncodingPart) -> None:
    encoding, can = part.build().encoding, part.can
    length, generator = 6, part.generator()
    x, whole = normal(generator, 3, length, DIM), torch.arange(length)
    heads = normal(generator, 3, HEADS, length, DIM // HEADS)

    def contents(positions: Tensor) -> Tensor:
        bias = encoding.content_bias(heads, heads.flip(1), positions, positions, None)
        return heads.new_zeros(3, HEADS, length, length) if bias is None else bias

    bias, content = _scores(encoding, whole), contents(whole)
    turned = encoding.rotate(heads, whole), encoding.rotate_keys(heads, whole)
    acts = {
        "embed": not torch.equal(encoding.embed(x, whole), x),
        "rotate": any(not torch.equal(t, heads) for t in turned),
        # A constant added to all scores of a query changes no softmax.
        "bias": largest(bias - bias[..., :1]) > 0,
        "content-bias": largest(content - content[..., :1]) > 0,
    }
    finite(bias, "bias")
    for slot, does in acts.items():
        must(does or not can(slot), f"declares {slot!r}, yet that slot changes nothing")
        must(can(slot) or not does, f"its {slot} acts, but {slot!r} is not declared")
    for training, positions in itertools.product(
        (False, True), (torch.arange(40), torch.stack([torch.arange(40), 2 * torch.arange(40)]))
    ):
        placed = encoding.train(training).place(positions)
        has_shape(placed, positions.shape, "positions that it places a text at")
        increasing = bool((placed.diff(dim=-1) > 0).all())
        must(increasing, f"places a text where positions do not increase: {placed[..., :6]}")
    encoding.eval()
    if can("embed"):
        added = encoding.embed(torch.zeros_like(x), whole)
        close(encoding.embed(x, whole) - x, added, "what is added to embeddings and to zeros")
    if can("rotate") and not can("scaled"):
        for first, rotate in itertools.product((0, 500), (encoding.rotate, encoding.rotate_keys)):
            # Looser than rounding in float64: angles may be computed in float32.
            norms = rotate(heads, whole + first).norm(dim=-1)
            close(norms, heads.norm(dim=-1), f"norms at positions from {first} on", tolerance=1e-6)
    if can("bias"):
        off = largest(bias - bias.mT)
        what = f"bias of (i, j) and (j, i) differ by {off:.3g}: declare 'directed'"
        must(off < 1e-9 or can("directed"), what)
        must(off > 1e-9 or not can("directed"), "declares 'directed', yet its bias is symmetric")
    _length_of_encoding(part, encoding, x, heads)
    _order_of_encoding(part, encoding, 3 * x[:1])


def _length_of_encoding(
    part: EncodingPart, encoding: PositionalEncoding, x: Tensor, heads: Tensor
) -> None:
    """Every position below its maximum; with `fixed-length` no more; heads of any width."""
    fixed = part.can("fixed-length")

    def all_slots(positions: Tensor) -> None:
        encoding.embed(x, positions)
        encoding.rotate(heads, positions)
        encoding.bias(positions, positions)

    last = torch.arange(MAX_LENGTH - x.shape[1], MAX_LENGTH)
    all_slots(last)
    beyond = last + x.shape[1]
    error = refusal(lambda: all_slots(beyond), (IndexError, ValueError))
    must(fixed or error is None, f"refuses position {int(beyond[-1])}: {error}")
    what = f"built for {MAX_LENGTH} positions, yet takes position {int(beyond[-1])}"
    must(not fixed or error is not None, what)
    width = 2 * DIM // HEADS
    with seeded(part.settings.seed, "checks/build"):
        wide = part.choice.build(
            dim=DIM, heads=HEADS, head_dim=width, max_length=300, offered=PLACE
        )
    wide = wide.double().eval()
    q = normal(part.generator(), 3, HEADS, 6, width)
    with trying(f"queries and keys {width} wide, not dim / heads"):
        for rotate in (wide.rotate, wide.rotate_keys):
            has_shape(rotate(q, torch.arange(6)), q.shape, f"rotation of queries {width} wide")
        wide.content_bias(q, q, torch.arange(6), torch.arange(6), None)


def _order_of_encoding(part: EncodingPart, encoding: PositionalEncoding, x: Tensor) -> None:
    """Exchanging two tokens changes an attention's output if `order` is declared, and only then."""
    with seeded(part.settings.seed, "checks/attention"):
        attention = Split(DIM, HEADS).double().eval()
    tokens, ordered = Tokens.whole(x.shape[1]), part.can("order")

    def output(x: Tensor) -> Any:
        return attention(encoding.embed(x, tokens.positions), LayerContext(tokens, encoding))

    out = output(x)
    for first, other in itertools.combinations(range(x.shape[1]), 2):
        exchange = list(range(x.shape[1]))
        exchange[first], exchange[other] = other, first
        off = largest(output(x[:, exchange]) - out[:, exchange])
        what = f"exchanging tokens {first} and {other} changes the output by {off:.3g}"
        must(off > 1e-7 or not ordered, f"declares 'order', but {what}")
        must(off < 1e-9 or ordered, f"{what}, but 'order' is not declared")
    if part.can("embed", "order"):
        # Without a fixed length, texts may be longer than it was built for.
        most = MAX_LENGTH if part.can("fixed-length") else 2 * MAX_LENGTH
        table = encoding.embed(torch.zeros(1, most, DIM).double(), torch.arange(most))
        alike = most - len(table[0].unique(dim=0))
        what = f"{alike} of {most} positions have the embedding of another one"
        must(not alike, f"{what}; it was built for {MAX_LENGTH}, and declares 'fixed-length' if so")


def _norm(part: ModulePart) -> None:
    part = part.given()  # a large epsilon, for one, is what the user wants
    module, x = part.build(), part.draw(4)
    out = module(x)
    if part.can("scale-invariant"):
        for factor in (3.0, 1000.0):
            what = f"output for {factor:g} times the input"
            close(module(factor * x), out, what, tolerance=NEAR)
    out = part.build(jitter=0)(x)
    unit = torch.ones(out.shape[:-1], dtype=out.dtype)
    if part.can("unit-rms"):
        close(out.square().mean(-1), unit, "mean square", tolerance=NEAR)
    claims = (("unit-variance", 0, "variance over D"), ("unbiased", 1, "variance over D - 1"))
    for capability, correction, what in claims:
        if part.can(capability):
            close(out.mean(-1), 0 * unit, "mean", tolerance=NEAR)
            close(out.var(-1, correction=correction), unit, what, tolerance=NEAR)


def _ffn(part: ModulePart) -> None:
    counts = [
        sum(weight.numel() for weight in part.at(DIM, HEADS, width).build().parameters())
        for width in (HIDDEN, 3 * HIDDEN)
    ]
    what = f"{counts[0]} weights with hidden={HIDDEN} and {counts[1]} with hidden={3 * HIDDEN}"
    must(counts[0] < counts[1] or not any(counts), f"{what}: use `hidden`")
    if part.can("gated"):
        # A parameter may make it wider, which is then what the user wants.
        count = sum(weight.numel() for weight in part.given().build().parameters())
        plain = 2 * DIM * HIDDEN
        # There may be biases and some weights more; a third matrix as wide is half as many again.
        what = f"{count} parameters, where a plain one has {plain} without biases"
        must(abs(count - plain) <= plain // 4, f"{what} and {plain // 4} more or less are allowed")
    module, x, middle = part.build(), part.draw(6), torch.arange(6) == 3
    changed = torch.where(middle[:, None], torch.randn_like(x), x)
    outs = [part.run(module, Call(t, Tokens.whole(6)))[:, ~middle] for t in (x, changed)]
    off = largest(outs[0] - outs[1])
    reads = off > 1e-9
    must(reads or not part.can("neighbours"), "declares 'neighbours', yet reads no other token")
    hint = "one that reads other tokens declares 'neighbours'"
    must(not reads or part.can("neighbours"), f"reads other tokens: {off:.3g} ({hint})")


def _pool(part: PoolPart) -> None:
    """It reads the rows that `reads` gives and no others; all rows where that is None."""
    pool, length = part.build(), 7
    # Many texts, so that for a max pool every row is the greatest in some.
    x = part.draw(length, texts=50).requires_grad_()
    out = pool(x, None)
    # Several lengths, so that a pool of the last token reads every row in some text.
    lengths = 1 + torch.arange(len(x)) % length
    total = out.sin().sum()
    if pool.reads is None:
        total = total + pool(x, torch.arange(length) < lengths[:, None]).sin().sum()
    (gradient,) = torch.autograd.grad(total, x)
    read = gradient.abs().amax(dim=(0, 2)) > 0  # (L)
    declared = torch.zeros(length, dtype=torch.bool)
    declared[slice(None) if pool.reads is None else pool.reads] = True
    extra, missed = (
        rows.nonzero().flatten().tolist() for rows in (read & ~declared, declared & ~read)
    )
    must(not extra, f"reads rows {extra}, though reads = {pool.reads}")
    must(not missed, f"does not read rows {missed}, though reads = {pool.reads}")
    if pool.reads is not None:
        close(pool(x[:, pool.reads], None), out, f"output from the rows {pool.reads} alone")
    first = pool.reads == slice(0, 1)
    must(first or not part.can("first"), f"declares 'first', yet reads = {pool.reads}")
    must(part.can("first") or not first, "reads the first row alone: declare 'first'")


def _block(part: BlockPart) -> None:
    call = part.calls()[0]
    call = Call(part.draw(6), Tokens.whole(6), call.way)
    _sublayers(part)
    _norms(part, call)
    _residual(part, call)
    if not part.can("cross"):
        error = refusal(lambda: part.but(cross=True).build())
        must(error is not None, "takes a cross-attention, though it does not declare 'cross'")
        return
    crossing = part.but(cross=True)
    block, across = crossing.build(), crossing.calls()[0]
    error = refusal(lambda: part.call(block, call), (ValueError,))
    must(error is not None, "a block with cross-attention accepts a call without a memory")
    assert across.context is not None
    other = replace(across, context=across.context + 1)
    differ(crossing.run(block, other), crossing.run(block, across), "changing the memory")


def _sublayers(part: BlockPart) -> None:
    """Each sub-layer is called, and is given the layer that it should be."""
    for form in forms(part):
        block = form.build()
        seen: list[tuple[nn.Module, LayerContext]] = []

        def note(module: nn.Module, args: Any, seen: list[Any] = seen) -> None:
            seen.append((module, args[1]))

        for module in block.modules():
            if isinstance(module, Split | PlainFFN):
                module.register_forward_pre_hook(note)
        call = form.calls()[0].but(cache=KeyValues(), losses=[], index=2, count=5)
        call = call.but(memory_cache=KeyValues()) if form is not part else call
        form.run(block, call)
        attentions = [layer for m, layer in seen if isinstance(m, Split)]
        across = [a for a in attentions if a.context is not None and a.context is call.context]
        selves = [a for a in attentions if a not in across]
        networks = [layer for m, layer in seen if isinstance(m, PlainFFN)]
        named = {"attention": selves, "feed-forward network": networks}
        named |= {"cross-attention": across} if form is not part else {}
        for name, layers in named.items():
            must(bool(layers), f"its {name} is not called{' with the memory' * (name[0] == 'c')}")
            for layer in layers:
                must(layer.losses is call.more["losses"], f"the {name} is given no list of losses")
                place = (layer.index, layer.count)
                must(place == (2, 5), f"the {name} is given layer {place} instead of (2, 5)")
        for layer in selves:
            must(layer.cache is call.more["cache"], "the attention is not given its cache")
            must(layer.causal == call.way.causal, "the attention is not given `causal` as it is")
            must(layer.position.adds_bias, "the attention is not given the encoding")
        for layer in across:
            cached = layer.cache is call.more["memory_cache"]
            must(cached, "the cross-attention is not given the memory's cache")
            seen_tokens = layer.context_tokens is call.context_tokens
            must(seen_tokens, "the cross-attention is not given the memory's tokens")


def _norms(part: BlockPart, call: Call) -> None:
    """No norm serves two inputs, or the block has none at all; what a norm gives is left alone."""
    made: list[nn.Module] = []
    inputs: dict[nn.Module, list[Tensor]] = {}

    def seen(norm: nn.Module, args: tuple[Tensor, ...]) -> None:
        known = inputs.setdefault(norm, [])
        if not any(args[0].equal(x) for x in known):
            known.append(args[0])

    def norm() -> nn.Module:
        made.append(nn.LayerNorm(DIM))
        made[-1].register_forward_pre_hook(seen)
        return made[-1]

    for form in forms(part):
        made.clear()
        inputs.clear()
        block = form.but(norm=norm).build()
        if not block.normed:
            must(not made, f"normed is False, yet norm() was called {len(made)} times")
        form.run(block, form.calls()[0])
        most = max(map(len, inputs.values()), default=0)
        what = f"a norm is called for {most} different inputs in one pass"
        must(most < 2, f"{what}: norm() was called {len(made)} times, once for each norm")
    before = call.x.clone()
    for place in (PLACE, LAST):
        bare = part.but(place=place, norm=nn.Identity)
        with torch.no_grad():
            bare.run(bare.build(), call)
        same(call.x, before, "the input after a call of a block without norms")


def _residual(part: BlockPart, call: Call) -> None:
    """`residual`: its own input is added, and never dropped; `final_norm`: the output grows."""
    x, bare = call.x, part.but(norm=nn.Identity)
    out = part.run(silent(bare.build(jitter=0)), call).detach()
    if not part.can("residual"):
        scale = float((out * x).sum() / x.square().sum())
        passes = scale > 0.01 and largest(out - scale * x) < 1e-9
        must(not passes, "the input passes: it must declare 'residual'")
    else:
        # Up to a factor, because some blocks weight the branches, and mostly, because a block may
        # have a network of its own.
        likeness = float(nn.functional.cosine_similarity(out.flatten(), x.flatten(), dim=0))
        what = f"the cosine of input and output is {likeness:.3g} where the sub-layers give zeros"
        must(likeness > 0.5, f"declares 'residual', yet the input does not pass: {what}")
        dropping = silent(bare.build(jitter=0, dropout=DROPOUT)).train()
        share = float((part.run(dropping, call) == 0).double().mean())
        what = f"{share:.0%} of the output's entries are dropped where the sub-layers give zeros"
        must(share < 0.05, f"{what}: drop before adding x")
    block = part.build()
    if not any(isinstance(module, nn.LayerNorm) for module in block.modules()):
        return

    def growth(block: Any) -> float:
        small, large = (
            float(part.run(block, replace(call, x=f * x)).detach().std()) for f in (1, 1000)
        )
        return large / small

    what = f"a thousand times the input gives {growth(block):.3g} times the output"
    must(growth(block) < 10 or block.final_norm, f"{what}, and final_norm is False")
    growths = []
    for place in (PLACE, LAST) if part.can("residual") else ():
        quiet = silent(part.but(place=place).build(jitter=0))  # some arrange first layers otherwise
        if quiet.final_norm and quiet.normed:
            growths.append(growth(quiet))
    what = f"a thousand times the input gives {max(growths, default=0):.3g} times the output"
    must(not growths or max(growths) > 10, f"{what}: add x itself, not norm(x)")


def _parameters_act(part: ModulePart) -> None:
    """Another value of each numeric parameter changes weights, outputs or losses."""
    given = part.choice.given
    for name, value in {**part.choice.component.parameters, **given}.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        tried = []
        for other in other_values(value):
            try:
                if _differ(part, part.given(**{**given, name: other})):
                    break
            except (ValueError, CheckFailed):  # it refuses the value, or the sizes with it
                continue
            tried.append(f"{other:g}")
        else:
            what = f"with {name}={' or '.join(tried)} weights, outputs and losses are those of"
            must(not tried, f"{what} {name}={value:g}, bit by bit: the parameter does nothing")


def _differ(part: ModulePart, other: ModulePart) -> bool:
    """Whether anything that can be seen differs, in any layer; the last one is wider."""
    places = [{**PLACE, "layer_index": index} for index in range(PLACE["layer_count"])]
    for place in places:
        pair = [which.but(place=place) for which in (part, other)]
        pair = [which.at(*WIDE) for which in pair] if place is places[-1] else pair
        for own, others in zip(*map(_seen, pair), strict=False):
            if own.shape != others.shape or not torch.equal(own, others):
                return True
    return False


def _seen(part: ModulePart) -> Iterator[Tensor]:
    """Weights, and what every call gives: short, tiny, long and large, evaluated and trained."""
    module = part.build(jitter=0, dropout=DROPOUT)
    yield torch.tensor(sum(p.numel() for p in module.parameters()))
    yield from module.state_dict().values()
    module = part.build(dropout=DROPOUT)
    # Below the usual limits of a denominator, and above the usual ones of a gate.
    for length, scale in ((6, 1.0), (6, 1e-9), (6, 1e-13), (150, 1.0), (150, 100.0)):
        for training, call in itertools.product((False, True), part.calls(length=length)):
            torch.manual_seed(part.settings.seed)
            scaled = call.with_inputs(lambda x: scale * x)  # noqa: B023
            yield part.call(module.train(training), scaled).detach()
    if isinstance(part, EncodingPart):
        torch.manual_seed(part.settings.seed)
        yield torch.stack([module.encoding.place(torch.arange(150)) for _ in range(8)])
    with contextlib.suppress(CheckSkipped):
        model = any_model(part)
        torch.manual_seed(part.settings.seed)
        losses: list[Any] = []
        yield model.run(model.build().train(), model.calls()[0].but(losses=losses)).detach()
        yield from (loss.weight * loss.value.detach() for loss in losses)
