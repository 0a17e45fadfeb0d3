"""What an outcome hangs on, as hashes: code, plug-ins, configuration, machine."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zoo
from zoo.execution.base import Subject
from zoo.registry import BUILT_IN, Choice
from zoo.sweep.records import digest

PACKAGE = Path(zoo.__file__).parent
# What a trial's outcome hangs on; the command line and the reports are not among it.
DECISIVE = ("components", "models", "data", "harness", "tasks")


@functools.cache
def code_hash() -> str:
    """A hash of the zoo's own code that decides what a trial or probe gives."""
    return _hash_of(file for room in DECISIVE for file in (PACKAGE / room).rglob("*.py"))


def plugin_hashes(choices: Iterable[Choice]) -> dict[str, str]:
    """Owner to ``version hash`` of every foreign component among the choices."""
    found: dict[str, tuple[str, set[str]]] = {}
    for choice in choices:
        owner = choice.component.owner
        if owner.distribution != BUILT_IN:
            _, parts = found.setdefault(owner.distribution, (owner.version, set()))
            parts.add(component_hash(choice))
    return {name: f"{version} {'+'.join(sorted(p))}" for name, (version, p) in found.items()}


def component_hash(choice: Choice) -> str:
    """A hash of the Python files beside the component's own, which is all it is likely made of.

    Of a built-in: those of its kind. Of another: those of its whole package.
    """
    file = choice.component.file()
    if file is None:
        return "unknown"
    path = Path(file)
    if choice.component.owner.distribution == BUILT_IN:
        return _package_hash(path.parent)
    package = path.parent
    if not (package / "__init__.py").exists():
        return _hash_of([path])
    while (package.parent / "__init__.py").exists():
        package = package.parent
    return _package_hash(package)


@functools.cache
def _package_hash(package: Path) -> str:
    return _hash_of(package.rglob("*.py"))


def _hash_of(files: Iterable[Path]) -> str:
    content = hashlib.sha256()
    for file in sorted(files):
        content.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def trial_key(subject: Subject, seed: int, config: dict[str, Any], plugins: dict[str, str]) -> str:
    """Two trials with one key are the same work: code, plug-ins, configuration, data and seed."""
    return digest(["trial", *_who(subject), seed, config, plugins, code_hash()])


def probe_key(
    subject: Subject,
    config: dict[str, Any],
    plugins: dict[str, str],
    environment: dict[str, Any],
    reference: str,
) -> str:
    """As for a trial, and the same device, driver, torch, threads and reference as well."""
    machine = {
        name: environment[name]
        for name in ("device", "device_name", "driver", "torch", "threads", "precision", "cores")
    }
    return digest(["probe", *_who(subject), config, plugins, code_hash(), machine, reference])


def _who(subject: Subject) -> list[Any]:
    return [dict(subject.cell), subject.baseline]


@functools.cache
def git_state() -> dict[str, Any]:
    """The commit of the zoo's code and whether it was changed since; empty outside a checkout."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(PACKAGE), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie inside somebody else's checkout, whose commit says nothing of it.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "."))}
