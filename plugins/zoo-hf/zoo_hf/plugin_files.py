"""The registry that models and attentions here are built from."""

from __future__ import annotations

import warnings
from pathlib import Path

from zoo.registry import Registry, loading

_current: Registry | None = None


def components() -> Registry:
    """The built-ins, the installed plug-ins, and the files of the last ``load_components``."""
    return _current or load_components()


def load_components(*files: str | Path) -> Registry:
    """Load the built-ins, the installed plug-ins and single-file plug-ins, to be used from now on.

    What is wrong with an installed plug-in is a warning. Raises ZooError for a file that cannot be
    used.
    """
    global _current
    loaded = loading.load(files)
    for message in loaded.warnings:
        warnings.warn(message, stacklevel=2)
    _current = loaded.registry
    return _current
