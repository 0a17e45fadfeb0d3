"""Parts declare themselves where they stand; their files are read for it and not run. No torch.

    @part("pe", "rope", source="Su et al. 2021, equation 34", adds=("rotate", "order"))
    class Rotary(PositionalEncoding):
        '''Rotary: queries and keys rotated by their position.'''

The first line of the docstring is the summary. The parameters are those of the signature that the
kind's contract does not pass. The capabilities are those of the base class (``capabilities`` there)
with those that the part adds and without those that it lacks.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pluggy

from zoo.registry.component import PluginError, Register, find_module
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
) -> Callable[[T], T]:
    """Declare a class or function as a part of a kind; it stays as it is.

    source: paper, section and equation, or an address. adds, lacks: capabilities that it has
    beside those of its base class, and those of the base class that it has not. All are literals.
    """
    return lambda factory: factory


@dataclass(frozen=True)
class Source:
    """A module's file and its code, which is not run."""

    module: str
    file: Path
    tree: ast.Module

    @functools.cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """The names that the module imports, to module and name there."""
        return {
            alias.asname or alias.name: (statement.module or "", alias.name)
            for statement in self.tree.body
            if isinstance(statement, ast.ImportFrom) and not statement.level
            for alias in statement.names
        }

    def literal(self, node: ast.expr, what: str) -> Any:
        """The value of a literal. Raises PluginError for anything else."""
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise self.error(node, f"{what} must be a literal: the file is not run") from None

    def error(self, node: ast.AST, reason: str) -> PluginError:
        """An error with file and line."""
        return PluginError(f"{self.file}:{getattr(node, 'lineno', 1)}: {reason}")


def register_parts(register: Register, module: str) -> None:
    """Register what a module, or all modules of a package, declare.

    Raises PluginError, naming file and line, where a declaration cannot be read.
    """
    for source in _sources(module):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                for call in _calls(node):
                    _register(register, source, node, call)


def _calls(node: ast.ClassDef | ast.FunctionDef) -> list[ast.Call]:
    """The calls of ``part`` above a definition."""
    return [
        call
        for call in node.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "part"
    ]


def _sources(module: str) -> Iterator[Source]:
    """The files of a module or package that declare anything, by path."""
    spec = find_module(module)
    if spec is None or spec.origin is None or not spec.has_location:
        return
    files = {Path(spec.origin): module}
    if spec.submodule_search_locations:
        folder = Path(spec.origin).parent
        for file in sorted(folder.rglob("*.py")):
            names = file.relative_to(folder).with_suffix("").parts
            files[file] = ".".join([module, *(name for name in names if name != "__init__")])
    for file in sorted(files):
        if _DECLARES.search(file.read_bytes()):
            yield read(files[file], file)


@functools.cache
def read(module: str, file: Path) -> Source:
    """A module's code. Raises PluginError where it is no Python."""
    try:
        return Source(module, file, ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 1)
        raise PluginError(f"{file}:{line}: {type(error).__name__}: {error}") from None


def _register(
    register: Register, source: Source, node: ast.ClassDef | ast.FunctionDef, call: ast.Call
) -> None:
    texts = [source.literal(argument, "what a part is called with") for argument in call.args]
    options = {str(k.arg): source.literal(k.value, f"'{k.arg}'") for k in call.keywords}
    if len(texts) != 2 or set(options) - {"source", "adds", "lacks"}:
        raise source.error(call, "write part(KIND, NAME, source=..., adds=(...), lacks=(...))")
    kind, name = texts
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    if not summary:
        raise source.error(node, f"{node.name} has no docstring, whose first line is its summary")
    lineage = [(source, node), *_lineage(source, node)]
    inherited, lacks = _capabilities(lineage[1:]), set(options.get("lacks", ()))
    if absent := sorted(lacks - inherited):
        raise source.error(call, f"'{name}' lacks {', '.join(absent)}: its base has none to lack")
    try:
        register(
            kind,
            name,
            f"{source.module}:{node.name}",
            # As help texts have it, the summary of a command is a sentence.
            summary=summary if kind == COMMAND else summary.removesuffix("."),
            source=options.get("source", ""),
            capabilities=(inherited - lacks) | set(options.get("adds", ())),
            parameters=_parameters(kind, lineage) if kind in KINDS else {},
        )
    except ValueError as error:
        raise source.error(call, str(error)) from None


Lineage = Sequence[tuple[Source, ast.ClassDef | ast.FunctionDef]]


def _lineage(source: Source, node: ast.AST) -> Iterator[tuple[Source, ast.ClassDef]]:
    """The base classes whose code can be found, each before its own bases."""
    for base in node.bases if isinstance(node, ast.ClassDef) else ():
        if not isinstance(base, ast.Name):
            continue
        home, name = source, base.id
        if base.id in source.imported:
            module, name = source.imported[base.id]
            spec = None if module.partition(".")[0] in _FOREIGN else find_module(module)
            if spec is None or spec.origin is None or not spec.has_location:
                continue
            home = read(module, Path(spec.origin))
        for definition in home.tree.body:
            if isinstance(definition, ast.ClassDef) and definition.name == name:
                yield home, definition
                yield from _lineage(home, definition)


def _capabilities(bases: Lineage) -> set[str]:
    """What base classes declare: the nearest ``capabilities``, and what parts before it change."""
    for number, (home, base) in enumerate(bases):
        for statement in (s for s in base.body if isinstance(s, ast.Assign | ast.AnnAssign)):
            if statement.value and re.match(r"capabilities\b", ast.unparse(statement)):
                return set(home.literal(statement.value, "'capabilities'"))
        for call in _calls(base):
            options = {str(k.arg): home.literal(k.value, f"'{k.arg}'") for k in call.keywords}
            inherited = _capabilities(bases[number + 1 :]) - set(options.get("lacks", ()))
            return inherited | set(options.get("adds", ()))
    return set()


def _parameters(kind: str, lineage: Lineage) -> dict[str, Any]:
    """The parameters, with their defaults, that the kind's contract does not pass.

    Those of the function, of the class's own ``__init__``, or else of the first base class's.
    """
    for home, node in lineage:
        if isinstance(node, ast.FunctionDef):
            return _signature(kind, home, node, skip=0)
        for function in node.body:
            if isinstance(function, ast.FunctionDef) and function.name == "__init__":
                return _signature(kind, home, function, skip=1)
    return {}


def _signature(
    kind: str, source: Source, function: ast.FunctionDef, *, skip: int
) -> dict[str, Any]:
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(places) - len(arguments.defaults))
    by_place = zip(places, [*missing, *arguments.defaults], strict=True)
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parameters = {}
    for argument, default in [*list(by_place)[skip:], *by_name]:
        name = argument.arg
        if name in PASSED.get(kind, ()):
            continue
        if default is None:
            raise source.error(
                argument,
                f"parameter '{name}' has no default, and no {kind} is given one of that name",
            )
        parameters[name] = source.literal(default, f"the default of '{name}'")
    return parameters
