"""A part under torch.compile."""

from __future__ import annotations

import torch

from zoo.conformance.assertions import all_close, close, trying
from zoo.conformance.check import check
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import MODULES, Part, forms, gradients


@check("compiled", *MODULES)
def compiled(part: Part) -> None:
    """torch.compile gives the same output and gradients, causal and padded."""
    form, *_ = forms(part)
    if part.can("eager"):
        raise CheckSkipped("it declares 'eager'")
    module, calls = form.build(), form.calls()
    # Compiling takes seconds: of the calls, the one nearest to how models call it.
    call = next((c for c in calls if c.way.causal and c.way.padded), calls[-1])
    torch.compiler.reset()
    backend = "inductor" if part.settings.thorough else "eager"
    run = torch.compile(form.call, backend=backend)
    with trying(f"{call}, compiled"):
        actual = gradients(form, module, call, run)
        expected = gradients(form, module, call, form.call)
        all_close(actual, expected, f"{call}, compiled", tolerance=1e-6)
        with torch.no_grad():
            pair = run(module, call), form.call(module, call)
        close(*pair, f"{call}, compiled without gradients: output", tolerance=1e-6)
