"""A part is a pure function of its weights and inputs, whatever was called before, anywhere."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from zoo.conformance.assertions import EXACT, all_close, close, must, same, trying
from zoo.conformance.elsewhere import OTHER, TWO_PROCESSES
from zoo.conformance.outcomes import CheckSettings
from zoo.conformance.parts import DROPOUT, Call, Part, forms, gradients
from zoo.models.seeding import seeded
from zoo.registry import Choice

MODES: dict[str, Any] = {
    "with gradients": torch.enable_grad,
    "under torch.no_grad": torch.no_grad,
    "under torch.inference_mode": torch.inference_mode,
}
# What may have tensors of two devices: a copy, and an index on the CPU into a tensor elsewhere.
COPIES, INDEXED = ("copy_", "_pack_padded_sequence"), ("__getitem__", "__setitem__", "index_put")


def purity(part: Part) -> None:
    """Calls in any order and mode leave no trace, and any process and seed builds the same."""
    own = forms(part)
    _seeds(part)
    for form in own:
        module, call = form.build(), form.calls()[0]
        with torch.inference_mode():
            form.run(module, call)
        with trying("after its first call, in inference mode"):
            gradients(form, module, call)
        _sequence(form)
        _nothing_kept(form)
        _device(form)
    if part.kind != "baseline":
        _everywhere(part)


def _seeds(part: Part) -> None:
    """One seed gives the same weights again, another seed others, and nothing else is seeded."""
    built: list[dict[str, Tensor]] = []
    part.build()  # is skipped where it builds nothing
    states, others = [], (random.getstate(), str(np.random.get_state()))
    for seed in (1, 2, 1):
        with seeded(part.settings.seed + seed, "checks/seeds"):
            made = part.make()
            states.append(torch.get_rng_state())
        built.append(dict(made.named_parameters()) | dict(made.named_buffers()))
    what = "leaves torch's generator in the same state with two seeds: it must not seed it"
    must(not torch.equal(states[0], states[1]), what)
    what = "built, it changes the state of Python's or NumPy's random generator"
    must((random.getstate(), str(np.random.get_state())) == others, what)
    first, other, again = built
    for name, value in first.items():
        same(value, again[name], f"{name} of the second one built from the seed")
        alike = isinstance(value, nn.Parameter) and torch.equal(value, other[name])
        hint = "draw initial weights from torch's global generator, without one of your own"
        must(not (alike and _drawn(value.detach())), f"{name} are the same with two seeds: {hint}")


def _drawn(weight: Tensor) -> bool:
    """Whether it looks like random numbers: a matrix of distinct values with unlike rows."""
    if weight.dim() < 2 or not weight.is_floating_point() or min(weight.shape) < 2:
        return False
    rows = weight.flatten(1).double()
    distinct = len(weight.unique()) > weight.numel() / 2
    likeness = nn.functional.cosine_similarity(rows[1:], rows[:-1], dim=1).abs().mean()
    # Sinusoids and other smooth tables, which may well be the same, have like neighbours.
    return distinct and float(likeness) < 0.5


def _sequence(part: Part) -> None:
    """No call changes weights, inputs, generators, files, or what a later one gives and learns.

    The module is one of another seed, with the weights of a new one.
    """
    state, module = part.build().state_dict(), part.build(seed=1, dropout=DROPOUT)
    module.load_state_dict(state)
    known = [(call, gradients(part, part.build(), call)) for call in part.calls()]
    for call, outcome in known:
        what = f"{call}: output after loading a state_dict"
        same(_leaves_inputs(part, module, call, "").detach(), outcome["output"], what)
    calls = [*part.calls(seed=1, length=9), *part.calls(seed=2, texts=slice(0, 1))]
    others = [(call, None) for call in calls]
    draw = random.Random(part.settings.seed)
    plan: list[Any] = [*itertools.product(MODES.items(), (False, True), known)]
    plan += draw.choices([*itertools.product(MODES.items(), (False, True), others)], k=12)
    draw.shuffle(plan)
    files = sorted(os.listdir())
    for turn, ((mode, gradient_mode), training, (call, outcome)) in enumerate(plan):
        again_call, expected = known[turn % len(known)]
        mode = f"{mode}, in training" if training else mode
        with gradient_mode():
            out = _leaves_inputs(part, module.train(training), call, mode)
            if training and out.requires_grad:
                out.sin().sum().backward()
            if outcome and not training:
                close(out, outcome["output"], f"{call}: output {mode}")
        module.zero_grad()
        what = f"{again_call}, after a call in between ({call}, {mode})"
        for name, value in module.state_dict().items():
            same(value, state[name], f"{name} after calls {mode}")
        with trying(f"{what}; keep no tensor of a call, or register it as a buffer when built"):
            again = gradients(part, module.eval(), again_call)
            same(again["output"], expected["output"], f"{what}: output in evaluation")
            all_close(again, expected, what)
    must(sorted(os.listdir()) == files, "calls leave files in the working folder")


def _leaves_inputs(part: Part, module: nn.Module, call: Call, mode: str) -> Tensor:
    """The output of a call, which changes no input and, in evaluation, draws no numbers."""
    before, state = list[tuple[Tensor, Tensor]](), torch.get_rng_state()
    call.map(lambda tensor: before.append((tensor, tensor.clone())) or tensor)  # type: ignore[func-returns-value]
    out = part.run(module, call)
    for tensor, copy in before:
        same(tensor, copy, f"{call}: an input, mask or positions after the call {mode}")
    drawn = not module.training and not torch.equal(torch.get_rng_state(), state)
    must(not drawn, f"{call}: random numbers are drawn in evaluation")
    return out


def _nothing_kept(part: Part) -> None:
    """When a call is over, neither its graph nor any of its tensors is kept."""
    module = part.build()
    for training in (False, True):
        module.train(training)
        calls = part.calls()
        for call in calls:  # what a first call makes once, such as a table, may stay
            part.run(module, call)
        gc.freeze()  # what is there already is left out of what follows
        try:
            for call in calls:
                part.run(module, call)
            gc.collect()
            kept = [o for o in gc.get_objects() if issubclass(type(o), Tensor)]
        finally:
            gc.unfreeze()
        shapes = ", ".join(sorted({str(tuple(tensor.shape)) for tensor in kept}))
        what = f"{len(kept)} tensors of a call (shapes {shapes}) are still there after it"
        must(not kept, f"{what}: keep none in attributes, lists or caches of your own")


class _TwoDevices(TorchFunctionMode):
    """Notes what gets tensors on the meta device and the CPU at once, or moves some to the CPU.

    Integers, such as lengths, may be moved: some of torch's own functions want that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        name = getattr(func, "__name__", str(func))
        # A tensor of one number on the CPU goes with every device.
        places = {x.device.type for x in tensors if x.dim() or x.device.type != "cpu"}
        allowed = name in COPIES or (name in INDEXED and args[0].is_meta)
        targets = {str(value) for value in (*args[1:], *kwargs.values())}
        to_cpu = name == "cpu" or (name == "to" and "cpu" in targets)
        moved = to_cpu and "meta" in places and args[0].is_floating_point()
        if moved or (len(places) > 1 and not allowed):
            self.seen.append(name)
        return func(*args, **kwargs)


def _device(part: Part) -> None:
    """Moved to another device it computes there alone: nothing is left, or made, on the CPU."""
    module = part.build().to("meta")
    hint = "make tensors with device=x.device, and register as buffers those that are kept"
    for call in (call.map(lambda t: t.to("meta")) for call in part.calls()):
        out, both = None, _TwoDevices()
        # The meta device has no values: a part that looks at them may fail there.
        with contextlib.suppress(Exception), both:
            out = part.call(module, call)
        what = f"{call}: {', '.join(both.seen[:3])} gets tensors on two devices"
        must(not both.seen, f"{what}: {hint}")
        if out is not None:
            must(out.is_meta, f"{call}: the output is on device {out.device}: {hint}")


def weights_and_outputs(choice: Choice) -> str:
    """Everything that a module holds, and gives in each of its calls, as text."""
    part = Part(choice, CheckSettings())
    module, calls = part.build(), part.calls()
    with torch.inference_mode():
        outputs = {str(call): part.run(module, call) for call in calls}
    with trying("after its first calls, in inference mode"):
        gradients(part, module, calls[0])
    named = {**module.state_dict(), **outputs}
    return json.dumps({name: (tensor.double() + 0.0).tolist() for name, tensor in named.items()})


def _everywhere(part: Part) -> None:
    """In another process it is built and computes the same."""
    own = json.loads(weights_and_outputs(part.choice))
    other = json.loads(OTHER.ask(part, weights_and_outputs))
    for name, values in own.items():
        what = f"{TWO_PROCESSES} differ in '{name}': sort sets, and use no hash()"
        pair = torch.tensor(other.get(name, [])), torch.tensor(values)
        close(*pair, what, tolerance=1e3 * EXACT)
