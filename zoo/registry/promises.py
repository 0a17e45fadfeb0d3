"""What can be known of a factory without importing it: does it exist, can it be a module?

A lazy factory is imported only when a cell needs it, which may be an hour into a run. Its source
is looked at when it is listed, so that a wrong name is known at once and torch stays unimported.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

from zoo.errors import nearest
from zoo.registry import AXES, Component

# Where one of these stands, names may come to be that the source does not show.
_DYNAMIC = {"globals", "vars", "locals", "exec", "setattr", "__import__"}

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class UnknownError(Exception):
    """Nothing can be said without importing; the benefit of the doubt goes to the plug-in."""


def fault(component: Component) -> str:
    """Why the component's factory can never work; empty where it may."""
    must_be_module = component.kind in AXES or component.can("tokens")
    factory = component.factory
    if isinstance(factory, str):
        try:
            return _lazy_fault(factory, must_be_module)
        except (UnknownError, RecursionError, ImportError, ValueError):
            return ""
    if must_be_module and isinstance(factory, type) and not _is_module(factory):
        return f"{factory.__qualname__} is no torch.nn.Module"
    return ""


def _is_module(factory: type) -> bool:
    """Whether a class is a torch module; while torch is not imported, none is."""
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    return module is not None and issubclass(factory, module)


def _lazy_fault(factory: str, must_be_module: bool) -> str:
    path, _, attribute = factory.partition(":")
    spec = _find(path)
    if spec is None:
        return f"'{factory}' does not resolve: there is no module '{path}'"
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise UnknownError
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except OSError as error:
        raise UnknownError from error
    except (SyntaxError, ValueError) as error:
        return f"'{factory}' does not resolve: {type(error).__name__}: {error}"
    names = _names(tree)
    first = attribute.partition(".")[0]
    if first not in names:
        if _is_dynamic(tree) or _find(f"{path}.{first}") is not None:
            raise UnknownError
        public = [name for name, found in names.items() if isinstance(found[0], _DEFINITIONS)]
        return f"'{factory}' does not resolve: '{path}' has no '{first}'{nearest(first, public)}"
    if must_be_module and first == attribute and _surely_plain(attribute, names):
        return f"'{factory}' is no torch.nn.Module"
    return ""


def _find(path: str) -> ModuleSpec | None:
    """The module's spec, found as the import system would, but without importing its parents."""
    if path in sys.modules:
        spec: ModuleSpec | None = getattr(sys.modules[path], "__spec__", None)
        if spec is None:
            raise UnknownError
        return spec
    parent, _, _ = path.rpartition(".")
    if not parent:
        return importlib.util.find_spec(path)
    above = _find(parent)
    if above is None or above.submodule_search_locations is None:
        return None
    for finder in sys.meta_path:
        found = finder.find_spec(path, list(above.submodule_search_locations))
        if found is not None:
            return found
    return None


def _names(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Every name a module may have, with all that may give it its value."""
    names: dict[str, list[ast.AST]] = {}
    for node in _module_level(tree):
        if isinstance(node, _DEFINITIONS):
            names.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                names.setdefault(alias.asname or alias.name.partition(".")[0], []).append(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, []).append(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                names.setdefault(name, []).append(node)
    return names


def _module_level(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported, within if, try and with as well."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _DEFINITIONS):
            yield from _module_level(child)


def _is_dynamic(tree: ast.Module) -> bool:
    """Whether names may appear in the module that its source does not show."""
    return any(
        (isinstance(node, ast.Name) and node.id in _DYNAMIC)
        or (isinstance(node, ast.Attribute) and node.attr == "modules")
        or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
        or (isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names))
        for node in ast.walk(tree)
    )


def _surely_plain(name: str, names: dict[str, list[ast.AST]]) -> bool:
    """Whether the name is a class that inherits from nothing but such classes."""
    if name == "object" and name not in names:
        return True
    match names.get(name, []):
        case [ast.ClassDef(decorator_list=[], keywords=[]) as found]:
            others = {n: nodes for n, nodes in names.items() if n != name}
            return all(isinstance(b, ast.Name) and _surely_plain(b.id, others) for b in found.bases)
        case _:
            return False
