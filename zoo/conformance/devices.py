"""Checks that everything is made on the device of the input, without owning a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.conformance.assertions import must
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.modules import MODULES, of_modules
from zoo.conformance.setup import ModuleSetup

# What may have tensors of two devices: a copy, and an index on the CPU into a tensor elsewhere.
COPIES, INDEXED = ("copy_",), ("index.", "index_put", "_index_put_impl")


class _TwoDevices(TorchDispatchMode):
    """Notes what gets tensors on the meta device and the CPU at once, or copies to the CPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        name = str(func).removeprefix("aten.")
        # A tensor of one number on the CPU goes with every device.
        places = {x.device.type for x in tensors if x.dim() or x.device.type != "cpu"}
        allowed = name.startswith(COPIES) or (name.startswith(INDEXED) and args[0].is_meta)
        moved = name.startswith("_to_copy") and "meta" in places
        back = moved and torch.device((kwargs or {}).get("device") or "meta").type == "cpu"
        if back or (len(places) > 1 and not allowed):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


@check(*MODULES, applies=of_modules)
def device(setup: ModuleSetup) -> None:
    """Moved to another device it computes there alone: nothing is left, or made, on the CPU."""
    module, called, reason = setup.build().to("meta"), 0, ""
    hint = "make tensors with device=x.device, and register as buffers those that are kept"
    for case in setup.cases(device="meta"):
        out, both = None, _TwoDevices()
        try:
            with both:
                out = case(module)
        except Exception as error:  # noqa: BLE001 - the meta device has no values to look at
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        what = f"{case.name}: {', '.join(both.seen[:3])} gets tensors on two devices"
        must(not both.seen, f"{what}: {hint}")
        if out is not None:
            must(out.is_meta, f"{case.name}: the output is on device {out.device}: {hint}")
            called += 1
    if not called:
        raise CheckSkipped(f"it looks at values, which torch's meta device has not: {reason}")
