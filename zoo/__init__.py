"""A registry of transformer parts and a harness that compares them honestly."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

# Resolved on first use, so that `import zoo` costs nothing and a plug-in's import stays cheap.
# What checkers and editors know of them is in __init__.pyi.
_LAZY = {
    "ZooError": "zoo.errors",
    "bench": "zoo.api",
    "build": "zoo.api",
    "hookimpl": "zoo.registry.declarations",
    "load": "zoo.inference.saved_model",
    "part": "zoo.registry.declarations",
    "train": "zoo.api",
}
_MODULES = ("sklearn",)  # modules that are offered, imported on first use too
__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"zoo.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'zoo' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
