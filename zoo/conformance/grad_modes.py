"""Checks under no_grad and inference mode, in which every evaluation runs."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from zoo.conformance.assertions import close, must
from zoo.conformance.check import CheckFailed, check
from zoo.conformance.modules import MODULES, of_modules, with_gradients
from zoo.conformance.setup import ModuleSetup

MODES = ("no_grad", "inference_mode")


def _mode(name: str) -> AbstractContextManager[None]:
    found: AbstractContextManager[None] = getattr(torch, name)()
    return found


@check(*MODULES, applies=of_modules)
def no_grad(setup: ModuleSetup) -> None:
    """Under no_grad and in inference mode it gives the output that it gives with gradients."""
    cases = setup.cases()
    usual = setup.build()
    expected = [case(usual).detach() for case in cases]
    for mode in MODES:
        module = setup.build()
        with _mode(mode):
            for case, whole in zip(setup.cases(), expected, strict=True):
                close(case(module), whole, f"{case.name}: output under torch.{mode}")


@check(*MODULES, applies=of_modules)
def after_inference(setup: ModuleSetup) -> None:
    """Trained after calls without gradients, it gives the output and gradients of a new one."""
    for mode in MODES:
        used, new = setup.build(), setup.build()
        with _mode(mode):
            # Longer texts first: a table that is made once is made for the longest.
            for case in setup.cases(seed=1, length=9):
                case(used)
        for case in setup.cases():
            with _mode(mode):
                case(used)
            what = f"{case.name}, trained after a call under torch.{mode}"
            try:
                out, gradients = with_gradients(case.call, used, case)
            except RuntimeError as error:
                raise CheckFailed(
                    f"{what}: {' '.join(str(error).split())[:200]}; keep no tensor of a call, or "
                    "register it as a buffer when the module is built"
                ) from error
            expected, expected_gradients = with_gradients(case.call, new, case)
            close(out, expected, f"{what}: output")
            for name, gradient in expected_gradients.items():
                must(name in gradients, f"{what}: no gradient reaches {name}")
                close(gradients[name], gradient, f"{what}: gradient of {name}")
