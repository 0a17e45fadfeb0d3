"""A registry of transformer parts and a harness that compares them honestly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from zoo.api import bench
    from zoo.errors import ZooError
    from zoo.inference.load import load
    from zoo.registry.hookspecs import hookimpl

__all__ = ["ZooError", "__version__", "bench", "hookimpl", "load"]

# Resolved on first use, so that `import zoo` costs nothing and a plug-in's import stays cheap.
_LAZY = {
    "ZooError": "zoo.errors",
    "bench": "zoo.api",
    "hookimpl": "zoo.registry.hookspecs",
    "load": "zoo.inference.load",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'zoo' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
