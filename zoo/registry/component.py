"""A registered component, and a choice of one with its parameters. No torch here."""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from typing import Any, cast

from zoo.errors import ComponentError, one_line

BUILT_IN = "encoder-zoo"  # the owner of what the zoo itself registers


@dataclass(frozen=True)
class Owner:
    """Who registered a component: a distribution and its version, or a file and its hash."""

    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Component:
    """One registered choice of a kind."""

    kind: str
    name: str
    factory: Callable[..., Any] | str
    summary: str
    source: str
    capabilities: frozenset[str]
    parameters: Mapping[str, Any]
    owner: Owner

    @property
    def full_name(self) -> str:
        """The unambiguous name: ``distribution:name``."""
        return f"{self.owner.distribution}:{self.name}"

    def can(self, *capabilities: str) -> bool:
        """Whether every one of the capabilities is declared."""
        return self.capabilities.issuperset(capabilities)

    def resolve(self) -> Callable[..., Any]:
        """The factory; a lazy ``"module:attribute"`` is imported now.

        Raises ComponentError, naming the owner, where that fails or gives nothing callable.
        """
        if not isinstance(self.factory, str):
            return self.factory
        what = f"{self.kind} '{self.name}' of {self.owner}"
        try:
            factory: Any = pkgutil.resolve_name(self.factory)
        except Exception as error:
            message = f"{what} cannot be loaded from '{self.factory}': {one_line(error)}"
            raise ComponentError(message) from error
        if not callable(factory):
            found = type(factory).__name__
            raise ComponentError(f"{what}: '{self.factory}' is no factory but a {found}")
        return cast(Callable[..., Any], factory)

    def file(self) -> str | None:
        """The factory's source file, found without importing its module; None if unknown."""
        factory: Any = self.factory
        while hasattr(factory, "func"):  # functools.partial itself is defined in Python's library
            factory = factory.func
        lazy = isinstance(factory, str)
        module = factory.partition(":")[0] if lazy else getattr(factory, "__module__", "")
        try:
            spec = find_module(module)
        except (ImportError, ValueError):
            return None
        return spec.origin if spec else None


def find_module(path: str) -> ModuleSpec | None:
    """Find a module without importing the packages above it, which may import torch.

    Raises ValueError for a loaded module without a spec, as ``__main__``.
    """
    if path in sys.modules:
        return importlib.util.find_spec(path)
    top, *names = path.split(".")
    spec = importlib.util.find_spec(top)
    for name in names:
        if spec is None or spec.submodule_search_locations is None:
            return None
        path, locations = f"{spec.name}.{name}", list(spec.submodule_search_locations)
        found = (finder.find_spec(path, locations) for finder in sys.meta_path)
        spec = next((one for one in found if one is not None), None)
    return spec


@dataclass(frozen=True)
class Choice:
    """A component with the parameters given for it: ``window(size=64)``."""

    component: Component
    label: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.given:
            return self.label
        return f"{self.label}({', '.join(f'{k}={v!r}' for k, v in self.given.items())})"

    def can(self, *capabilities: str) -> bool:
        """Whether the component declares every one of the capabilities."""
        return self.component.can(*capabilities)

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Call the factory with the contract's arguments and the given parameters."""
        return self.component.resolve()(*args, **kwargs, **self.given)
