"""Gradients are those of finite differences, every weight moves, and dropout drops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.split import Split
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import all_close, finite, largest, must
from zoo.conformance.models import models_of
from zoo.conformance.parts import DROPOUT, LAST, Call, Part, PlainFFN, forms, gradients
from zoo.models.seeding import seeded
from zoo.training.trainer import after_step, undecayed

STEP, TOLERANCE = 1e-8, 1e-4  # a small step seldom meets a kink, as of an absolute value
CHUNKS = 140  # tokens: more than the chunks that recurrences are computed in
STEPS = 4
# Where what follows the dropout is not linear, less of it changes the mean less.
LITTLE, DRAWS, COPIES = 0.2, 80, 4
CHANCE = " though it draws random numbers: use the given dropout, or declare 'random'"
DROPS = ("attention", "ffn", "block")


def slopes(part: Part) -> None:
    """Gradients are those of finite differences, every weight learns, and dropout is right."""
    own = forms(part)
    for form in own:
        _differences(form)
        _modes(form)
        for bare in (form, form.but(ffn=False)) if part.kind == "block" else [form] * form.ids:
            _learns(bare, bare)
    if part.kind in DROPS:
        _dropout_scale(own[-1])
    for model in itertools.islice(models_of(part), 1):
        _differences(model)
        _learns(model, part)


def agrees(call: Callable[[], Tensor], leaves: Sequence[Tensor], what: str) -> None:
    """Fail unless the slope along a random direction is that of finite differences.

    call: gives an output that depends on the leaves, in float64; they are left a step away.
    """
    out = call()
    factors = torch.randn(out.shape, dtype=out.dtype)
    directions = [torch.randn_like(leaf) for leaf in leaves]
    slope = 0.0
    if out.requires_grad:
        # A backward pass that changes what comes in changes these factors, too.
        slopes = torch.autograd.grad(out, leaves, factors, materialize_grads=True)
        slope = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))
    totals = []
    with torch.no_grad():
        for step in (STEP, -2 * STEP):
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.add_(direction, alpha=step)
            totals.append(float((call() * factors).sum()))
    expected = (totals[0] - totals[1]) / (2 * STEP)
    allowed = TOLERANCE * (1 + abs(expected))
    what = f"{what}: a slope of {slope:.6g}, by finite differences {expected:.6g}"
    must(abs(slope - expected) <= allowed, what)


def _differences(part: Part) -> None:
    """Evaluated, in training with dropout, and in a long text; of what an encoding learns, too."""
    module = part.build(dropout=DROPOUT)
    gain = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
    part = part.but(encoding=partial(part.encoding, gain=gain))
    runs = [(mode, call) for mode in (False, True) for call in part.calls()]
    if part.kind != "baseline":  # which is built for a length
        runs += [(False, call) for call in part.calls(length=CHUNKS)[-2:]]
    for training, plain in runs:
        call = plain.leaves()
        module.train(training)

        def run() -> Tensor:
            torch.manual_seed(part.settings.seed)  # the same dropout every time
            return part.run(module, call)  # noqa: B023 - called at once

        weights = [p for p in module.parameters() if p.requires_grad]
        leaves = [*call.inputs.values(), *weights, gain]
        model = f"{part.model}, " if part.model else ""
        agrees(run, leaves, f"{model}{call}{', in training' * training}")


def _modes(part: Part) -> None:
    """Training without dropout is as evaluation, and dropout acts."""
    module, dropping, acts = part.build(), part.build(dropout=DROPOUT).train(), False
    for call in part.calls():
        expected = gradients(part, module.eval(), call)
        state = torch.get_rng_state()
        if part.quiet:
            actual = gradients(part, module.train(), call)
            drawn = not torch.equal(torch.get_rng_state(), state)
            all_close(actual, expected, f"{call}, in training without dropout{CHANCE * drawn}")
        acts = acts or not torch.equal(*(part.run(dropping, call) for _ in range(2)))
    what = f"training with dropout {DROPOUT} gives the same output twice, in every way"
    must(acts or part.kind not in DROPS, what)


def _dropout_scale(part: Part) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation.

    Dropout before something that is not linear changes the mean a little. With p = 0.2, not
    dividing by 1 - p gives 0.8 of it, and dividing twice 1.25. What is dropped once has 1.25 times
    the mean square of evaluation, twice 1.56.
    """
    # Layers may be dropped by chance too, the last one most often.
    part = part.but(place=LAST, norm=nn.Identity)
    call = next(call for call in part.calls() if call.way == part.shown_ways[0])
    call = replace(call, tokens=Tokens.whole(6))
    call = call.map(lambda t: torch.cat([t] * COPIES) if t.dim() > 1 else t)
    for name, module, run in _dropping(part, call):
        with torch.no_grad():
            expected = run()
            module.train()
            draws = torch.stack([run() for _ in range(DRAWS)])
        square = expected.square().sum()
        ratio = float((draws.mean(0) * expected).sum() / square)
        what = f"{name}training gives {ratio:.3g} times what evaluation does, on average"
        must(0.83 < ratio < 1.2, f"{what}: divide by 1 - p what dropout leaves, once")
        share = float(draws.square().sum() / DRAWS / square) / ratio**2
        what = f"{name}squares are in training {share:.3g} times those of evaluation"
        holds = 1.1 < share < 1.4 or part.kind != "block" or not part.quiet
        must(holds, f"{what}: drop the output of each sub-layer once")


def _dropping(part: Part, call: Call) -> Iterator[tuple[str, Any, Callable[[], Tensor]]]:
    """What drops: a name, the module, and a call of it less what it does not drop.

    None of what is not linear in that, since dropout may change the mean of it.
    """
    module = part.build(dropout=LITTLE)
    if isinstance(module, ProjectedAttention):
        # Before ``output``, which may have a norm, whose output dropout changes otherwise.
        q, k, v, layer = module.queries_keys_values(call.x, part.layer(call))
        if largest(module.mix(q, k, 2 * v, layer) - 2 * module.mix(q, k, v, layer)) < 1e-6:
            yield "", module, partial(module.mix, q, k, v, layer)
        return
    if part.kind != "block":
        yield "", module, partial(part.call, module, call)
        return
    residual = part.call(silent(part.build(dropout=LITTLE)), call)
    for number in range(len(sublayers(module))):
        module = part.build(dropout=LITTLE)
        network = sublayers(module)[number]
        silent(module, kept=network)

        def run(module: Any = module) -> Any:
            return part.call(module, call) - residual

        once = run()
        for parameter in network.out.parameters():
            parameter.data.mul_(2)
        if largest(once) > 1e-9 and largest(run() - 2 * once) < 1e-6:
            yield f"{type(network).__name__} in a block: ", module, run


def sublayers(block: nn.Module) -> list[Split | PlainFFN]:
    """The networks of a block, which are plain ones with a last layer ``out``."""
    return [module for module in block.modules() if isinstance(module, Split | PlainFFN)]


def silent(block: nn.Module, kept: nn.Module | None = None) -> nn.Module:
    """The block with sub-layers that give zeros, but for the kept one."""
    for network in sublayers(block):
        if network is not kept:
            nn.init.zeros_(network.out.weight)
            nn.init.zeros_(network.out.bias)
    return block


def _learns(part: Part, made_by: Part) -> None:
    """From its own initial weights, every parameter gets a finite gradient within a few steps.

    made_by: gives the part whose parameters these are.
    """
    module = part.build(jitter=0).train()
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    undecayed(module)
    reached = dict.fromkeys(parameters, False)
    with seeded(part.settings.seed, "checks/learns"):
        # Two texts: what is called elsewhere has an odd number of them.
        for call in part.calls(length=9, seed=3, texts=slice(2)) * STEPS:
            module.zero_grad()
            losses: list[AuxiliaryLoss] = []
            out = part.run(module, call.but(losses=losses))
            loss = (out * torch.randn_like(out)).mean() + sum(o.weight * o.value for o in losses)
            loss.backward()
            for name, p in parameters.items():
                if p.grad is not None:
                    finite(p.grad, f"gradient of {name}")
                    reached[name] |= bool(p.grad.any())
                    # As an optimizer does; those of torch take seconds to import.
                    p.data.sub_(0.01 * p.grad.sign())
            after_step(module)
    for name, _ in made_by.make().named_parameters():
        acts = [reached[own] for own in reached if f".{own}".endswith(f".{name}")]
        learns = any(acts) or not acts or name.endswith("k.bias")  # which changes no softmax
        what = f"in {STEPS} steps no gradient reaches {name}"
        must(learns, f"{what}: initial values, two of them zero, may keep each other from learning")
