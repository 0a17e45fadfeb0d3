"""Which of torch's kernels attention took: torch chooses by device, types, mask and dropout."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class AttentionKernels(TorchFunctionMode):
    """Inside, notes the kernels of torch's attention functions, and changes nothing.

    names: such as ``flash_attention``; ``math`` where torch takes products and a softmax.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names = set[str]()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # Within a function that is noted nothing else is; torch's own module calls the second.
        if func not in (F.scaled_dot_product_attention, F.multi_head_attention_forward):
            return func(*args, **(kwargs or {}))
        with _Operations() as operations:
            out = func(*args, **(kwargs or {}))
        self.names.add(next(iter(operations.attentions), "math"))
        return out


class _Operations(TorchDispatchMode):
    """Notes the operations that are attention; autocast has had its effect on what they take."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.attentions = list[str]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if "attention" in name:
            self.attentions.append(name.removeprefix("_scaled_dot_product").strip("_"))
        return func(*args, **(kwargs or {}))
