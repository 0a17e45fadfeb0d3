"""Step sizes of state-space models."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

SHORTEST, LONGEST = 0.001, 0.1


def inverse_softplus_steps(count: int) -> Tensor:
    """What softplus turns into step sizes from 0.001 to 0.1, uniform in the logarithm: (count).

    Gu and Dao 2023, Mamba, section 3.6.
    """
    steps = torch.empty(count).uniform_(math.log(SHORTEST), math.log(LONGEST)).exp()
    return steps + (-torch.expm1(-steps)).log()


def softplus(x: Tensor) -> Tensor:
    """log(1 + eˣ), by logsigmoid.

    With torch 2.13 torch.compile fails at the gradient of F.softplus where the strides of the
    gradient differ from those of x.
    """
    return -F.logsigmoid(-x)
