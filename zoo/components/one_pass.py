"""What the layers of one pass would each compute again, computed once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
# By function and arguments, what was computed; with the arguments, whose ids so stay theirs.
_kept: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("one pass", default=None)


@contextlib.contextmanager
def one_pass() -> Iterator[None]:
    """Inside, ``once`` computes once. Nothing is kept afterwards: each pass pays for its own."""
    before = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(before)


def once(compute: Callable[..., T], *arguments: Any) -> T:
    """``compute(*arguments)``, for all layers of a pass that ask for the same.

    Tensors are the same where they are one object, which nothing may change within the pass.
    Outside of a pass, and under torch.compile, it is computed at every call.
    """
    kept = None if torch.compiler.is_compiling() else _kept.get()
    if kept is None:
        return compute(*arguments)
    key = compute, *(id(a) if isinstance(a, Tensor) else a for a in arguments)
    if key not in kept:
        kept[key] = arguments, compute(*arguments)
    value: T = kept[key][1]
    return value
