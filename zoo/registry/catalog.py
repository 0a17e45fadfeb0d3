"""All registered components, and how ``name(param=value)`` becomes a choice. No torch here.

Nothing in a name is executed.
"""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.errors import ZooError, nearest
from zoo.registry.component import (
    BUILT_IN,
    SHORT,
    Choice,
    Component,
    PartSpec,
    PluginError,
    Register,
)
from zoo.registry.kinds import COMMAND, KINDS

OTHERS = (
    "Others come from plug-ins: plugins/README.md in the repository has those of this project, and "
    "'zoo plugins' prints those installed"
)


def layers_text(parts: Sequence[PartSpec | Choice]) -> str:
    """The parts that take turns over the layers, as text: ``window(size=4)/fused``."""
    return "/".join(map(str, parts))


class Registry:
    """All registered components, by kind and name."""

    def __init__(self) -> None:
        self._components: dict[str, list[Component]] = {k: [] for k in (*KINDS, COMMAND)}

    def admit(self, register: Register) -> None:
        """Add what one plug-in registered. Raises PluginError where a name is taken."""
        for new in register.components:
            for old in self._components[new.kind]:
                if new.name == old.name and (new.kind == COMMAND or new.full_name == old.full_name):
                    raise PluginError(f"{new}: {old.owner} has one of that name already")
        for new in register.components:
            self._components[new.kind].append(new)

    @property
    def commands(self) -> dict[str, Component]:
        """The commands of ``zoo``, by name."""
        return {command.name: command for command in self._components[COMMAND]}

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
        full = name.replace(SHORT, f"{BUILT_IN}:", 1) if name.startswith(SHORT) else name
        matches = [c for c in self.components(kind) if full in (c.name, c.full_name)]
        if len(matches) > 1:
            built_in = [c for c in matches if c.owner.distribution == BUILT_IN]
            if len(built_in) == 1:
                return built_in[0]
            names = ", ".join(c.full_name for c in matches)
            raise ZooError(f"{kind} '{name}' is ambiguous; say which: {names}")
        if not matches:
            hint = nearest(name.removeprefix(SHORT), self.labels(kind))
            raise ZooError(f"no {kind} '{name}'{hint}. {OTHERS}")
        return matches[0]

    def example(self, component: Component) -> Choice:
        """The component with its default parameters."""
        return Choice(component, self.label(component), {})

    def choose(self, kind: str, text: str) -> Choice:
        """Parse one ``name`` or ``name(param=value)`` into a choice; ZooError where it is bad."""
        name, bracket, arguments = text.strip().partition("(")
        component = self.get(kind, name.strip())
        try:
            call = ast.parse(f"f({arguments}" if bracket else "f()", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            call = None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ZooError(f"cannot read {kind} '{text}'; write it as name(param=value)")
        declared = {**component.parameters, **component.harness_parameters}
        bound = _bind(f"{kind} '{component.name}'", declared, call)
        return self.resolve(kind, PartSpec(component.full_name, bound))

    def resolve(self, kind: str, spec: PartSpec) -> Choice:
        """The component of a spec with its parameters; ZooError where it is not here."""
        component = self.get(kind, spec.name)
        return Choice(component, self.label(component), spec.parameters)

    def layers(self, axis: str, text: str) -> tuple[Choice, ...]:
        """Parse the components that take turns over the layers: ``window(size=4)/fused``.

        Raises ZooError where a component is bad, or the axis is of a part that is no layer's.
        """
        names = split_outside(text, "/")
        if axis == "pool" and len(names) > 1:
            raise ZooError(f"pool '{text}': a model has one pool, which takes no pattern")
        if len(names) > 1 and "" in names:
            raise ZooError(f"{axis} '{text}': a pattern has a name on both sides of a '/'")
        return tuple(self.choose(axis, name) for name in names)

    def choices(self, kind: str, text: str) -> list[Choice]:
        """Parse a comma-separated list of choices, or ``all``; of equal ones one is returned.

        Raises ZooError where the list or one of its items is empty, or a choice is bad.
        """
        chosen = (self.choose(kind, name) for name in self._names(kind, text))
        return list({str(choice): choice for choice in chosen}.values())

    def patterns(self, axis: str, text: str) -> list[tuple[Choice, ...]]:
        """Parse a comma-separated list of patterns, or ``all``; raises as ``choices`` does."""
        patterns = (self.layers(axis, name) for name in self._names(axis, text))
        return list({layers_text(choices): choices for choices in patterns}.values())

    def _names(self, kind: str, text: str) -> list[str]:
        """The names in a list."""
        names = self.labels(kind) if text.strip() == "all" else split_list(text, f"--{kind} ")
        if not names:
            raise ZooError(f"--{kind} is empty{nearest('', self.labels(kind))}")
        return names


def split_list(text: str, option: str = "") -> list[str]:
    """Split at the commas that are outside brackets and quotes, and strip each item.

    option: how the error begins, such as ``"--pe "``. A list of nothing but commas is empty.
    Raises ZooError where some items are empty and others are not.
    """
    items = split_outside(text, ",")
    if not any(items):
        return []
    if "" in items:
        raise ZooError(f"{option}'{text}': an empty name beside a comma")
    return items


_TOKEN = re.compile(r"""'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|.""", re.DOTALL)


def split_outside(text: str, separator: str) -> list[str]:
    """Split at the separators that are outside brackets and quotes, and strip each piece."""
    pieces, depth = [""], 0
    for token in _TOKEN.findall(text):  # a character, or all between two quotes
        depth += (token in "([{") - (token in ")]}")
        if token == separator and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += token
    return [piece.strip() for piece in pieces]


def _bind(what: str, declared: Mapping[str, Any], call: ast.Call) -> Mapping[str, Any]:
    """The call's arguments by parameter name, in declared order, each of its default's type.

    what: the component's name in errors. declared: its parameters with their defaults.
    Raises ZooError for an unknown or repeated parameter, or a value that is no literal.
    """
    bound: dict[str, Any] = {}
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name not in declared:
            raise ZooError(f"{what} has no parameter '{name}'{nearest(name, declared)}")
        if name in bound:
            raise ZooError(f"{what} is given '{name}' twice")
        bound[name] = _value(f"{what}: '{name}' must be", keyword.value, declared[name])
    return {name: bound[name] for name in declared if name in bound}


def _value(must_be: str, node: ast.expr, default: Any) -> Any:
    """The value of a literal of the default's type. Raises ZooError for any other.

    Where the default is text, a name without quotes is text as well; an int may be a float.
    """
    if isinstance(default, str) and isinstance(node, ast.Name):
        return node.id
    # TypeError: a list in a set, or as a key.
    with contextlib.suppress(ValueError, TypeError, RecursionError, OverflowError):
        value = ast.literal_eval(node)
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        is_finite = not isinstance(value, float) or math.isfinite(value)
        if is_finite and (default is None or type(value) is type(default)):
            return value
    kind = f"of type {type(default).__name__}, such as {default!r}"
    raise ZooError(f"{must_be} {'plain' if default is None else kind}, not {ast.unparse(node)}")
