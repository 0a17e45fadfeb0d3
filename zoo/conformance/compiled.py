"""A part under torch.compile, in the other process, which imports what that takes meanwhile."""

from __future__ import annotations

import torch

from zoo.conformance.assertions import all_close, close, trying
from zoo.conformance.elsewhere import OTHER
from zoo.conformance.outcomes import CheckSettings, CheckSkipped
from zoo.conformance.parts import Part, forms, gradients
from zoo.registry import Choice


def compiled(part: Part) -> None:
    """torch.compile gives the same output and gradients, causal and padded."""
    forms(part)[0].build()
    if part.can("eager"):
        raise CheckSkipped("it declares 'eager'")
    OTHER.ask(part, traced)


def traced(choice: Choice) -> str:
    """CheckFailed where it is not the same traced, which takes less than making it faster."""
    form = forms(Part(choice, CheckSettings()))[0]
    module, calls = form.build(), form.calls()
    # Compiling takes seconds: of the calls, the one nearest to how models call it.
    call = next((c for c in calls if c.way.causal and c.way.padded), calls[-1])
    torch.compiler.reset()
    run = torch.compile(form.call, backend="eager")
    with trying(f"{call}, compiled"):
        actual = gradients(form, module, call, run)
        expected = gradients(form, module, call, form.call)
        all_close(actual, expected, f"{call}, compiled", tolerance=1e-6)
        with torch.no_grad():
            pair = run(module, call), form.call(module, call)
        close(*pair, f"{call}, compiled without gradients: output", tolerance=1e-6)
    return ""
