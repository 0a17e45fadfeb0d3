"""Component records, and how they are registered and chosen. No torch here."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

from zoo.capabilities import AXES, CAPABILITIES, KINDS
from zoo.errors import ComponentError, ZooError, nearest, one_line
from zoo.naming import bind, split_call, split_list

__all__ = [
    "AXES",
    "BUILT_IN",
    "CAPABILITIES",
    "KINDS",
    "Choice",
    "Component",
    "Owner",
    "Register",
    "Registry",
    "split_list",
]

BUILT_IN = "encoder-zoo"
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")


@dataclass(frozen=True)
class Owner:
    """Who registered a component: a distribution (or a single file) and its version."""

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
        """The name that is never ambiguous: ``distribution:name``."""
        return f"{self.owner.distribution}:{self.name}"

    def can(self, *capabilities: str) -> bool:
        """Whether every one of the capabilities is declared."""
        return self.capabilities.issuperset(capabilities)

    def resolve(self) -> Callable[..., Any]:
        """The factory itself; a lazy ``"module:attribute"`` is imported here and only here.

        Raises ComponentError, naming the owner, where it does not resolve.
        """
        if not isinstance(self.factory, str):
            return self.factory
        module, _, attribute = self.factory.partition(":")
        try:
            target: Any = importlib.import_module(module)
            for part in attribute.split("."):
                target = getattr(target, part)
        except Exception as error:
            raise ComponentError(
                f"{self.kind} '{self.name}' of {self.owner} cannot be loaded from "
                f"'{self.factory}': {one_line(error)}"
            ) from error
        if not callable(target):
            raise ComponentError(
                f"{self.kind} '{self.name}' of {self.owner}: '{self.factory}' is no factory "
                f"but a {type(target).__name__}"
            )
        factory: Callable[..., Any] = target
        return factory

    def file(self) -> str | None:
        """The source file the factory stands in, found without importing it; None if unknown."""
        factory: Any = self.factory
        while hasattr(factory, "func"):  # functools.partial stands in a file of Python's own
            factory = factory.func
        module = (
            factory.partition(":")[0]
            if isinstance(factory, str)
            else getattr(factory, "__module__", "")
        )
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        return spec.origin if spec else None


@dataclass(frozen=True)
class Choice:
    """A component with the parameters it was asked for: ``window(size=64)``."""

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


class Register:
    """The callback a plug-in's hook receives; what it collects is admitted whole or not at all."""

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
        capabilities: tuple[str, ...] | frozenset[str] | set[str] | list[str] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Register one component.

        factory: a class or function, or a lazy ``"package.module:Class"`` string.
        capabilities: what it can do, in the words of ``zoo.registry.CAPABILITIES``.
        parameters: its own parameters with their defaults, beside what the contract passes.
        Raises ValueError where a word is not one the zoo knows.
        """
        if kind not in KINDS:
            raise ValueError(f"no kind {kind!r}{nearest(str(kind), KINDS)}")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"illegal {kind} name {name!r}: lower-case letters and digits, "
                "joined by single '-', '_' or '.'"
            )
        if name == "all":
            raise ValueError(f"{kind} 'all' is not to be had: it means every {kind}")
        if not (callable(factory) or (isinstance(factory, str) and _is_lazy(factory))):
            raise ValueError(
                f"the factory of {kind} '{name}' must be callable or 'package.module:Class', "
                f"not {factory!r}"
            )
        what = f"{kind} '{name}'"
        if not isinstance(summary, str) or not isinstance(source, str):
            raise ValueError(f"summary and source of {what} must be text")
        listed: object = capabilities
        if isinstance(listed, str) or not isinstance(listed, Collection):
            raise ValueError(f"capabilities of {what} must be a list of them, not {capabilities!r}")
        if parameters is not None and not isinstance(parameters, Mapping):
            raise ValueError(f"parameters of {what} must map names to defaults")
        for parameter in parameters or {}:
            if not (isinstance(parameter, str) and parameter.isidentifier()) or iskeyword(
                parameter
            ):
                raise ValueError(f"{what} has a parameter that cannot be written: {parameter!r}")
        for capability in capabilities:
            if not isinstance(capability, str) or capability not in CAPABILITIES[kind]:
                raise ValueError(
                    f"{kind} '{name}' declares an unknown capability '{capability}'"
                    f"{nearest(capability, CAPABILITIES[kind])}"
                )
        if any(c.kind == kind and c.name == name for c in self.components):
            raise ValueError(f"{kind} '{name}' is registered twice")
        self.components.append(
            Component(
                kind=kind,
                name=name,
                factory=factory,
                summary=" ".join(summary.split()),
                source=" ".join(source.split()),
                capabilities=frozenset(capabilities),
                parameters=MappingProxyType(dict(parameters or {})),
                owner=self.owner,
            )
        )


def _is_lazy(factory: str) -> bool:
    module, colon, attribute = factory.partition(":")
    return bool(colon) and all(
        part.isidentifier() for path in (module, attribute) for part in path.split(".")
    )


class Registry:
    """All components at hand, by kind and name."""

    def __init__(self) -> None:
        self._components: dict[str, list[Component]] = {kind: [] for kind in KINDS}

    def admit(self, register: Register) -> None:
        """Take in what one plug-in registered."""
        for component in register.components:
            self._components[component.kind].append(component)

    def components(self, kind: str) -> list[Component]:
        """The components of a kind, in the order of their registration."""
        if kind not in KINDS:
            raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
        return list(self._components[kind])

    def label(self, component: Component) -> str:
        """The shortest name that means this component: bare where that is not ambiguous."""
        rivals = [c for c in self._components[component.kind] if c.name == component.name]
        bare = len(rivals) == 1 or component.owner.distribution == BUILT_IN
        return component.name if bare else component.full_name

    def labels(self, kind: str) -> list[str]:
        """The names under which the components of a kind can be asked for."""
        return [self.label(c) for c in self.components(kind)]

    def get(self, kind: str, name: str) -> Component:
        """The component of that name; ZooError where it is unknown or ambiguous."""
        matches = [c for c in self.components(kind) if name in (c.name, c.full_name)]
        if len(matches) > 1:
            built_in = [c for c in matches if c.owner.distribution == BUILT_IN]
            if len(built_in) == 1:
                return built_in[0]
            raise ZooError(
                f"{kind} '{name}' is ambiguous; say which: "
                + ", ".join(c.full_name for c in matches)
            )
        if not matches:
            raise ZooError(f"no {kind} '{name}'{nearest(name, self.labels(kind))}")
        return matches[0]

    def choose(self, kind: str, text: str) -> Choice:
        """Parse one ``name`` or ``name(param=value)`` into a choice; ZooError where it is bad."""
        name, arguments = split_call(kind, text)
        component = self.get(kind, name)
        given = bind(f"{kind} '{component.name}'", component.parameters, arguments)
        return Choice(component, self.label(component), MappingProxyType(given))

    def choices(self, kind: str, text: str) -> list[Choice]:
        """Parse a comma list of choices, or ``all``; an empty one is a ZooError."""
        names = self.labels(kind) if text.strip() == "all" else list(split_list(text))
        if not names:
            raise ZooError(f"--{kind} is empty{nearest('', self.labels(kind))}")
        chosen = [self.choose(kind, name) for name in names]
        return list({str(choice): choice for choice in chosen}.values())
