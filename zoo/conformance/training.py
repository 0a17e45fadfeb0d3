"""Checks of training: gradients, dropout, seeds, and that a pass leaves nothing behind."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, must, same
from zoo.conformance.check import check
from zoo.conformance.modules import DROPOUT, MODULES, all_close, of_modules, with_gradients
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.setup import BATCH, DIM, ModuleSetup
from zoo.models.seeding import seeded
from zoo.registry import AXES

# Where what follows the dropout is not linear, less of it changes the mean less.
LITTLE_DROPOUT, DRAWS, MANY, LENGTH = 0.2, 400, 20, 6
MODES = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}
STEP, TOLERANCE = 1e-8, 1e-4  # a small step seldom meets a kink, as of an absolute value
CHUNKS = 140  # tokens: more than the chunks that recurrences are computed in


@check("attention", "ffn", "block")
def dropout(setup: ModuleSetup) -> None:
    """Dropout acts in training, and evaluation is as without dropout."""
    with_dropout, without = setup.build(dropout=DROPOUT), setup.build()
    acts = False
    for case in setup.cases():
        close(case(with_dropout), case(without), f"{case.name}: evaluation with dropout set")
        torch.manual_seed(1)
        first = case(with_dropout.train())
        acts = acts or not torch.equal(first, case(with_dropout))
        with_dropout.eval()
    must(acts, f"training with dropout {DROPOUT} gives the same output twice, in every case")


@check("ffn")
def dropout_scale(setup: ModuleSetup) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""
    x = many_times(setup.normal(BATCH, LENGTH, DIM))
    module = setup.build(dropout=LITTLE_DROPOUT)
    mean_is_kept(module, lambda module: setup.call(module, x, Tokens.whole(LENGTH)))


def many_times(x: Tensor) -> Tensor:
    """Each text MANY times: as many draws of dropout in one call."""
    return x.repeat_interleave(MANY, dim=0)


def mean_is_kept(module: nn.Module, call: Callable[[nn.Module], Tensor]) -> None:
    """Fail unless the mean of what is called in training is about what it is in evaluation."""
    with torch.no_grad():
        expected = call(module)
        module.train()
        draws = [call(module) for _ in range(DRAWS // MANY)]
    same_scale(torch.stack(draws).mean(0), expected)


def same_scale(mean: Tensor, expected: Tensor) -> None:
    """Fail unless the mean over draws of dropout has about the scale of evaluation's output.

    Dropout before something that is not linear changes the mean a little. With p = 0.2, not
    dividing by 1 - p gives 0.8 of it, and dividing twice 1.25.
    """
    ratio = float((mean * expected).sum() / expected.square().sum())
    must(0.83 < ratio < 1.2, f"training gives {ratio:.3g} times what evaluation does, on average")


@check(*MODULES, applies=of_modules)
def after_inference(setup: ModuleSetup) -> None:
    """Without gradients it gives the same output, and trained after that what a new one gives."""
    for mode, without in MODES.items():
        used, new = setup.build(), setup.build()
        with without():
            # Longer texts first: a table that is made once is made for the longest.
            for case in setup.cases(seed=1, length=9):
                case(used)
        for case in setup.cases():
            with without():
                evaluated = case(used)
            close(evaluated, case(new), f"{case.name}: output under torch.{mode}")
            what = f"{case.name}, trained after a call under torch.{mode}"
            try:
                found = with_gradients(case.call, used, case)
            except RuntimeError as error:
                raise CheckFailed(
                    f"{what}: {' '.join(str(error).split())[:200]}; keep no tensor of a call, or "
                    "register it as a buffer when the module is built"
                ) from error
            all_close(found, with_gradients(case.call, new, case), what)


@check(*MODULES, applies=of_modules)
def training(setup: ModuleSetup) -> None:
    """Training without dropout gives evaluation's output and gradients, unless `random`."""
    if not setup.quiet_training:
        raise CheckSkipped("it may draw random numbers in training")
    module = setup.build()
    for case in setup.cases():
        expected = with_gradients(case.call, module.eval(), case)
        found = with_gradients(case.call, module.train(), case)
        try:
            all_close(found, expected, f"{case.name}, in training without dropout")
        except CheckFailed as failure:
            hint = "one that draws random numbers there declares 'random'"
            raise CheckFailed(f"{failure}; {hint}") from None


@check(*MODULES, applies=of_modules)
def nothing_kept(setup: ModuleSetup) -> None:
    """When a call is over, neither its graph nor any of its tensors is kept."""
    module = setup.build()
    for training_now in (False, True):
        module.train(training_now)
        cases = setup.cases()
        for case in cases:  # what a first call makes once, such as a table, may stay
            case(module)
        with _new_tensors() as kept:
            for case in cases:
                case(module)
        graphs = sum(tensor.grad_fn is not None for tensor in kept)
        shapes = ", ".join(sorted({str(tuple(tensor.shape)) for tensor in kept}))
        what = f"{len(kept)} tensors of a call (shapes {shapes}) are still there after it"
        what += ", and with them its graph" * bool(graphs)
        must(not kept, f"{what}: keep none in attributes, lists or caches of your own")


@contextmanager
def _new_tensors() -> Iterator[list[Tensor]]:
    """A list that is filled, at the end, with the tensors made meanwhile that are still alive."""
    found: list[Tensor] = []
    gc.freeze()  # what is there already is left out of what follows
    try:
        yield found
        gc.collect()
        found += [o for o in gc.get_objects() if issubclass(type(o), Tensor)]
    finally:
        gc.unfreeze()


@check(*MODULES, applies=of_modules)
def seeds(setup: ModuleSetup) -> None:
    """One seed gives the same weights and buffers again, and another seed other weights."""
    built, states = [], []
    for seed in (1, 2, 1):
        with seeded(setup.settings.seed + seed, "checks/seeds"):
            made = setup.make(0.0)
            states.append(torch.get_rng_state())
        if not isinstance(made, nn.Module):
            raise CheckSkipped("it builds nothing, which its kind allows")
        built.append(dict(made.named_parameters()) | dict(made.named_buffers()))
    what = "leaves torch's generator in the same state with two seeds: it must not seed it"
    must(not torch.equal(states[0], states[1]), what)
    one, other, again = built
    must(one.keys() == again.keys(), f"names differ: {sorted(one.keys() ^ again.keys())}")
    for name, value in one.items():
        same(value, again[name], f"{name} of the second one built from the seed")
    alike = [
        name
        for name, value in one.items()
        if isinstance(value, nn.Parameter)
        and _drawn(value.detach())
        and torch.equal(value, other[name])
    ]
    must(
        not alike,
        f"{', '.join(alike)} are the same with two seeds: draw initial weights from torch's "
        "global generator, without a generator or seed of your own",
    )


def _drawn(weight: Tensor) -> bool:
    """Whether it looks like random numbers: a matrix of distinct values with unlike rows."""
    if weight.dim() < 2 or not weight.is_floating_point() or min(weight.shape) < 2:
        return False
    rows = weight.flatten(1).double()
    distinct = len(weight.unique()) > weight.numel() / 2
    likeness = nn.functional.cosine_similarity(rows[1:], rows[:-1], dim=1).abs().mean()
    # Sinusoids and other smooth tables, which may well be the same, have like neighbours.
    return distinct and float(likeness) < 0.5


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
    found = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))

    def at(step: float) -> float:
        with torch.no_grad():
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.add_(direction, alpha=step)
            moved = float((call() * factors).sum())
            for leaf, direction in zip(leaves, directions, strict=True):
                leaf.sub_(direction, alpha=step)
        return moved

    expected = (at(STEP) - at(-STEP)) / (2 * STEP)
    off = abs(found - expected)
    allowed = TOLERANCE * (1 + abs(expected))
    must(off <= allowed, f"{what}: a slope of {found:.6g}, by finite differences {expected:.6g}")


@check("block", "baseline", applies=of_modules)
def gradients(setup: ModuleSetup) -> None:
    """Every weight gets a gradient: a block's parts, a baseline's embedding and head."""
    module = setup.build()
    alive: set[str] = set()
    for case in setup.cases():
        _, found = with_gradients(case.call, module, case)
        alive |= {name for name, gradient in found.items() if gradient.any()}
    # A bias of all keys changes no softmax.
    named = (n for n, p in module.named_parameters() if p.requires_grad)
    dead = [name for name in named if name not in alive and not name.endswith("k.bias")]
    must(not dead, f"no gradient reaches {', '.join(dead)}")


@check(*MODULES, applies=of_modules, unless="surrogate")
def gradcheck(setup: ModuleSetup) -> None:
    """Gradients are those of finite differences: evaluated, in training, and in a long text."""
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    parameters = [p for p in module.parameters() if p.requires_grad]
    runs = [(mode, "", case) for mode in (False, True) for case in setup.cases()]
    if setup.choice.component.kind in AXES:  # baselines are built for a length
        long = setup.cases(length=CHUNKS)[-2:]
        runs += [(False, f", {CHUNKS} tokens", case) for case in long]
    for training_now, length, case in runs:
        inputs = case.leaves()
        module.train(training_now)

        def call() -> Tensor:
            torch.manual_seed(setup.settings.seed)  # the same dropout every time
            return case.call(module, *inputs)  # noqa: B023 - called at once

        leaves = [*(x for x in inputs if x.requires_grad), *parameters]
        agrees(call, leaves, f"{case.name}{length}{', in training' * training_now}")
