"""Hashes of code: of the zoo's own, and of the distributions that components come from.

Comments, docstrings and formatting do not count, and nothing is imported, only read.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path

import zoo
from zoo.registry.component import BUILT_IN, Choice, file_of, find_module

PACKAGE = Path(zoo.__file__).parent
UNKNOWN = "unknown"  # the hash of a module without a file
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def plugin_modules(choices: Iterable[Choice]) -> dict[tuple[str, str], Sequence[str]]:
    """Distribution and version of every third-party component, or file, to the modules that count.

    These are the packages that define the components, and the plug-in that registers them.
    """
    modules: dict[tuple[str, str], set[str]] = {}
    for component in (choice.component for choice in choices):
        owner = component.owner
        if owner.distribution != BUILT_IN:
            names = {name.partition(".")[0] for name in (owner.module, component.module)}
            modules.setdefault((owner.distribution, owner.version), set()).update(names)
    return {owner: sorted(names - {"zoo", ""}) for owner, names in modules.items()}


def module_hash(distribution: str, name: str, *, as_bytes: bool = False) -> str:
    """The hash of a distribution's module as it is here; UNKNOWN where it has no file."""
    path = PACKAGE / name if distribution == BUILT_IN else _path(name)
    return UNKNOWN if path is None or not path.exists() else hash_of(path, as_bytes=as_bytes)


def hash_of(path: Path, *, as_bytes: bool = False) -> str:
    """A hash of a Python file, or of all in a folder: their syntax trees without docstrings.

    TOML files of a folder, which describe components, count too. as_bytes: of their bytes instead.
    """
    files, root = [path], path.parent
    if path.is_dir():
        files, root = sorted(f for f in path.rglob("*") if f.suffix in (".py", ".toml")), path
    content = hashlib.sha256()
    for file in files:
        code = file.read_bytes() if as_bytes else _read(file, _state(file))[0]
        content.update(file.relative_to(root).as_posix().encode() + b"\0" + code + b"\0")
    return content.hexdigest()[:16]


@functools.cache
def zoo_modules(root: str, harmless: tuple[str, ...]) -> frozenset[str]:
    """The zoo's modules that one is or imports, directly or not: their paths in the package.

    root: a dotted name, of a module of the zoo or of a plug-in. Imports within functions count,
    imports for types alone do not. harmless: files, and folders with a slash at the end, that
    neither count nor are followed where they are imported.
    """
    top = root.partition(".")[0]
    seen, waiting, paths = {root}, [root], set[str]()
    while waiting:
        module = waiting.pop()
        if module.startswith("zoo."):
            # Of the zoo's packages there is no such file: an __init__ only registers names.
            path = f"{module.removeprefix('zoo.').replace('.', '/')}.py"
            file: Path | None = PACKAGE / path
            if not (PACKAGE / path).is_file() or (module != root and path.startswith(harmless)):
                continue
            paths.add(path)
        else:
            file = file_of(module)
        if file is None or not file.is_file():
            continue
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        for name in _read(file, _state(file))[1]:
            with contextlib.suppress(ImportError):  # more dots than there are packages
                name = importlib.util.resolve_name(name, package)
            if name not in seen and name.partition(".")[0] in ("zoo", top):
                seen.add(name)
                waiting.append(name)
    return frozenset(paths)


def imports_beside(file: Path) -> list[str]:
    """The modules and packages of a file's own folder that it imports; none of the zoo."""
    tops = {name.partition(".")[0] for name in _read(file, _state(file))[1]} - {"zoo", ""}
    paths = {top: path for top in tops if (path := _path(top))}
    return sorted(top for top, path in paths.items() if path.resolve().parent == file.parent)


@functools.cache
def _read(file: Path, state: tuple[int, int]) -> tuple[bytes, frozenset[str]]:
    """What the code of a Python file does, as bytes, and the modules that it imports.

    These may be names of other things; relative ones begin with dots. state: of the file, which in
    a notebook may be edited between two runs.
    """
    source = file.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source, frozenset()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    code, names = ast.dump(tree).encode(), set[str]()
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            dot = "." if node.module else ""
            names |= {module, *(f"{module}{dot}{alias.name}" for alias in node.names)}
    return code, frozenset(names)


def _state(file: Path) -> tuple[int, int]:
    """When a file was changed, and its size."""
    about = file.stat()
    return about.st_mtime_ns, about.st_size


def _path(module: str) -> Path | None:
    """The folder of a package, or the file of a module; None where it has none."""
    spec = find_module(module)
    folders = spec.submodule_search_locations if spec else None
    return Path(folders[0]) if folders else file_of(module)
