"""The parts of today's transformers, one a file.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width; Lq and Lk where
queries and keys differ in length.
"""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl
from zoo_modern import attention, block, ffn, norm, pe, pool

requires_zoo = ">=0.2"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the parts of every kind."""
    for kind in (attention, pe, norm, ffn, block, pool):
        kind.register_all(register)
