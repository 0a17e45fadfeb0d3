"""Kinds, component records, and how ``name(param=value)`` becomes a choice. No torch here."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from zoo.errors import ComponentError, ZooError, nearest, one_line

AXES = ("attention", "pe", "norm", "ffn", "block", "pool")
KINDS = (*AXES, "data", "baseline")

# What a component of each kind may declare, and what the declaration means.
CAPABILITIES: Mapping[str, Mapping[str, str]] = {
    "attention": {
        "rotate": "rotates queries and keys as the encoding asks (rotary encodings)",
        "bias": "adds the encoding's bias to its scores (ALiBi and its kin)",
        "padding": "padded positions never influence real ones",
        "causal": "attends to the past alone when asked",
        "cross": "takes keys and values from a context other than x",
        "cache": "keeps keys and values between decoding steps",
        "exact": "computes softmax(QK^T / sqrt(d)) V and nothing else",
        "map": "has an attention map to show",
        "absolute": "what a rotation does to its scores depends on where tokens stand as well",
        "order": "tells one order of the tokens from another without any encoding (a window, say)",
        "one-head": "has one head as wide as the model, whatever number of heads is asked for",
        "fixed-length": "is built for one greatest length, and refuses longer input",
        "eager": "cannot be compiled by torch.compile",
    },
    "pe": {
        "embed": "adds to the embeddings",
        "rotate": "rotates queries and keys",
        "bias": "adds a bias to the scores",
        "order": "lets attention tell one order of the tokens from another",
        "directed": "its bias tells left from right",
        "absolute": "its rotation or bias depends on where tokens stand, not on their offset alone",
        "fixed-length": "knows no position beyond the greatest length it was built for",
        "eager": "cannot be compiled by torch.compile",
    },
    "norm": {
        "scale-invariant": "gives the same output when its input is scaled",
        "unit-rms": "starts with outputs whose mean square is one",
        "unit-variance": "starts with outputs of mean zero and variance one, over D",
        "unbiased": "starts with outputs of mean zero and variance one, over D - 1",
        "eager": "cannot be compiled by torch.compile",
    },
    "ffn": {
        "gated": "multiplies two projections, each 2/3 as wide, to keep the parameter count",
        "eager": "cannot be compiled by torch.compile",
    },
    "block": {
        "residual": "adds its input to its output",
        "cross": "has a place for cross-attention",
        "eager": "cannot be compiled by torch.compile",
    },
    "pool": {
        "first": "reads the first position alone",
        "eager": "cannot be compiled by torch.compile",
    },
    "data": {},
    "baseline": {
        "texts": "learns from raw texts (fit, predict) and not from the harness's batches",
        "tokens": "is a torch module, trained by the harness on the same batches as every cell",
        "vocabulary": "is told the word piece behind every id, as vocabulary=",
        "eager": "cannot be compiled by torch.compile",
    },
}

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
        module = (
            self.factory.partition(":")[0]
            if isinstance(self.factory, str)
            else getattr(self.factory, "__module__", "")
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
            raise ValueError(f"no kind '{kind}'{nearest(kind, KINDS)}")
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
        for capability in capabilities:
            if capability not in CAPABILITIES[kind]:
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
        name, arguments = _split_call(kind, text)
        component = self.get(kind, name)
        given = _bind(component, arguments)
        return Choice(component, self.label(component), MappingProxyType(given))

    def choices(self, kind: str, text: str) -> list[Choice]:
        """Parse a comma list of choices, or ``all``; an empty one is a ZooError."""
        names = self.labels(kind) if text.strip() == "all" else list(split_list(text))
        if not names:
            raise ZooError(f"--{kind} is empty{nearest('', self.labels(kind))}")
        chosen = [self.choose(kind, name) for name in names]
        return list({str(choice): choice for choice in chosen}.values())


def split_list(text: str) -> Iterator[str]:
    """Split at the commas that stand outside brackets and quotes, and strip each piece."""
    piece, depth, quote, escaped = "", 0, "", False
    for letter in text:
        if quote:
            if letter == quote and not escaped:
                quote = ""
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            if piece.strip():
                yield piece.strip()
            piece = ""
        else:
            piece += letter
    if piece.strip():
        yield piece.strip()


def _split_call(kind: str, text: str) -> tuple[str, ast.Call | None]:
    """``window(size=64)`` as its name and its parsed call; None where there are no brackets."""
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return name, None
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ZooError(f"cannot read {kind} '{text}'; write it as name(param=value)")
    return name.strip(), call


def _bind(component: Component, call: ast.Call | None) -> dict[str, Any]:
    """The call's arguments by parameter name, in declared order, each of the right type."""
    if call is None:
        return {}
    what, declared = f"{component.kind} '{component.name}'", component.parameters
    if len(call.args) > len(declared):
        raise ZooError(f"{what} takes {len(declared)} parameters, not {len(call.args)}")
    pairs = [*zip(declared, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
    given: dict[str, Any] = {}
    for name, node in pairs:
        if name is None or name not in declared:
            raise ZooError(f"{what} has no parameter '{name}'{nearest(str(name), declared)}")
        if name in given:
            raise ZooError(f"{what} is given '{name}' twice")
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):  # a TypeError where a list stands in a set or as a key
            raise ZooError(
                f"{what}: '{name}' must be a plain value such as {declared[name]!r}, "
                f"not '{ast.unparse(node)}'"
            ) from None
        given[name] = _typed(what, name, value, declared[name])
    return {name: given[name] for name in declared if name in given}


def _typed(what: str, name: str, value: Any, default: Any) -> Any:
    """The value, where its type is the default's; an int may stand for a float."""
    if isinstance(default, float) and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ZooError(f"{what}: '{name}' must be a finite number, not {value!r}")
    if default is None or type(value) is type(default):
        return value
    raise ZooError(
        f"{what}: '{name}' must be of type {type(default).__name__} (default {default!r}), "
        f"not {value!r}"
    )
