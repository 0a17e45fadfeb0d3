"""All registered components, and how ``name(param=value)`` becomes a choice. No torch here.

Nothing in a name is executed.
"""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from zoo.errors import ZooError, nearest
from zoo.registry.cell import Pattern
from zoo.registry.component import BUILT_IN, Choice, Component, Register
from zoo.registry.kinds import AXES, CAPABILITIES, KINDS, to_install

T = TypeVar("T")
# The page is written from the plug-ins themselves, so that no list of them is kept here.
OTHERS = (
    "Others come from plug-ins: plugins/README.md in the repository has those of this project, and "
    "'zoo plugins' prints those installed"
)


class Registry:
    """All registered components, by kind and name."""

    def __init__(self) -> None:
        self._components: dict[str, list[Component]] = {kind: [] for kind in KINDS}

    def admit(self, register: Register) -> None:
        """Add what one plug-in registered."""
        for component in register.components:
            self._components[component.kind].append(component)

    def components(self, kind: str) -> list[Component]:
        """The components of a kind, in the order of their registration."""
        if kind not in KINDS:
            raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
        return list(self._components[kind])

    def label(self, component: Component) -> str:
        """The shortest unambiguous name: the bare one, or ``distribution:name``."""
        rivals = [c for c in self._components[component.kind] if c.name == component.name]
        bare = len(rivals) == 1 or component.owner.distribution == BUILT_IN
        return component.name if bare else component.full_name

    def labels(self, kind: str) -> list[str]:
        """The shortest unambiguous names of a kind's components."""
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
        if not matches and (install := to_install(kind, name)):
            raise ZooError(f"{kind} '{name}' is in a package of its own: {install}")
        if not matches:
            raise ZooError(f"no {kind} '{name}'{nearest(name, self.labels(kind))}. {OTHERS}")
        return matches[0]

    def examples(self, component: Component) -> list[Choice]:
        """The component as it is; or, where it is built around another, around the first it can."""
        choice = Choice(component, self.label(component))
        if component.wraps is None:
            return [choice]
        others = (c for c in self.components(component.kind) if c.wraps is None)
        able = [c for c in others if c.can(*component.wraps.needs)]
        return [replace(choice, inner=Choice(c, self.label(c))) for c in able[:1]]

    def choose(self, kind: str, text: str) -> Choice:
        """Parse one ``name`` or ``name(param=value)`` into a choice; ZooError where it is bad."""
        if kind in AXES and len(split_pattern(text)) > 1:
            raise ZooError(f"'{text}' is a pattern over layers; here one {kind} is expected")
        inner, text = self._inner(kind, text)
        name, arguments = _split_call(kind, text)
        component = self.get(kind, name)
        if inner is None and component.wraps is not None:
            raise ZooError(f"{kind} '{name}' is built around another {kind}: write {name}(NAME)")
        harness = component.harness_parameters
        declared = {**component.parameters, **harness}
        bound = _bind(f"{kind} '{component.name}'", declared, arguments)
        given = {name: value for name, value in bound.items() if name not in harness}
        carried_out = {name: value for name, value in bound.items() if name in harness}
        return Choice(
            component,
            self.label(component),
            MappingProxyType(given),
            MappingProxyType(carried_out),
            inner,
        )

    def _inner(self, kind: str, text: str) -> tuple[Choice | None, str]:
        """The choice that this one is built around, and the text without it."""
        name, bracket, rest = text.strip().partition("(")
        matches = [c for c in self.components(kind) if name.strip() in (c.name, c.full_name)]
        wraps = matches[0].wraps if matches else None
        if wraps is None or not bracket or not rest.endswith(")"):
            return None, text
        first, *parameters = split_list(rest[:-1], f"{kind} '{text}': ") or [""]
        if not first:
            return None, text
        inner = self.choose(kind, first)
        for capability in wraps.needs:
            if not inner.can(capability):
                means = CAPABILITIES[kind][capability]
                raise ZooError(f"{text}: {inner} does not declare '{capability}' ({means})")
        return inner, f"{name}({', '.join(parameters)})" if parameters else name

    def pattern(self, axis: str, text: str) -> Pattern:
        """Parse the components that take turns over the layers: ``window(size=4)/fused``.

        Raises ZooError where a component is bad, or the axis is of a part that is no layer's.
        """
        names = split_pattern(text)
        if len(names) > 1:
            if axis == "pool":
                raise ZooError(f"pool '{text}': a model has one pool, which takes no pattern")
            if "" in names:
                raise ZooError(f"{axis} '{text}': a pattern has a name on both sides of a '/'")
        return Pattern.of([self.choose(axis, name) for name in names])

    def choices(self, kind: str, text: str) -> list[Choice]:
        """Parse a comma-separated list of choices, or ``all``; of equal ones one is returned.

        ``all`` are those that are not built around another one.

        Raises ZooError where the list or one of its items is empty, or a choice is bad.
        """
        return list(
            {str(choice): choice for choice in self._listed(kind, text, self.choose)}.values()
        )

    def patterns(self, axis: str, text: str) -> list[Pattern]:
        """Parse a comma-separated list of patterns, or ``all``; raises as ``choices`` does.

        Of patterns that give equal models, as ``fused`` and ``fused/fused`` do, one is returned:
        the longest as written, which has to fit the layers.
        """
        found = self._listed(axis, text, self.pattern)
        longest = {str(p): p for p in sorted(found, key=lambda p: len(p.written))}
        return [longest[name] for name in dict.fromkeys(map(str, found))]

    def _listed(self, kind: str, text: str, parse: Callable[[str, str], T]) -> list[T]:
        """Every item of a list, parsed."""
        alone = [self.label(c) for c in self.components(kind) if c.wraps is None]
        names = alone if text.strip() == "all" else split_list(text, f"--{kind} ")
        if not names:
            raise ZooError(f"--{kind} is empty{nearest('', self.labels(kind))}")
        return [parse(kind, name) for name in names]


def split_list(text: str, option: str = "") -> list[str]:
    """Split at the commas that are outside brackets and quotes, and strip each item.

    option: how the error begins, such as ``"--pe "``. A list of nothing but commas is empty.
    Raises ZooError where some items are empty and others are not.
    """
    items = [item.strip() for item in _split(text, ",")]
    if not any(items):
        return []
    if "" in items:
        empty = [number for number, item in enumerate(items) if not item]
        where = "between two commas"
        if 0 in empty:
            where = "before the first comma"
        elif empty == [len(items) - 1]:
            where = "after the last comma"
        raise ZooError(f"{option}'{text}': an empty name {where}")
    return items


def split_pattern(text: str) -> list[str]:
    """Split at the slashes that are outside brackets and quotes, and strip each piece."""
    return [piece.strip() for piece in _split(text, "/")]


def _split(text: str, separator: str) -> Iterator[str]:
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
        if letter == separator and depth == 0 and not quote:
            yield piece
            piece = ""
        else:
            piece += letter
    yield piece


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


def _bind(what: str, declared: Mapping[str, Any], call: ast.Call | None) -> dict[str, Any]:
    """The call's arguments by parameter name, in declared order, each of its default's type.

    what: the component's name in errors. declared: its parameters with their defaults.
    Raises ZooError for an unknown or repeated parameter, or a value that is no literal.
    """
    if call is None:
        return {}
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
            value = _value(node, declared[name])
        except (ValueError, TypeError):  # TypeError: a list in a set, or as a key
            quotes = " in quotes" if isinstance(declared[name], str) else ""
            raise ZooError(
                f"{what}: '{name}' must be a plain value such as {declared[name]!r}{quotes}, "
                f"not {ast.unparse(node)}"
            ) from None
        given[name] = _typed(what, name, value, declared[name])
    return {name: given[name] for name in declared if name in given}


def _value(node: ast.expr, default: Any) -> Any:
    """The value of a literal; where the default is text, a name without quotes is text as well."""
    if isinstance(default, str) and isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)


def _typed(what: str, name: str, value: Any, default: Any) -> Any:
    """The value, if its type is the default's; an int is converted where a float is due."""
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
