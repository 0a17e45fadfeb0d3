"""AdamW, and the schedule of its learning rate."""

from __future__ import annotations

import math

import torch
from torch import nn

from zoo.config.settings import Training
from zoo.train.device import Runtime


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
    """AdamW (Loshchilov and Hutter 2019) that decays matrices, and not biases, scales or shifts."""
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for _, p in named if p.dim() >= 2],
            "weight_decay": training.weight_decay,
        },
        {"params": [p for _, p in named if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [g for g in groups if g["params"]], lr=training.lr, fused=runtime.device.type != "mps"
    )
