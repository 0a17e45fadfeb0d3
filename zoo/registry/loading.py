"""Everything that is installed, loaded plug-in by plug-in."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zoo import __version__
from zoo.errors import ZooError
from zoo.registry import BUILT_IN, KINDS, Component, Owner, Register, Registry
from zoo.registry.hooks import PluginError, imported, imported_file, registered
from zoo.registry.installed import Installed, Selection, installed
from zoo.registry.promises import fault

DEFAULT_PLUGINS = (
    "zoo.components.attention",
    "zoo.components.pe",
    "zoo.components.norm",
    "zoo.components.ffn",
    "zoo.components.block",
    "zoo.components.pool",
    "zoo.components.baseline",
    "zoo.data",
    "zoo.tasks",
    "zoo.execution",
)


@dataclass(frozen=True)
class PluginRow:
    """What became of one plug-in.

    status: ``ok``; ``clash``: some of its names are others' too, and it must be asked for as
    ``distribution:name``; ``partial``: some of it is left out; ``failed``: all of it is;
    ``blocked`` by ``ZOO_PLUGINS``. error: why, in one line; empty where all is well.
    """

    name: str
    distribution: str
    version: str
    status: str
    error: str = ""


@dataclass(frozen=True)
class Zoo:
    """Everything a command needs to know of what is installed.

    warnings: one line for each thing that is wrong. notes: those of them that no plug-in's row
    tells. files: the single files that were loaded, as absolute paths.
    """

    registry: Registry
    plugins: tuple[PluginRow, ...]
    warnings: tuple[str, ...]
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def load(files: Sequence[str | Path] = ()) -> Zoo:
    """Register the built-ins, every installed plug-in that ``ZOO_PLUGINS`` allows, and the files.

    files: single Python files that register like a plug-in's module does.
    Raises ZooError for a file that cannot be used: it was asked for by name.
    """
    registry = Registry()
    rows = [_admit_built_in(registry, name) for name in DEFAULT_PLUGINS]
    found = installed()
    selection = Selection(os.environ.get("ZOO_PLUGINS"))
    for plugin in found:
        row = PluginRow(plugin.name, plugin.owner.distribution, plugin.owner.version, "blocked")
        rows.append(_admit_installed(registry, plugin, row) if selection.allows(plugin) else row)
    paths = list(dict.fromkeys(Path(file).resolve() for file in files))
    for path in paths:
        rows.append(_admit_file(registry, path))

    notes = selection.unknown(found)
    warnings = [_warning(row) for row in rows if row.error]
    for same in _same_names(rows):
        who = " and ".join(f"{row.distribution} {row.version}" for row in same)
        told = (
            f"{who} each call a plug-in '{same[0].name}'; all are used, "
            "and ZOO_PLUGINS tells them apart by distribution"
        )
        rows = [_with_error(row, "clash", told) if row in same else row for row in rows]
        warnings.append(told)
    for owners, names in _clashes(registry).items():
        rows = [_with_clash(row, owners, names) for row in rows]
        warnings.append(_clash_warning(owners, names))
    return Zoo(
        registry,
        tuple(rows),
        warnings=(*notes, *warnings),
        files=tuple(map(str, paths)),
        notes=tuple(notes),
    )


def _admit_built_in(registry: Registry, name: str) -> PluginRow:
    registry.admit(registered(importlib.import_module(name), Owner(BUILT_IN, __version__)))
    return PluginRow(name, BUILT_IN, __version__, "ok")


def _admit_installed(registry: Registry, plugin: Installed, row: PluginRow) -> PluginRow:
    """Admit what is sound of an installed plug-in, and tell what became of it."""
    try:
        register = registered(imported(plugin), plugin.owner)
    except PluginError as error:
        return replace(row, status="failed", error=str(error))
    faults = _drop_faulty(registry, register)
    registry.admit(register)
    if not faults:
        return replace(row, status="ok")
    status = "partial" if register.components else "failed"
    return replace(row, status=status, error="; ".join(faults))


def _admit_file(registry: Registry, path: Path) -> PluginRow:
    """Admit a single file, whole or not at all."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        owner = Owner(path.name, digest)
        register = registered(imported_file(path, digest), owner)
    except OSError as error:
        raise ZooError(f"plug-in file {path} cannot be read: {error.strerror}") from error
    except PluginError as error:
        raise ZooError(f"plug-in file {path} cannot be used: {error}") from error
    if faults := _drop_faulty(registry, register):
        raise ZooError(f"plug-in file {path} cannot be used: {'; '.join(faults)}")
    registry.admit(register)
    return PluginRow(path.stem, owner.distribution, owner.version, "ok")


def _drop_faulty(registry: Registry, register: Register) -> list[str]:
    """Take out the components that can never work; why, one clause each."""
    faults = []
    for component in list(register.components):
        taken = any(c.full_name == component.full_name for c in registry.components(component.kind))
        reason = "this distribution has one of that name already" if taken else fault(component)
        if reason:
            register.components.remove(component)
            faults.append(f"{component.kind} '{component.name}': {reason}")
    return faults


def _clashes(registry: Registry) -> dict[tuple[Owner, ...], list[Component]]:
    """Components whose bare name has several owners, by those owners."""
    clashes: dict[tuple[Owner, ...], list[Component]] = {}
    for kind in KINDS:
        components = registry.components(kind)
        for name in dict.fromkeys(c.name for c in components):
            same = [c for c in components if c.name == name]
            if len(same) > 1:
                clashes.setdefault(tuple(c.owner for c in same), []).append(same[0])
    return clashes


def _with_clash(row: PluginRow, owners: tuple[Owner, ...], same: list[Component]) -> PluginRow:
    """The row of one of the owners, telling how its components are asked for."""
    me = Owner(row.distribution, row.version)
    if me not in owners or me.distribution == BUILT_IN or row.status in ("failed", "blocked"):
        return row
    others = " and ".join(str(owner) for owner in owners if owner != me)
    told = ", ".join(
        f"{c.kind} '{c.name}' is {others}'s as well, ask for '{me.distribution}:{c.name}'"
        for c in same
    )
    return _with_error(row, "clash", told)


def _same_names(rows: Sequence[PluginRow]) -> list[list[PluginRow]]:
    """The plug-ins in use that have one name, though they come with several distributions."""
    used = [row for row in rows if row.status in ("ok", "partial")]
    groups = [[row for row in used if row.name == name] for name in {row.name for row in used}]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: group[0].name)


def _with_error(row: PluginRow, status: str, error: str) -> PluginRow:
    status = row.status if row.status == "partial" else status
    return replace(row, status=status, error=f"{row.error}; {error}" if row.error else error)


def _clash_warning(owners: tuple[Owner, ...], same: list[Component]) -> str:
    others = [owner for owner in owners if owner.distribution != BUILT_IN]
    told = ", ".join(
        f"{c.kind} '{c.name}' (ask for {' or '.join(f'{o.distribution}:{c.name}' for o in others)})"
        for c in same
    )
    if len(others) == len(owners):
        return f"{' and '.join(map(str, owners))} have components of one name: {told}"
    return f"{' and '.join(map(str, others))} would replace components of the zoo: {told}"


def _warning(row: PluginRow) -> str:
    who = f"plug-in {row.name} ({row.distribution} {row.version})"
    what = "is left out" if row.status == "failed" else "is left out in part"
    return f"{who} {what}: {row.error} [ZOO_PLUGINS=-{row.name} silences this]"
