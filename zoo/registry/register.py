"""The callback through which a plug-in registers its components."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

from zoo.errors import nearest
from zoo.registry.component import Component, Owner
from zoo.registry.kinds import CAPABILITIES, KINDS

_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")


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
        capabilities: tuple[str, ...] | frozenset[str] | set[str] | list[str] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Register one component.

        factory: a class or function, or a lazy ``"package.module:Class"`` string.
        capabilities: what it can do, from ``zoo.registry.CAPABILITIES``.
        parameters: its own parameters with their defaults, besides what the contract passes.
        Raises ValueError for an unknown kind or capability, or an illegal name or parameter.
        """
        if kind not in KINDS:
            raise ValueError(f"no kind {kind!r}{nearest(str(kind), KINDS)}")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"illegal {kind} name {name!r}: lower-case letters and digits, "
                "joined by single '-', '_' or '.'"
            )
        what = f"{kind} '{name}'"
        if name == "all":
            raise ValueError(f"{what} is reserved: it means every {kind}")
        if not (callable(factory) or (isinstance(factory, str) and _is_lazy(factory))):
            expected = "callable or 'package.module:Class'"
            raise ValueError(f"the factory of {what} must be {expected}, not {factory!r}")
        if not isinstance(summary, str) or not isinstance(source, str):
            raise ValueError(f"summary and source of {what} must be text")
        listed: object = capabilities
        if isinstance(listed, str) or not isinstance(listed, Collection):
            raise ValueError(f"capabilities of {what} must be a list of them, not {capabilities!r}")
        if parameters is not None and not isinstance(parameters, Mapping):
            raise ValueError(f"parameters of {what} must map names to defaults")
        for parameter in parameters or {}:
            if not (isinstance(parameter, str) and _is_name(parameter)):
                raise ValueError(f"{what} has a parameter that is no Python name: {parameter!r}")
        for capability in capabilities:
            if not isinstance(capability, str) or capability not in CAPABILITIES[kind]:
                hint = nearest(capability, CAPABILITIES[kind])
                raise ValueError(f"{what} declares an unknown capability '{capability}'{hint}")
        if any(c.kind == kind and c.name == name for c in self.components):
            raise ValueError(f"{what} is registered twice")
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


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def _is_lazy(factory: str) -> bool:
    module, colon, attribute = factory.partition(":")
    return bool(colon) and all(
        part.isidentifier() for path in (module, attribute) for part in path.split(".")
    )
