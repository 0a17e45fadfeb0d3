"""Parts declare themselves where they stand; their files are read for it and not run. No torch.

    @part("pe", "rope", source="Su et al. 2021, equation 34", adds=("rotate", "order"))
    class Rotary(PositionalEncoding):
        '''Rotary: queries and keys rotated by their position.'''

The first line of the docstring is the summary. The parameters are those of the signature that the
kind's contract does not pass. The capabilities are those of the class (``capabilities`` in it, or
in the nearest base class) with those that the part adds and without those that it lacks.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pluggy

from zoo.registry.component import PluginError, Register, file_of
from zoo.registry.kinds import COMMAND, KINDS, PASSED

hookspec = pluggy.HookspecMarker("zoo")
hookimpl = pluggy.HookimplMarker("zoo")
T = TypeVar("T", bound=Callable[..., Any])
# Their classes declare nothing, so their files are not read.
_FOREIGN = sys.stdlib_module_names | {"torch", "numpy", "pydantic"}
_DECLARES = re.compile(rb"^@(\w+\.)?part\(", re.MULTILINE)


@hookspec
def zoo_register(register: Register) -> None:
    """Register this plug-in's components, one ``register(kind, name, factory, ...)`` call each.

    A command of ``zoo`` has the kind "command"; its factory is the click command.
    """


def part(
    kind: str,
    name: str,
    *,
    source: str = "",
    adds: tuple[str, ...] = (),
    lacks: tuple[str, ...] = (),
    recipe: Mapping[str, Any] = {},
) -> Callable[[T], T]:
    """Declare a class or function as a part of a kind; it stays as it is.

    source: paper, section and equation, or an address. adds, lacks: capabilities that it has
    beside those of its base class, and those of the base class that it has not. recipe: of data,
    the options of a run on them, as far as no others are asked for. All are literals.
    """
    return lambda factory: factory


class Definition(NamedTuple):
    """A class or function of a module, whose file is not run."""

    module: str
    file: Path
    node: ast.ClassDef | ast.FunctionDef

    def error(self, node: ast.AST, reason: str) -> PluginError:
        """An error with file and line."""
        return PluginError(f"{self.file}:{getattr(node, 'lineno', 1)}: {reason}")

    def literal(self, node: ast.expr, what: str) -> Any:
        """The value of a literal. Raises PluginError for anything else."""
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise self.error(node, f"{what} must be a literal: the file is not run") from None

    def calls(self) -> list[tuple[ast.Call, dict[str, Any]]]:
        """The calls of ``part`` above it, each with its keywords."""
        return [
            (call, {str(k.arg): self.literal(k.value, f"'{k.arg}'") for k in call.keywords})
            for call in self.node.decorator_list
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "part"
        ]

    def bases(self) -> Iterator[Definition]:
        """The base classes whose code can be found, each before its own bases."""
        for base in getattr(self.node, "bases", ()):
            name = getattr(base, "id", "")
            module, name = imports(self.module, self.file).get(name, (self.module, name))
            file: Path | None = self.file
            if module != self.module:
                file = None if module.partition(".")[0] in _FOREIGN else file_of(module)
            for definition in definitions(module, file) if file else ():
                if definition.node.name == name:
                    yield definition
                    yield from definition.bases()


def register_parts(register: Register, module: str) -> None:
    """Register what a module, or all modules of a package, declare.

    Raises PluginError, naming file and line, where a declaration cannot be read.
    """
    file = file_of(module)
    files = {} if file is None else {file: module}
    if file is not None and file.name == "__init__.py":
        for inner in file.parent.rglob("*.py"):
            names = inner.relative_to(file.parent).with_suffix("").parts
            files[inner] = ".".join([module, *(name for name in names if name != "__init__")])
    for each in sorted(files):
        if _DECLARES.search(each.read_bytes()):
            for definition in definitions(files[each], each):
                for call, options in definition.calls():
                    _register(register, definition, call, options)


@functools.cache  # by the module too: that of a single file has a hash of its content in its name
def _parsed(module: str, file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 1)
        raise PluginError(f"{file}:{line}: {type(error).__name__}: {error}") from None


def definitions(module: str, file: Path) -> list[Definition]:
    """The classes and functions of a module. Raises PluginError where it is no Python."""
    kinds = ast.ClassDef | ast.FunctionDef
    return [Definition(module, file, n) for n in _parsed(module, file).body if isinstance(n, kinds)]


def imports(module: str, file: Path) -> dict[str, tuple[str, str]]:
    """The names that a module imports, to module and name there."""
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in _parsed(module, file).body
        if isinstance(statement, ast.ImportFrom) and not statement.level
        for alias in statement.names
    }


def _register(
    register: Register, definition: Definition, call: ast.Call, options: dict[str, Any]
) -> None:
    node, error = definition.node, definition.error
    texts = [definition.literal(argument, "what a part is called with") for argument in call.args]
    if len(texts) != 2 or set(options) - {"source", "adds", "lacks", "recipe"}:
        raise error(call, "write part(KIND, NAME, source=..., adds=(...), lacks=(...), recipe={})")
    for option in ("adds", "lacks"):
        if isinstance(options.get(option), str):
            raise error(call, f"write {option}=({options[option]!r},), with a comma")
    kind, name = texts
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    if not summary:
        raise error(node, f"{node.name} has no docstring, whose first line is its summary")
    bases = list(definition.bases())
    stated, lacks = _stated(definition), set(options.get("lacks", ()))
    inherited = _capabilities(bases) if stated is None else stated
    if absent := sorted(lacks - inherited):
        raise error(call, f"'{name}' lacks {', '.join(absent)}: its base has none to lack")
    try:
        register(
            kind,
            name,
            f"{definition.module}:{node.name}",
            # As help texts have it, the summary of a command is a sentence.
            summary=summary if kind == COMMAND else summary.removesuffix("."),
            source=options.get("source", ""),
            capabilities=(inherited - lacks) | set(options.get("adds", ())),
            parameters=_parameters(kind, [definition, *bases]) if kind in KINDS else {},
            recipe=options.get("recipe"),
        )
    except ValueError as refused:
        raise error(call, str(refused)) from None


def _stated(definition: Definition) -> set[str] | None:
    """The ``capabilities`` in the body of a class; None where there are none."""
    body = definition.node.body if isinstance(definition.node, ast.ClassDef) else []
    for statement in (s for s in body if isinstance(s, ast.Assign | ast.AnnAssign)):
        if statement.value and re.match(r"capabilities\b", ast.unparse(statement)):
            stated = definition.literal(statement.value, "'capabilities'")
            if isinstance(stated, str):
                what = f"capabilities: write ({stated!r},), with a comma"
                raise definition.error(statement, what)
            return set(stated)
    return None


def _capabilities(bases: Sequence[Definition]) -> set[str]:
    """What base classes declare: the nearest ``capabilities``, and what parts before it change."""
    for number, base in enumerate(bases):
        if (stated := _stated(base)) is not None:
            return stated
        for _, options in base.calls():
            inherited = _capabilities(bases[number + 1 :]) - set(options.get("lacks", ()))
            return inherited | set(options.get("adds", ()))
    return set()


def _parameters(kind: str, lineage: Sequence[Definition]) -> dict[str, Any]:
    """The parameters, with their defaults, that the kind's contract does not pass.

    Those of the function, of the class's own ``__init__``, or else of the first base class's.
    """
    for definition in lineage:
        node = definition.node
        inner = (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        function = node if isinstance(node, ast.FunctionDef) else next(inner, None)
        if function is not None:
            break
    else:
        return {}
    arguments, parameters = function.args, dict[str, Any]()
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip(places[::-1], arguments.defaults[::-1], strict=False))
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaults |= {argument: default for argument, default in by_name if default}
    for argument in [*places, *arguments.kwonlyargs]:
        name = argument.arg
        if name in ("self", *PASSED.get(kind, ())):
            continue
        if argument not in defaults:
            none = f"parameter '{name}' has no default, and no {kind} is given one of that name"
            raise definition.error(argument, none)
        parameters[name] = definition.literal(defaults[argument], f"the default of '{name}'")
    return parameters
