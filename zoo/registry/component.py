"""A registered component, how it is registered, and a choice of one. No torch here."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple, cast

from zoo.errors import ComponentError, nearest, one_line
from zoo.registry.kinds import CAPABILITIES, COMMAND, KINDS

BUILT_IN = "encoder-zoo"  # the owner of what the zoo itself registers
SHORT = "builtin:"  # before a name, the same as that owner
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")


class PluginError(Exception):
    """Why one plug-in cannot be used, in one line."""


@dataclass(frozen=True)
class Owner:
    """Who registered a component: a distribution and its version, or a file and its hash.

    module: of the plug-in.
    """

    distribution: str
    version: str
    module: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Component:
    """One registered choice of a kind, or a command."""

    kind: str
    name: str
    factory: Callable[..., Any] | str
    summary: str
    owner: Owner
    source: str = ""
    capabilities: frozenset[str] = frozenset()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"

    @property
    def full_name(self) -> str:
        """The unambiguous name: ``distribution:name``."""
        return f"{self.owner.distribution}:{self.name}"

    def can(self, *capabilities: str) -> bool:
        """Whether every one of the capabilities is declared."""
        return self.capabilities.issuperset(capabilities)

    @property
    def harness_parameters(self) -> dict[str, Any]:
        """Parameters, with defaults, that the harness carries out; the component never sees them.

        ``whole``: whether a baseline reads whole texts, and not only the tokens that a cell reads.
        """
        return {"whole": False} if self.kind == "baseline" and self.can("texts") else {}

    def resolve(self) -> Callable[..., Any]:
        """The factory; a lazy ``"module:attribute"`` is imported now.

        Raises ComponentError, naming the owner, where that fails.
        """
        if not isinstance(self.factory, str):
            return self.factory
        try:
            return cast(Callable[..., Any], pkgutil.resolve_name(self.factory))
        except Exception as error:
            reason = f"cannot be loaded from '{self.factory}': {one_line(error)}"
            raise ComponentError(f"{self} of {self.owner} {reason}") from error

    @property
    def module(self) -> str:
        """The module that defines the factory; empty if unknown."""
        if isinstance(self.factory, str):
            return self.factory.partition(":")[0]
        return getattr(self.factory, "__module__", None) or ""


def find_module(path: str) -> ModuleSpec | None:
    """Find a module without importing the packages above it, which may import torch.

    None where there is none, or where it has no spec, as ``__main__``.
    """
    with contextlib.suppress(ImportError, ValueError):
        if path in sys.modules:
            return importlib.util.find_spec(path)
        top, *names = path.split(".")
        spec = importlib.util.find_spec(top)
        for name in names:
            if spec is None or spec.submodule_search_locations is None:
                return None
            spec = PathFinder.find_spec(f"{spec.name}.{name}", spec.submodule_search_locations)
        return spec
    return None


def file_of(module: str) -> Path | None:
    """The file of a module, of a package its ``__init__``; None where it has none."""
    spec = find_module(module)
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


class PartSpec(NamedTuple):
    """A part of a cell in plain values: the component's name and the parameters given for it.

    Any process can read it, also one that has not loaded the plug-in; ``Registry.resolve`` finds
    the component.
    """

    name: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.name}({shown})" if shown else self.name


@dataclass(frozen=True)
class Choice:
    """A component with the parameters that were written for it: ``window(size=64)``.

    Those that the harness carries out are part of the name where they differ from their defaults.
    """

    component: Component
    label: str
    parameters: Mapping[str, Any]

    @property
    def spec(self) -> PartSpec:
        """The choice in plain values."""
        usual = self.component.harness_parameters.items()
        shown = {k: v for k, v in self.parameters.items() if (k, v) not in usual}
        return PartSpec(self.label, shown)

    def __str__(self) -> str:
        return str(self.spec)

    def can(self, *capabilities: str) -> bool:
        """Whether it declares every one of the capabilities."""
        return self.component.can(*capabilities)

    def build(self, *args: Any, offered: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """Call the factory with the contract's arguments and its own parameters.

        offered: further arguments by name; the factory gets those that ``takes``.
        """
        taken = {name: value for name, value in (offered or {}).items() if self.takes(name)}
        harness = self.component.harness_parameters
        own = {name: value for name, value in self.parameters.items() if name not in harness}
        return self.component.resolve()(*args, **kwargs, **taken, **own)

    def takes(self, argument: str) -> bool:
        """Whether the factory has an argument of that name that is no parameter of its own."""
        if argument in self.component.parameters:
            return False
        return argument in inspect.signature(self.component.resolve()).parameters


class Register:
    """The callback that a plug-in's hook receives; it collects the plug-in's components."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.components: list[Component] = []

    def __call__(
        self,
        kind: str,
        name: str,
        factory: Callable[..., Any] | str,
        *,
        summary: str,
        source: str = "",
        capabilities: Collection[str] = (),
        parameters: Mapping[str, Any] | None = None,
        recipe: Mapping[str, Any] | None = None,
    ) -> None:
        """Register one component, or a command of ``zoo``, whose kind is "command".

        factory: a class or function, or a lazy ``"package.module:Class"`` string.
        capabilities: what it can do, from ``zoo.registry.CAPABILITIES``.
        parameters: its own parameters with their defaults, besides what the contract passes.
        recipe: of data, the options of a run on them, as far as no others are asked for.
        Raises ValueError for an unknown kind or capability, or an illegal name or parameter.
        """
        if kind not in (*KINDS, COMMAND):
            raise ValueError(f"no kind {kind!r}{nearest(str(kind), KINDS)}")
        if not _NAME.fullmatch(name):
            rule = "lower-case letters and digits, joined by single -, _ or ."
            raise ValueError(f"illegal {kind} name {name!r}: {rule}")
        what, known = f"{kind} '{name}'", CAPABILITIES.get(kind, {})
        if name == "all":
            raise ValueError(f"{what}: the name means every {kind}, choose another")
        if not (callable(factory) or isinstance(factory, str)):
            raise ValueError(f"the factory of {what} must be callable or 'package.module:name'")
        if isinstance(capabilities, str):
            raise ValueError(f"{what}: write capabilities ({capabilities!r},), with a comma")
        for capability in capabilities:
            if capability not in known:
                hint = nearest(str(capability), known)
                raise ValueError(f"{what} declares an unknown capability '{capability}'{hint}")
        new = Component(
            kind,
            name,
            factory,
            " ".join(summary.split()),
            self.owner,
            " ".join(source.split()),
            frozenset(capabilities),
            dict(parameters or {}),
            dict(recipe or {}),
        )
        for parameter in new.harness_parameters.keys() & new.parameters.keys():
            raise ValueError(f"{what} has a parameter '{parameter}', which the zoo gives it")
        if recipe and kind != "data":
            raise ValueError(f"{what} has a recipe, which data alone have")
        if what in map(str, self.components):
            raise ValueError(f"{what} is registered twice")
        self.components.append(new)
