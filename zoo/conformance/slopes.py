"""Gradients are those of finite differences, every weight moves, and dropout drops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.split import Split
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import all_close, close, finite, largest, must
from zoo.conformance.check import check
from zoo.conformance.models import any_model
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
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
from zoo.training.trainer import AuxiliaryLosses, after_step, undecayed

STEP, TOLERANCE = 1e-8, 1e-4  # a small step seldom meets a kink, as of an absolute value
CHUNKS = 140  # tokens: more than the chunks that recurrences are computed in
STEPS = 4  # of an optimizer
# Where what follows the dropout is not linear, less of it changes the mean less.
LITTLE, DRAWS, MANY = 0.2, 400, 20


@check("slopes", *MODULES)
def slopes(part: Part) -> None:
    """Gradients are those of finite differences, every weight learns, and dropout is right."""
    module_part = of_module(part)
    for form in forms(module_part):
        if not part.can("surrogate"):
            _differences(form)
        if form.quiet:
            _training(form)
        if part.kind in ("attention", "ffn", "block"):
            _dropout(form)
    if isinstance(part, BlockPart):
        _dropout_of_a_block(part)
    elif part.kind in ("attention", "ffn"):
        _dropout_scale(module_part)
    if isinstance(part, AttentionPart):
        _encoding_learns(part)
    _every_weight(module_part)


def agrees(call: Callable[[], Tensor], leaves: Sequence[Tensor], what: str) -> None:
    """Fail unless the slope along a random direction is that of finite differences.

    call: gives an output that depends on the leaves, in float64; they are changed meanwhile.
    """
    out = call()
    factors = torch.randn(out.shape, dtype=out.dtype)
    directions = [torch.randn_like(leaf) for leaf in leaves]
    slopes: Sequence[Tensor] = [torch.zeros_like(leaf) for leaf in leaves]
    if out.requires_grad:
        slopes = torch.autograd.grad((out * factors).sum(), leaves, materialize_grads=True)
    slope = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))

    def at(step: float) -> float:
        with torch.no_grad():
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.add_(direction, alpha=step)
            moved = float((call() * factors).sum())
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.sub_(direction, alpha=step)
        return moved

    expected = (at(STEP) - at(-STEP)) / (2 * STEP)
    allowed = TOLERANCE * (1 + abs(expected))
    must(
        abs(slope - expected) <= allowed,
        f"{what}: a slope of {slope:.6g}, by finite differences {expected:.6g}",
    )


def _differences(part: ModulePart) -> None:
    """Evaluated, in training with dropout, and in a long text."""
    module = part.build(dropout=DROPOUT)
    runs = [(mode, call) for mode in (False, True) for call in part.calls()]
    if part.kind != "baseline":  # which is built for a length
        runs += [(False, call) for call in part.calls(length=CHUNKS)[-2:]]
    for training, given in runs:
        call = given.leaves()
        module.train(training)

        def run() -> Tensor:
            torch.manual_seed(part.settings.seed)  # the same dropout every time
            return part.run(module, call)  # noqa: B023 - called at once

        leaves = [*call.inputs.values(), *(p for p in module.parameters() if p.requires_grad)]
        agrees(run, leaves, f"{call}{', in training' * training}")


def _training(part: ModulePart) -> None:
    """Training without dropout gives evaluation's output and gradients."""
    module = part.build()
    for call in part.calls():
        expected = gradients(part, module.eval(), call)
        before = torch.get_rng_state()
        actual = gradients(part, module.train(), call)
        try:
            all_close(actual, expected, f"{call}, in training without dropout")
        except CheckFailed as failure:
            if torch.equal(torch.get_rng_state(), before):
                raise
            hint = "it draws random numbers though dropout is 0: use the dropout that it is given"
            hint += ", or declare 'random' for chance that is no dropout"
            raise CheckFailed(f"{failure}; {hint}") from None


def _dropout(part: ModulePart) -> None:
    """Dropout acts in training, and evaluation is as without dropout."""
    with_dropout, without = part.build(dropout=DROPOUT), part.build()
    acts = False
    for call in part.calls():
        expected = part.run(without, call)
        close(part.run(with_dropout, call), expected, f"{call}: evaluation with dropout set")
        torch.manual_seed(1)
        first = part.run(with_dropout.train(), call)
        acts = acts or not torch.equal(first, part.run(with_dropout, call))
        with_dropout.eval()
    must(acts, f"training with dropout {DROPOUT} gives the same output twice, in every way")


def _dropout_scale(part: ModulePart) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""
    call = Call(part.draw(6).repeat_interleave(MANY, dim=0), Tokens.whole(6), part.shown_ways[0])
    module, mixed = part.build(dropout=LITTLE), list[Tensor]()
    if isinstance(module, ProjectedAttention):
        # Before ``output``, which may have a norm, whose output dropout changes in other ways.
        mix: Callable[..., Tensor] = module.mix
        q, k, v, layer = module.queries_keys_values(call.x, part.layer(call))
        if largest(mix(q, k, 2 * v, layer) - 2 * mix(q, k, v, layer)) > 1e-6:
            return  # dropout may change the mean of what is not linear in the values

        def seen(*args: Any) -> Tensor:
            mixed.append(mix(*args))
            return mixed[-1]

        module.mix = seen  # type: ignore[method-assign, assignment]

    def run() -> Tensor:
        out = part.call(module, call)
        return mixed[-1] if mixed else out

    with torch.no_grad():
        expected = run()
        module.train()
        mean = torch.stack([run() for _ in range(DRAWS // MANY)]).mean(0)
    same_scale(mean, expected)


def same_scale(mean: Tensor, expected: Tensor) -> None:
    """Fail unless the mean over draws of dropout has about the scale of evaluation's output.

    Dropout before something that is not linear changes the mean a little. With p = 0.2, not
    dividing by 1 - p gives 0.8 of it, and dividing twice 1.25.
    """
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


def _dropout_of_a_block(part: BlockPart) -> None:
    """One sub-layer and no norm: what follows the dropout is linear."""
    # Layers may be dropped by chance too, the last one most often.
    part, few = part.but(place=LAST, ffn=False, norm=nn.Identity), 5
    call = part.calls()[0]
    call = Call(part.draw(6).repeat(few, 1, 1), Tokens.whole(6), call.way)
    with torch.no_grad():
        residual = part.run(silent(part.build(dropout=LITTLE, jitter=0)), call)
        block = part.build(dropout=LITTLE)
        expected = part.run(block, call) - residual
        block.train()
        draws = [part.run(block, call) - residual for _ in range(DRAWS // few)]
    same_scale(torch.stack(draws).mean(0), expected)


def _encoding_learns(part: AttentionPart) -> None:
    """What an encoding learns gets its gradient through every slot that the attention declares."""
    module = part.build()
    for way in part.shown_ways:
        if way.encoded and not way.cross:
            gain = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
            encoding = part.encoding(module.heads, gain=gain)
            call = Call(part.draw(6), Tokens.whole(6), way)
            what = f"{call}: a number that the encoding learns"
            agrees(lambda: part.call(module, call, encoding), [gain], what)  # noqa: B023


def _every_weight(part: ModulePart) -> None:
    """Every weight gets a gradient within a few steps, and a whole model's are right."""
    for form in forms(part):
        if part.kind in ("block", "baseline"):
            _reached_alone(form)
    if part.kind == "baseline":
        return
    try:
        model_part = any_model(part)
    except CheckSkipped:
        return
    model = model_part.build().train()
    call = model_part.calls()[0]

    def logits() -> Tensor:
        torch.manual_seed(part.settings.seed)
        return model_part.run(model, call)

    if not part.can("surrogate"):
        agrees(logits, [p for p in model.parameters() if p.requires_grad], "all weights of a model")
    undecayed(model)
    after_step(model)
    finite(logits(), "logits after after_step()")
    _learns(part, model_part.build(jitter=0).train(), model_part)


def _reached_alone(part: ModulePart) -> None:
    module = part.build()
    reached = {
        name
        for call in part.calls()
        for name, gradient in gradients(part, module, call).items()
        if gradient.any()
    }
    # A bias of all keys changes no softmax.
    named = (
        n for n, p in module.named_parameters() if p.requires_grad and not n.endswith("k.bias")
    )
    dead = [name for name in named if f"gradient of {name}" not in reached]
    must(not dead, f"no gradient reaches {', '.join(dead)}")


def _learns(part: ModulePart, model: nn.Module, model_part: ModulePart) -> None:
    """From its own initial weights, every parameter gets a finite gradient within a few steps."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(parameters.values(), lr=0.01)
    reached: set[str] = set()
    call = model_part.calls(length=9, seed=3)[0]
    with seeded(part.settings.seed, "checks/learns"):
        for _ in range(STEPS):
            optimizer.zero_grad()
            with AuxiliaryLosses(model).collected() as losses:
                out = model(call.x, call.tokens)
            loss = (out * torch.randn_like(out)).mean() + sum(o.weight * o.value for o in losses)
            loss.backward()
            for name, p in parameters.items():
                if p.grad is not None:
                    finite(p.grad, f"gradient of {name}")
                    reached |= {name} if p.grad.any() else set()
            optimizer.step()
            after_step(model)
    made = part.make()
    own = [name for name, p in made.named_parameters() if p.requires_grad] if made else []
    dead = [
        name
        for name in own
        if any(n.endswith(f".{name}") for n in parameters)
        and not any(n.endswith(f".{name}") for n in reached)
    ]
    what = f"in {STEPS} steps no gradient reaches {', '.join(dead)} in any layer"
    must(not dead, f"{what}: initial values, two of them zero, may keep each other from learning")
