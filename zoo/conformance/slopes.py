"""Gradients are those of finite differences, every weight moves, and dropout drops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.split import Split
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import all_close, close, finite, hinting, largest, must
from zoo.conformance.check import check
from zoo.conformance.models import ModelPart, any_model
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import (
    DROPOUT,
    LAST,
    MODULES,
    AttentionPart,
    BlockPart,
    Call,
    ModulePart,
    Part,
    PlainFFN,
    forms,
    gradients,
    of_module,
)
from zoo.models.seeding import seeded
from zoo.training.trainer import after_step, undecayed

STEP, TOLERANCE = 1e-8, 1e-4  # a small step seldom meets a kink, as of an absolute value
CHUNKS = 140  # tokens: more than the chunks that recurrences are computed in
STEPS = 4  # of an optimizer
# Where what follows the dropout is not linear, less of it changes the mean less.
LITTLE, DRAWS, COPIES = 0.2, 80, 4
CHANCE = (
    "it draws random numbers though dropout is 0: use the dropout that it is given, "
    "or declare 'random' for chance that is no dropout"
)


@check("slopes", *MODULES)
def slopes(part: Part) -> None:
    """Gradients are those of finite differences, every weight learns, and dropout is right."""
    module_part = of_module(part)
    models: list[ModelPart] = []
    if part.kind != "baseline":
        with contextlib.suppress(CheckSkipped):
            models = [any_model(module_part)]
    for form in (*forms(module_part), *models):
        if not part.can("surrogate"):
            _differences(form)
    for form in forms(module_part):
        _modes(form)
        if part.kind in ("block", "baseline"):
            _learns(form, form)
    if part.kind in ("attention", "ffn", "block"):
        _dropout_scale(module_part)
    for model in models:
        _learns(model, module_part)


def agrees(call: Callable[[], Tensor], leaves: Sequence[Tensor], what: str) -> None:
    """Fail unless the slope along a random direction is that of finite differences.

    call: gives an output that depends on the leaves, in float64; they are left a step away.
    """
    out = call()
    factors = torch.randn(out.shape, dtype=out.dtype)
    directions = [torch.randn_like(leaf) for leaf in leaves]
    slope = 0.0
    if out.requires_grad:
        slopes = torch.autograd.grad((out * factors).sum(), leaves, materialize_grads=True)
        slope = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))
    totals = []
    with torch.no_grad():
        for step in (STEP, -2 * STEP):
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.add_(direction, alpha=step)
            totals.append(float((call() * factors).sum()))
    expected = (totals[0] - totals[1]) / (2 * STEP)
    allowed = TOLERANCE * (1 + abs(expected))
    must(
        abs(slope - expected) <= allowed,
        f"{what}: a slope of {slope:.6g}, by finite differences {expected:.6g}",
    )


def _differences(part: ModulePart) -> None:
    """Evaluated, in training with dropout, and in a long text; of what an encoding learns, too."""
    module = part.build(dropout=DROPOUT)
    gain = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
    if isinstance(part, AttentionPart):
        part = part.but(encoding=partial(part.encoding, gain=gain))
    runs = [(mode, call) for mode in (False, True) for call in part.calls()]
    if part.kind != "baseline":  # which is built for a length
        runs += [(False, call) for call in part.calls(length=CHUNKS)[-2:]]
    of = "a model, " if isinstance(part, ModelPart) else ""
    for training, given in runs:
        call = given.leaves()
        module.train(training)

        def run() -> Tensor:
            torch.manual_seed(part.settings.seed)  # the same dropout every time
            return part.run(module, call)  # noqa: B023 - called at once

        weights = [p for p in module.parameters() if p.requires_grad]
        leaves = [*call.inputs.values(), *weights, gain]
        agrees(run, leaves, f"{of}{call}{', in training' * training}")


def _modes(part: ModulePart) -> None:
    """Training without dropout, and evaluation with it, are as neither; and dropout acts."""
    module, dropping = part.build(), part.build(dropout=DROPOUT)
    drops, acts = part.kind in ("attention", "ffn", "block"), False
    for call in part.calls():
        expected = gradients(part, module.eval(), call)
        state = torch.get_rng_state()
        if part.quiet:
            actual = gradients(part, module.train(), call)
            drawn = not torch.equal(torch.get_rng_state(), state)
            with hinting(CHANCE if drawn else ""):
                all_close(actual, expected, f"{call}, in training without dropout")
        if drops:
            out = part.run(dropping.eval(), call)
            close(out, expected["output"], f"{call}: evaluation with dropout set")
            first, second = (part.run(dropping.train(), call) for _ in range(2))
            acts = acts or not torch.equal(first, second)
    what = f"training with dropout {DROPOUT} gives the same output twice, in every way"
    must(acts or not drops, what)


def _dropout_scale(part: ModulePart) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation.

    Dropout before something that is not linear changes the mean a little. With p = 0.2, not
    dividing by 1 - p gives 0.8 of it, and dividing twice 1.25.
    """
    if isinstance(part, BlockPart):
        # One sub-layer and no norm: what follows the dropout is linear. Layers may be dropped by
        # chance too, the last one most often.
        part = part.but(place=LAST, ffn=False, norm=nn.Identity)
    x = part.draw(6).repeat(COPIES, 1, 1)
    call = Call(x, Tokens.whole(6), part.shown_ways[0])
    module = part.build(dropout=LITTLE)
    run: Callable[[], Tensor] = partial(part.call, module, call)
    with torch.no_grad():
        residual = torch.zeros_like(x)
        if isinstance(part, BlockPart):
            residual = part.run(silent(part.build(jitter=0)), call)
        elif isinstance(module, ProjectedAttention):
            # Before ``output``, which may have a norm, whose output dropout changes otherwise.
            q, k, v, layer = module.queries_keys_values(call.x, part.layer(call))
            if largest(module.mix(q, k, 2 * v, layer) - 2 * module.mix(q, k, v, layer)) > 1e-6:
                return  # dropout may change the mean of what is not linear in the values
            run, residual = partial(module.mix, q, k, v, layer), torch.zeros(1)
        expected = run() - residual
        module.train()
        mean = torch.stack([run() - residual for _ in range(DRAWS)]).mean(0)
    ratio = float((mean * expected).sum() / expected.square().sum())
    what = f"training gives {ratio:.3g} times what evaluation does, on average"
    must(0.83 < ratio < 1.2, f"{what}: divide by 1 - p what dropout leaves, once")


def silent(block: nn.Module) -> nn.Module:
    """The block with sub-layers that give zeros."""
    for module in block.modules():
        part = module.out if isinstance(module, Split) else module
        if isinstance(module, Split | PlainFFN):
            for parameter in part.parameters():
                nn.init.zeros_(parameter)
    return block


def _learns(part: ModulePart, made_by: ModulePart) -> None:
    """From its own initial weights, every parameter gets a finite gradient within a few steps.

    made_by: gives the part whose parameters these are.
    """
    module = part.build(jitter=0).train()
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    undecayed(module)
    optimizer = torch.optim.AdamW(parameters.values(), lr=0.01)
    reached: set[str] = set()
    with seeded(part.settings.seed, "checks/learns"):
        # Two texts: what is called elsewhere has an odd number of them.
        for call in part.calls(length=9, seed=3, texts=slice(2)) * STEPS:
            optimizer.zero_grad()
            losses: list[AuxiliaryLoss] = []
            out = part.run(module, call.but(losses=losses))
            loss = (out * torch.randn_like(out)).mean() + sum(o.weight * o.value for o in losses)
            loss.backward()
            for name, p in parameters.items():
                if p.grad is not None:
                    finite(p.grad, f"gradient of {name}")
                    reached |= {f".{name}"} if p.grad.any() else set()
            optimizer.step()
            after_step(module)
    own = [name for name, p in made_by.make().named_parameters() if p.requires_grad]
    dead = [
        name
        for name in own
        if not name.endswith("k.bias")  # a bias of all keys changes no softmax
        and any(f".{n}".endswith(f".{name}") for n in parameters)
        and not any(n.endswith(f".{name}") for n in reached)
    ]
    what = f"in {STEPS} steps no gradient reaches {', '.join(dead)}"
    must(not dead, f"{what}: initial values, two of them zero, may keep each other from learning")
