"""Keys of results: hashes of everything that a result depends on.

A result is reused for a request whose key is the same: same code, plug-ins, configuration, data
and seed; for a cost also the same machine. Comments, docstrings and formatting of the code do not
count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import zoo
from zoo.registry import BUILT_IN, Choice
from zoo.sweep.machine import machine_of

PACKAGE = Path(zoo.__file__).parent
# The code that decides the number. Reports and the command line are not part of it.
TRAINING_CODE = (
    *("components", "models", "data", "tasks", "train", "registry/pattern.py"),
    *("execution/train_job.py", "execution/open_setup.py", "execution/worker.py"),
)
COST_CODE = (
    *(*TRAINING_CODE, "measure"),
    *("execution/cost_job.py", "execution/cost_steps.py"),
)
SCALE_CODE = (*COST_CODE, "sweep/scale.py")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def digest(value: Any) -> str:
    """A short, stable hash of anything that JSON can hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def training_key(
    model: Mapping[str, Any], seed: int, config: Mapping[str, Any], plugins: Mapping[str, str]
) -> str:
    """The key of one training. model: what a row is; plugins: ``plugin_hashes``."""
    return digest(["train", model, seed, config, plugins, code_hash(TRAINING_CODE)])


def cost_key(
    kind: str,
    model: Mapping[str, Any],
    config: Mapping[str, Any],
    plugins: Mapping[str, str],
    environment: Mapping[str, Any],
    *more: Any,
) -> str:
    """The key of a cost or scale measurement. more: what else it depends on."""
    machine = machine_of(environment)
    code = code_hash(SCALE_CODE if kind == "scale" else COST_CODE)
    return digest([kind, model, config, plugins, code, machine, *more])


def plugin_hashes(choices: Iterable[Choice]) -> dict[str, str]:
    """Distribution to ``version hash`` of every third-party component among the choices."""
    found: dict[str, tuple[str, set[str]]] = {}
    for choice in choices:
        owner = choice.component.owner
        if owner.distribution != BUILT_IN:
            _, parts = found.setdefault(owner.distribution, (owner.version, set()))
            parts.add(component_hash(choice))
    return {name: f"{version} {'+'.join(sorted(p))}" for name, (version, p) in found.items()}


def component_hash(choice: Choice) -> str:
    """A hash of the code a component is likely made of, without importing it.

    Of a built-in: the Python files of its folder. Of another: those of its whole package.
    """
    file = choice.component.file()
    if file is None:
        return "unknown"
    path = Path(file)
    package = path.parent
    if choice.component.owner.distribution != BUILT_IN:
        if not (package / "__init__.py").exists():
            return hash_of_files([path])
        while (package.parent / "__init__.py").exists():
            package = package.parent
    return _folder_hash(package)


@functools.cache
def code_hash(parts: tuple[str, ...]) -> str:
    """A hash of these folders and files of the zoo's own code."""
    files: list[Path] = []
    for part in parts:
        path = PACKAGE / part
        files += path.rglob("*.py") if path.is_dir() else [path]
    return hash_of_files(files, PACKAGE)


@functools.cache
def _folder_hash(folder: Path) -> str:
    return hash_of_files(folder.rglob("*.py"), folder)


def hash_of_files(files: Iterable[Path], root: Path | None = None) -> str:
    """A hash of what Python files do: their syntax trees without docstrings."""
    content = hashlib.sha256()
    for file in sorted(files):
        name = file.name if root is None else file.relative_to(root).as_posix()
        content.update(name.encode() + b"\0" + _code_of(file) + b"\0")
    return content.hexdigest()[:16]


def _code_of(file: Path) -> bytes:
    source = file.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree).encode()
