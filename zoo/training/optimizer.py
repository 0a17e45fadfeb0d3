"""AdamW, the schedule of its learning rate, and what modules ask of an optimizer."""

from __future__ import annotations

import fnmatch
import math

import torch
from torch import nn

from zoo.config.settings import Training
from zoo.training.device import Runtime


def schedule(training: Training, step: int, total: int) -> float:
    """The share of the peak learning rate at a step: up over ``warmup``, then down to zero."""
    warm = round(training.warmup * total)
    if step < warm:
        return (step + 1) / warm
    if training.schedule == "constant":
        return 1.0
    done = min(1.0, (step - warm) / max(1, total - warm))
    return 1 - done if training.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2


def make_optimizer(model: nn.Module, training: Training, runtime: Runtime) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2019) that decays matrices, and not biases, scales or shifts.

    Nor does it decay the parameters that a module names in ``no_weight_decay``: see ``undecayed``.
    """
    spared = undecayed(model)
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    decay = {n for n, p in named if p.dim() >= 2} - spared
    groups = [
        {
            "params": [p for n, p in named if n in decay],
            "weight_decay": training.weight_decay,
        },
        {"params": [p for n, p in named if n not in decay], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [g for g in groups if g["params"]], lr=training.lr, fused=runtime.device.type != "mps"
    )


def undecayed(model: nn.Module) -> set[str]:
    """The names of the parameters that modules ask not to decay.

    A module's ``no_weight_decay`` is a tuple of patterns, as of a shell, for the names of its
    parameters and those of its parts: ``("a_log",)``; ``("*",)`` for all. ValueError where one
    fits no parameter.
    """
    found = set()
    for path, module in model.named_modules():
        own = [name for name, _ in module.named_parameters()]
        for pattern in getattr(module, "no_weight_decay", ()):
            names = fnmatch.filter(own, pattern)
            if not names:
                raise ValueError(f"{type(module).__name__} has no parameter '{pattern}'")
            found |= {f"{path}.{name}" if path else name for name in names}
    return found


@torch.no_grad()
def after_step(model: nn.Module) -> None:
    """Call ``after_step()`` of every module that has one: its own step after the optimizer's."""
    for module in model.modules():
        step = getattr(module, "after_step", None)
        if step is not None:
            step()
