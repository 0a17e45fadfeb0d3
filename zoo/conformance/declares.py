"""What a part declares is true: a capability is a probe, tried both ways."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.tokens import Tokens
from zoo.conformance import assertions, parts
from zoo.conformance.assertions import EXACT, close, has_shape, hinting, largest, must, refusal
from zoo.conformance.models import models_of
from zoo.conformance.outcomes import CheckFailed
from zoo.conformance.parts import DIM, HEADS, MAX_LENGTH, PLACE, Call, Part, Way, forms, normal
from zoo.conformance.reference import ReferenceEncoding
from zoo.conformance.slopes import silent, sublayers
from zoo.errors import ZooError
from zoo.models.key_value_cache import KeyValues
from zoo.registry import AXES

# A norm's epsilon matters, so its claims hold to some 1e-4 for inputs of the order of one.
NEAR = 1e-4
WIDE = (64, 2, 80)  # heads so wide that encodings have several frequencies
# What a block may raise when it is asked for a cross-attention that it does not declare.
REFUSALS = (ValueError, TypeError, NotImplementedError, ZooError)


def declares(part: Part) -> None:
    """Parameters are the factory's own and act; each capability is there if declared, only then."""
    parameters(part)
    if part.kind not in AXES:
        return
    _contract(part)
    probes = {"pe": _encoding, "norm": _norm, "ffn": _ffn, "block": _block, "pool": _pool}
    probes.get(part.kind, _attention)(part)
    for other in at_other_values(part) if part.kind == "pool" else ():
        with hinting(f"with {other.choice}"):
            _pool(other)
    parameters_act(part, part.choice.parameters, _differ)


def probe(part: Part, capability: str, shows: bool, absent: str, present: str) -> None:
    """Fail where the capability is declared and does not show, or shows and is not declared."""
    must(shows or not part.can(capability), f"declares {capability!r}, yet {absent}")
    must(part.can(capability) or not shows, f"{present}: declare {capability!r}")


def _limit(part: Part, use: Callable[[], Any], what: str) -> None:
    """More than it was built for is refused with `fixed-length`, and only then."""
    error = refusal(use, (ValueError, IndexError))
    absent = f"takes {what} without a ValueError"
    probe(part, "fixed-length", error is not None, absent, f"refuses {what}: {error}")


def parameters(part: Part) -> None:
    """The registered parameters are the factory's own, with the same plain defaults."""
    taken = inspect.signature(part.choice.component.resolve()).parameters.values()
    rest = {p.name: p.default for p in taken if p.name not in part.passes}
    various = {p.name for p in taken if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    anything = any(p.kind is p.VAR_KEYWORD for p in taken)
    for name, default in part.choice.component.parameters.items():
        what = f"'{name}' is registered"
        must(name not in part.passes, f"{what}, but the contract passes it already")
        must(anything or name in rest, f"{what}, but the factory does not take it")
        own = rest.pop(name, default)
        equal = type(own) is type(default) and own == default
        must(equal, f"{what} with {default!r}, but the factory's default is {own!r}")
    more = ", ".join(sorted(rest.keys() - various))
    must(not more, f"the factory takes '{more}', which is not registered")


def other_values(value: object) -> list[Any]:
    """Other values of a parameter, where it is a number or a switch."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1] if value else [1]
    if isinstance(value, float):
        return [2 * value, value / 2, value / 100, 100 * value] if value else [0.5]
    return []


def parameters_act(
    part: Part, values: Mapping[str, Any], differ: Callable[[Any, Any], bool]
) -> None:
    """Fail unless each parameter that is a number or a switch acts, or refuses other values.

    values: of the parameters that are not at their defaults. differ: whether two parts do.
    """
    for name, default in part.choice.component.parameters.items():
        plain, acts = values.get(name, default), list[bool]()
        for value in other_values(plain):
            # It may refuse the value, or the sizes with it.
            with contextlib.suppress(ZooError, ValueError, TypeError, CheckFailed):
                both = (part.with_parameters(**v) for v in (values, {**values, name: value}))
                acts.append(any(acts) or differ(*both))
        what = f"'{name}' changes nothing: all is bit by bit as with {plain!r}"
        must(any(acts) or not acts, what)


def at_other_values(part: Part) -> Iterator[Part]:
    """The part at another value of each parameter: a number doubled (1 or .5 for 0), or a switch.

    Where it refuses that value, the next one is tried: a number halved, or larger by 1.
    """
    for name, default in part.choice.component.parameters.items():
        values = other_values(part.choice.parameters.get(name, default))
        others = (part.with_parameters(**{**part.choice.parameters, name: v}) for v in values)
        taken = (other for other in others if refusal(other.make, (Exception,)) is None)
        yield from itertools.islice(taken, 1)


def _contract(part: Part) -> None:
    """The factory builds what its kind's contract says, a new one each time, with its defaults."""
    part.build()  # fails and says why, or is skipped, where it is not what the contract says
    first, second = part.make(), part.make()
    if part.kind == "attention":
        heads, width = (1, DIM) if part.can("one-head") else (HEADS, DIM // HEADS)
        what = f"{first.heads} heads of width {first.head_dim} instead of {heads} of {width}"
        hint = "one with a single head declares 'one-head'"
        must((first.heads, first.head_dim) == (heads, width), f"{what}; {hint}")
    shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
    must(not shared, f"two of them share {len(shared)} parameters")
    bare = part.with_parameters()
    explicit = part.with_parameters(**part.choice.component.parameters)
    for call in part.calls(torch.float32):
        own, other = (p.run(p.build(torch.float32), call) for p in (explicit, bare))
        assertions.same(own, other, f"{call}: output with the defaults given")


def _attention(part: Part) -> None:
    module, plain = part.build(), part.shown_ways[0]

    def attend(x: Tensor, way: Way = plain, **more: Any) -> Any:
        return part.call(module, Call(x, Tokens.whole(x.shape[1]), way, more=more))

    longer = part.draw(MAX_LENGTH + 1)[:1]
    attend(longer[:, 1:])
    _limit(part, lambda: attend(longer), f"{MAX_LENGTH + 1} tokens, built for {MAX_LENGTH}")
    if not plain.causal:
        # The longest is for windows and the like, which see an order only beyond some distance.
        lengths = 6, 149, MAX_LENGTH
        off = max(_shuffled(attend, part.draw(n)[:1], torch.randperm(n)) for n in lengths)
        shows = off > (1e-6 if part.can("order") else EXACT)
        what = f"shuffling a text changes its output by {off:.3g}"
        probe(part, "order", shows, "is equivariant to permutation", what)
    for call in part.calls():
        for what, other in _others(part, call):
            # The first text, which is the longest.
            own, expected = (part.run(module, each)[0, 1:] for each in (other, call))
            off = largest(own - expected)
            must(off > 1e-6, f"{call.way.name}: later rows differ by {off:.3g} at most in {what}")
    if part.can("bias", "cross"):
        _key_twice(part, module)


def _others(part: Part, call: Call) -> Iterator[tuple[str, Call]]:
    """Calls that must give something else."""
    if call.context is not None:
        yield "another context", replace(call, context=torch.randn_like(call.context))
    else:
        first = torch.cat([torch.randn_like(call.x[:, :1]), call.x[:, 1:]], dim=1)
        yield "another first row", replace(call, x=first)
    if call.way.causal and not part.can("causal-only"):
        yield "a call that is not causal", call.but(causal=False)
    if call.way.encoded:
        tripled = replace(call.tokens, positions=3 * call.tokens.positions)
        yield "positions three times apart", replace(call, tokens=tripled)
        for slot in filter(part.can, ("rotate", "bias", "content-bias")):
            yield f"an encoding without {slot}", call.but(position=part.encoding(without=slot))
        if part.can("rotate"):
            turned: Any = part.encoding()
            turned.rotate_keys = lambda k, positions: -turned.rotate(k, positions)
            yield "an encoding whose rotate_keys differs", call.but(position=turned)


def _key_twice(part: Part, module: Any) -> None:
    """A bias of ln 2 on a key counts as having the key twice, and a very negative one hides it.

    The first in a softmax over the keys, which it is where all keys twice change nothing, and
    neither does a bias that all keys have.
    """
    x, context, every = part.draw(5), part.draw(7, seed=1), torch.arange(7)
    way, none = Way("cross", encoded=True, cross=True), torch.zeros(7).double()

    def out(keys: Tensor, bias: Tensor) -> Tensor:
        encoding: Any = ReferenceEncoding()
        encoding.bias = lambda q, k: bias[k].expand(1, len(q), -1)
        call = Call(x, Tokens.whole(5), way, context[:, keys], Tokens(None, keys))
        return part.run(module, call.but(position=encoding))

    twice, all_twice = (every.repeat_interleave(1 + n) for n in ((every == 3).int(), 1))
    hidden = none - 1e6 * (every == 3)
    before, context[:, 3] = out(every, hidden), torch.randn(DIM)
    what = "output where the encoding's bias hides a key, and where another key is hidden"
    close(out(every, hidden), before, what, tolerance=1e-6)
    biased, neutral = out(every, none + (every == 3) * math.log(2)), out(every, none)
    if all(largest(o - neutral) <= NEAR for o in (out(all_twice, none), out(every, none + 1))):
        what = "output where the encoding's bias of a key is ln 2, and where the key is there twice"
        close(biased, out(twice, none), what, tolerance=1e-6)


def _shuffled(output: Callable[[Tensor], Tensor], x: Tensor, order: Any) -> float:
    """How far the output of a text in another order is from the output in that order."""
    expected = output(x)[:, order]
    return largest(output(x[:, order]) - expected) / (1 + largest(expected))


def _encoding(part: Part) -> None:
    module, can = part.build(), part.can
    encoding, length, generator = module.encoding, 6, part.generator()
    x, whole = normal(generator, 3, length, DIM), torch.arange(length)
    heads = normal(generator, 3, HEADS, length, DIM // HEADS)
    bias = encoding.bias(whole, whole)
    bias = heads.new_zeros(length, length) if bias is None else bias
    content = encoding.content_bias(heads, heads.flip(1), whole, whole, None)
    turned = encoding.rotate(heads, whole), encoding.rotate_keys(heads, whole)
    acts = {
        "embed": not torch.equal(encoding.embed(x, whole), x),
        "rotate": any(not torch.equal(t, heads) for t in turned),
        # A constant added to all scores of a query changes no softmax.
        "bias": largest(bias - bias[..., :1]) > 0,
        "content-bias": content is not None and largest(content - content[..., :1]) > 0,
    }
    for slot, does in acts.items():
        probe(part, slot, does, "that slot changes nothing", f"its {slot} acts")
    near = torch.arange(40)
    of_texts = near, torch.stack([near, 2 * near])  # of all alike, and of each its own
    for training, positions in itertools.product((True, False), of_texts):
        placed = encoding.train(training).place(positions)
        has_shape(placed, positions.shape, "positions that it places a text at")
        increasing = bool((placed.diff(dim=-1) > 0).all())
        must(increasing, f"places a text where positions do not increase: {placed[..., :6]}")
    added = encoding.embed(torch.zeros_like(x), whole)
    close(encoding.embed(x, whole) - x, added, "what is added to embeddings and to zeros")
    if can("rotate") and not can("scaled"):
        for first, rotate in itertools.product((0, 500), (encoding.rotate, encoding.rotate_keys)):
            # Looser than rounding in float64: angles may be computed in float32.
            norms = rotate(heads, whole + first).norm(dim=-1)
            close(norms, heads.norm(dim=-1), f"norms at positions from {first} on", tolerance=1e-6)
    far = torch.cat([near, torch.arange(50, MAX_LENGTH, 50)])
    bias = encoding.bias(far, far)
    off = 0.0 if bias is None else largest(bias - bias.mT)
    what = f"bias of (i, j) and (j, i) differ by {off:.3g}"
    probe(part, "directed", off > EXACT, "its bias is symmetric", what)

    def at(positions: Tensor, x: Tensor = x) -> Any:
        """What an attention gives with it."""
        call = Call(x, Tokens(None, positions), Way("encoded", encoded=True))
        return part.call(module, call)[..., -DIM:]

    last = whole + MAX_LENGTH - length
    at(last)
    _limit(part, lambda: at(last + 1), f"position {MAX_LENGTH}, built for {MAX_LENGTH} of them")
    least = 1e-7 if can("order") else EXACT
    for first, other in itertools.combinations(range(length), 2):
        exchange = list(range(length))
        exchange[first], exchange[other] = other, first
        off = _shuffled(lambda x: at(whole, x), x[:1], exchange)
        what = f"exchanging tokens {first} and {other} changes the output by {off:.3g}"
        probe(part, "order", off > least, what, what)
    if can("embed", "order"):
        # Without a fixed length, texts may be longer than it was built for.
        most = MAX_LENGTH if can("fixed-length") else 2 * MAX_LENGTH
        table = encoding.embed(torch.zeros(1, most, DIM).double(), torch.arange(most))
        alike = most - len(table[0].unique(dim=0))
        what = f"{alike} of {most} positions have the embedding of another one"
        must(not alike, f"{what}; it was built for {MAX_LENGTH}, and declares 'fixed-length' if so")
    width = 2 * DIM // HEADS
    sizes = {"dim": DIM, "heads": HEADS, "head_dim": width, "max_length": 300}
    wide = part.choice.build(**sizes, offered=PLACE).double().eval()
    q = normal(part.generator(), 3, HEADS, length, width)
    for rotate in (wide.rotate, wide.rotate_keys):
        has_shape(rotate(q, whole), q.shape, f"rotation of queries {width} wide, not dim / heads")
    wide.content_bias(q, q, whole, whole, None)


def _norm(part: Part) -> None:
    part = part.with_parameters()  # a large epsilon, for one, is what the user wants
    module, x = part.build(), part.draw(4)
    for factor in (3.0, 1000.0) if part.can("scale-invariant") else ():
        what = f"output for {factor:g} times the input"
        close(module(factor * x), module(x), what, tolerance=NEAR)
    for place in (PLACE, parts.LAST):
        out = part.but(place=place).build(jitter=0)(x)
        mean = ("mean", out.mean(-1), 0.0)
        claims = {
            "unit-rms": [("mean square", out.square().mean(-1), 1.0)],
            "unit-variance": [mean, ("variance over D", out.var(-1, correction=0), 1.0)],
            "unbiased": [mean, ("variance over D - 1", out.var(-1), 1.0)],
        }
        for capability in filter(part.can, claims):
            for what, numbers, value in claims[capability]:
                what = f"{what} in layer {place['layer_index']}"
                close(numbers, torch.full_like(numbers, value), what, tolerance=NEAR)


def _ffn(part: Part) -> None:
    def count(part: Part) -> int:
        return sum(weight.numel() for weight in part.build().parameters())

    few, many = count(part), count(part.at(DIM, HEADS, 3 * parts.HIDDEN))
    what = f"{few} weights with hidden={parts.HIDDEN} and {many} with hidden={3 * parts.HIDDEN}"
    must(few < many or not (few or many), f"{what}: use `hidden`")
    if part.can("gated"):
        # A parameter may make it wider, which is then what the user wants. There may be biases and
        # some weights more; a third matrix as wide is half as many again.
        own, plain = count(part.with_parameters()), 2 * DIM * parts.HIDDEN
        what = f"{own} parameters, where a plain one has {plain} without biases"
        must(abs(own - plain) <= plain // 4, f"{what} and {plain // 4} more or less are allowed")
    module, x, middle = part.build(), part.draw(6), torch.arange(6) == 3
    changed = torch.where(middle[:, None], torch.randn_like(x), x)
    outs = [part.run(module, Call(t, Tokens.whole(6)))[:, ~middle] for t in (x, changed)]
    off = largest(outs[0] - outs[1])
    reads = f"reads other tokens ({off:.3g})"
    probe(part, "neighbours", off > EXACT, "reads no other token", reads)


def _pool(part: Part) -> None:
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
    rows, what = read.nonzero().flatten().tolist(), f"reads = {pool.reads}"
    declared = sorted(range(length)[slice(None) if pool.reads is None else pool.reads])
    must(rows == declared, f"reads rows {rows}, though {what}")
    if pool.reads is not None:
        close(pool(x[:, pool.reads], None), out, f"output from the rows {pool.reads} alone")
    probe(part, "first", pool.reads == slice(0, 1), what, what)


def _block(part: Part) -> None:
    call = Call(part.draw(6), Tokens.whole(6), part.shown_ways[0])
    for form in forms(part):
        _spied(form)
    part.run(part.but(ffn=False).build(), call)
    _packs(part, call.leaves())
    _residual(part, call)
    crossing = part.but(cross=True)
    error = refusal(crossing.build, REFUSALS)
    probe(part, "cross", not error, f"refuses cross-attention: {error}", "takes cross-attention")
    if error is None:
        error = refusal(lambda: part.call(crossing.build(), call), (ValueError,))
        must(error is not None, "a block with cross-attention accepts a call without a memory")


def _packs(part: Part, call: Call) -> None:
    """`packs`: with an attention that gives what it gets, each token is by itself."""
    block = part.build()
    for attention in (module for module in sublayers(block) if isinstance(module, Split)):
        attention.register_forward_hook(lambda module, args, out: args[0])
    (slope,) = torch.autograd.grad(part.run(block, call)[:, 3].sin().sum(), call.x)
    others = largest(slope[:, torch.arange(slope.shape[1]) != 3])
    what = "packs is True, yet tokens depend on others but for the attention"
    must(others == 0 or not block.packs, f"{what} (a gradient of {others:.3g})")


def _spied(part: Part) -> None:
    """Each sub-layer is called, and given the layer that it should be; a norm, one input."""
    block, call = part.build(), part.calls()[0]
    norms = [module for module in block.modules() if isinstance(module, nn.LayerNorm)]
    normed, called = dict[nn.Module, Tensor](), set[str]()

    def look_at_norm(module: nn.Module, args: Any) -> None:
        once = normed.setdefault(module, args[0]).equal(args[0])
        must(once, "a norm is called for 2 different inputs in one pass: norm() gives one for each")

    common: dict[str, Any] = {"losses": [], "index": 2, "count": 5}
    cache, memory_cache = KeyValues(), KeyValues()
    fields = {
        "attention": {"cache": cache, "causal": call.way.causal, **common},
        "feed-forward network": common,
        "cross-attention": {"cache": memory_cache, "context_tokens": call.context_tokens, **common},
    }

    def look(module: nn.Module, args: Any) -> None:
        layer = args[1]
        across = layer.context is not None and layer.context is call.context
        name = "cross-attention" if across else "attention"
        name = "feed-forward network" if isinstance(module, parts.PlainFFN) else name
        called.add(name)
        for field, value in fields[name].items():
            own = getattr(layer, field)
            must(own is value, f"the {name} is not given `{field}` as it is ({value}): {own}")
        encoded = layer.position.adds_bias or name != "attention"
        must(encoded, "the attention is not given the encoding")

    for hook, modules in ((look_at_norm, norms), (look, sublayers(block))):
        for module in modules:
            module.register_forward_pre_hook(hook)
    part.run(block, call.but(cache=cache, memory_cache=memory_cache, **common))
    must(block.normed or not norms, f"normed is False, yet it has {len(norms)} norms")
    for name in fields if part.cross else list(fields)[:2]:
        must(name in called, f"its {name} is not called")


def _residual(part: Part, call: Call) -> None:
    """`residual`: its own input is added; `final_norm`: the output grows."""
    x, before, bare = call.x, call.x.clone(), part.but(norm=nn.Identity)
    out = part.run(silent(bare.build(jitter=0)), call).detach()
    assertions.same(x, before, "the input after a call of a block without norms")
    # Up to a factor, because some blocks weight the branches, and mostly, because a block may have
    # a network of its own.
    likeness = float(nn.functional.cosine_similarity(out.flatten(), x.flatten(), dim=0))
    what = f"the cosine of input and output is {likeness:.3g} where the sub-layers give zeros"
    must(likeness > 0.5 or not part.can("residual"), f"declares 'residual', yet {what}")
    must(likeness < 1 - EXACT or part.can("residual"), f"{what}: declare 'residual'")
    block = part.build()
    if not any(isinstance(module, nn.LayerNorm) for module in block.modules()):
        return

    def growth(block: Any) -> float:
        outs = (part.run(block, replace(call, x=factor * x)).detach() for factor in (1, 1000))
        small, large = (float(out.std()) for out in outs)
        return large / small

    what, most = "a thousand times the input gives {:.3g} times the output", growth(block)
    must(most < 10 or block.final_norm, f"{what.format(most)}, and final_norm is False")
    # Some arrange first layers otherwise.
    places = (PLACE, parts.LAST) if part.can("residual") else ()
    blocks = [silent(part.but(place=place).build(jitter=0)) for place in places]
    growths = [growth(block) for block in blocks if block.final_norm and block.normed]
    most = max(growths, default=100.0)
    must(most > 10, f"{what.format(most)}: add x itself, not norm(x)")


def _differ(part: Part, other: Part) -> bool:
    """Whether anything that can be seen differs, in any layer; the last one is wider."""
    for index in range(PLACE["layer_count"]):
        place = {**PLACE, "layer_index": index}
        pair = [which.but(place=place) for which in (part, other)]
        pair = [which.at(*WIDE) for which in pair] if place == parts.LAST else pair
        if not all(torch.equal(*both) for both in zip(*map(_seen, pair), strict=False)):
            return True
    return False


def _seen(part: Part) -> Iterator[Tensor]:
    """Weights, and what every call gives: short, tiny, long and large, evaluated and trained."""
    module = part.build(jitter=0, dropout=parts.DROPOUT)
    yield torch.tensor(sum(p.numel() for p in module.parameters()))
    yield from module.state_dict().values()
    module = part.build(dropout=parts.DROPOUT)
    # Below the usual limits of a denominator, and above the usual ones of a gate.
    for length, scale in ((6, 1.0), (6, 1e-9), (6, 1e-13), (150, 1.0), (150, 100.0)):
        for training, call in itertools.product((False, True), part.calls(length=length)):
            torch.manual_seed(part.settings.seed)
            scaled = call.with_inputs(lambda x: scale * x)  # noqa: B023
            yield part.call(module.train(training), scaled).detach()
    if part.kind == "pe":
        torch.manual_seed(part.settings.seed)
        yield torch.stack([module.encoding.place(torch.arange(150)) for _ in range(8)])
    for model in itertools.islice(models_of(part), 1):
        torch.manual_seed(part.settings.seed)
        losses: list[Any] = []
        yield model.run(model.build().train(), model.calls()[0].but(losses=losses)).detach()
        yield from (loss.weight * loss.value.detach() for loss in losses)
