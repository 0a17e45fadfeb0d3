"""Loads the built-ins, the installed plug-ins and single files, each apart from the others."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo import __version__
from zoo.errors import ZooError, nearest
from zoo.registry import BUILT_IN, Owner, Register, Registry
from zoo.registry.component import PluginError
from zoo.registry.kinds import COMMAND
from zoo.registry.plugins import Installed, import_file, installed, normal, read_plugin

DEFAULT_PLUGINS = ("zoo.components", "zoo.data", "zoo.tasks", "zoo.execution", "zoo.cli")


@dataclass(frozen=True)
class PluginRow:
    """The outcome of loading one plug-in.

    status: ``ok``; ``failed``: it is left out; ``off``: ``ZOO_PLUGINS`` does not name it.
    error: why it failed, in one line; else empty.
    """

    name: str
    distribution: str
    version: str
    status: str = "ok"
    error: str = ""


@dataclass(frozen=True)
class Zoo:
    """All components and commands, and the outcome of loading each plug-in.

    warnings: one line for each plug-in that failed. files: the single files that were loaded, as
    absolute paths.
    """

    registry: Registry
    plugins: tuple[PluginRow, ...]
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def load(files: Sequence[str | Path] = (), selection: str | None = None) -> Zoo:
    """Load the built-ins, every installed plug-in that is on, and the files.

    files: single Python files with parts. selection: names of the plug-ins, or of their
    distributions, that are on, with commas between; empty: none; by default what ``ZOO_PLUGINS``
    says, and all where it is not set. Raises ZooError for a name that is not installed and for a
    file that cannot be used.
    """
    registry, plugins = built_ins(), installed()
    rows = [PluginRow(name, BUILT_IN, __version__) for name in DEFAULT_PLUGINS]
    names = _selected(os.environ.get("ZOO_PLUGINS") if selection is None else selection, plugins)
    for plugin in plugins:
        status, error = "off", ""
        if names is None or names & plugin.names:
            try:
                if plugin.error:
                    raise PluginError(plugin.error)
                registry.admit(read_plugin(plugin.value, plugin.owner))
                status = "ok"
            except PluginError as failure:
                status, error = "failed", str(failure)
        owner = plugin.owner
        rows.append(PluginRow(plugin.name, owner.distribution, owner.version, status, error))
    paths = list(dict.fromkeys(Path(file).expanduser().resolve() for file in files))
    rows += [_load_file(registry, path) for path in paths]
    warnings = [
        f"plug-in {row.name} ({row.distribution} {row.version}) is left out: {row.error}"
        for row in rows
        if row.error
    ]
    return Zoo(registry, tuple(rows), tuple(warnings), tuple(map(str, paths)))


def built_ins() -> Registry:
    """A new registry of the built-in components and commands alone."""
    registry = Registry()
    for register in _built_in():
        registry.admit(register)
    return registry


@functools.cache
def _built_in() -> list[Register]:
    owner = Owner(BUILT_IN, __version__)
    return [read_plugin(module, owner) for module in DEFAULT_PLUGINS]


def _selected(setting: str | None, plugins: Sequence[Installed]) -> set[str] | None:
    """The names in a value of ``ZOO_PLUGINS``, normalised; None: all are on."""
    if setting is None:
        return None
    names = {normal(word) for word in map(str.strip, setting.split(",")) if word}
    known = set[str]().union(*(plugin.names for plugin in plugins))
    for name in sorted(names - known):
        raise ZooError(
            f"ZOO_PLUGINS names '{name}', which is not installed{nearest(name, sorted(known))}"
        )
    return names


def _load_file(registry: Registry, path: Path) -> PluginRow:
    """Load a single file. Raises ZooError where any of it cannot be used."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        module = import_file(path, digest).__name__
        register = read_plugin(module, Owner(path.name, digest, module))
        if commands := [c.name for c in register.components if c.kind == COMMAND]:
            # The file is read when the command is running already.
            raise PluginError(f"command '{commands[0]}': only a package can add commands")
        registry.admit(register)
    except OSError as error:
        raise ZooError(f"plug-in file {path} cannot be read: {error.strerror}") from error
    except PluginError as error:
        raise ZooError(f"plug-in file {path} cannot be used: {error}") from error
    return PluginRow(path.stem, path.name, digest)
