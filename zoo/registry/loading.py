"""Loads the built-ins, the installed plug-ins and single files, each apart from the others."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from zoo import __version__
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, KINDS, Component, Owner, Register, Registry
from zoo.registry.component import Command, find_module, old_ffn
from zoo.registry.plugins import (
    Installed,
    PluginError,
    Selection,
    call_hook,
    import_file,
    import_plugin,
    installed,
)

DEFAULT_PLUGINS = (
    *(f"zoo.components.{kind}" for kind in (*AXES, "baseline")),
    *("zoo.data", "zoo.tasks", "zoo.execution", "zoo.cli"),
)


@dataclass(frozen=True)
class PluginRow:
    """The outcome of loading one plug-in.

    status: ``ok``; ``clash``: another has a name of it too, so that ``distribution:name`` must be
    written; ``partial``: some of its components cannot be used; ``failed``: none can;
    ``blocked`` by ``ZOO_PLUGINS``. error: why, in one line; empty for ``ok`` and ``blocked``.
    """

    name: str
    distribution: str
    version: str
    status: str
    error: str = ""

    @property
    def in_use(self) -> bool:
        """Whether any of its components can be used."""
        return self.status not in ("failed", "blocked")


@dataclass(frozen=True)
class Zoo:
    """All components and commands, and the outcome of loading each plug-in.

    warnings: one line per problem. notes: the warnings that concern no plug-in in ``plugins``.
    files: the single files that were loaded, as absolute paths.
    """

    registry: Registry
    plugins: tuple[PluginRow, ...]
    warnings: tuple[str, ...]
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)


def load(files: Sequence[str | Path] = (), selection: Selection | None = None) -> Zoo:
    """Load the built-ins, every installed plug-in that the selection allows, and the files.

    files: single Python files that register components as a plug-in's module does. selection: by
    default that of ``ZOO_PLUGINS``. Raises ZooError for a file that cannot be used.
    """
    registry, found = built_ins(), installed()
    commands = built_in_commands()
    rows = [PluginRow(name, BUILT_IN, __version__, "ok") for name in DEFAULT_PLUGINS]
    selection = selection or Selection(os.environ.get("ZOO_PLUGINS"))
    for plugin in found:
        row = PluginRow(plugin.name, plugin.owner.distribution, plugin.owner.version, "blocked")
        if selection.allows(plugin):
            row = _load_installed(registry, commands, plugin, row)
        rows.append(row)
    paths = list(dict.fromkeys(Path(file).resolve() for file in files))
    rows += [_load_file(registry, path) for path in paths]

    notes = selection.unknown(found)
    warnings = [_warning(row) for row in rows if row.error]
    for message, column, names in (*_same_plugin_names(rows), *_same_component_names(registry)):
        warnings.append(message)
        rows = [_with_clash(r, message) if getattr(r, column) in names else r for r in rows]
    paths_as_text = tuple(map(str, paths))
    return Zoo(registry, tuple(rows), (*notes, *warnings), paths_as_text, tuple(notes), commands)


def built_ins() -> Registry:
    """A new registry of the built-in components alone."""
    registry = Registry()
    for name in DEFAULT_PLUGINS:
        registry.admit(call_hook(importlib.import_module(name), Owner(BUILT_IN, __version__)))
    return registry


def built_in_commands() -> dict[str, Command]:
    """The commands of the zoo itself, by name."""
    cli = importlib.import_module("zoo.cli")
    return {c.name: c for c in call_hook(cli, Owner(BUILT_IN, __version__)).commands}


def _load_installed(
    registry: Registry, commands: dict[str, Command], plugin: Installed, row: PluginRow
) -> PluginRow:
    try:
        register = call_hook(import_plugin(plugin), plugin.owner)
    except PluginError as error:
        return replace(row, status="failed", error=str(error))
    faults = _drop_unusable(registry, register)
    registry.admit(register)
    for command in register.commands:
        if command.name in commands:
            owner = commands[command.name].owner
            faults.append(f"command '{command.name}': {owner} has one of that name")
    used = [command for command in register.commands if command.name not in commands]
    commands |= {command.name: command for command in used}
    if not faults:
        return replace(row, status="ok")
    status = "partial" if register.components or used else "failed"
    return replace(row, status=status, error="; ".join(faults))


def _load_file(registry: Registry, path: Path) -> PluginRow:
    """Load a single file. Raises ZooError where any of it cannot be used."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        module = import_file(path, digest)
        register = call_hook(module, Owner(path.name, digest, module.__name__))
    except OSError as error:
        raise ZooError(f"plug-in file {path} cannot be read: {error.strerror}") from error
    except PluginError as error:
        raise ZooError(f"plug-in file {path} cannot be used: {error}") from error
    faults = _drop_unusable(registry, register)
    if register.commands:  # the file is read when the command is running already
        faults.append(f"command '{register.commands[0].name}': only a package can add commands")
    if faults:
        raise ZooError(f"plug-in file {path} cannot be used: {'; '.join(faults)}")
    registry.admit(register)
    return PluginRow(path.stem, path.name, digest, "ok")


def _drop_unusable(registry: Registry, register: Register) -> list[str]:
    """Remove the components that can never work; why, one clause each."""
    faults = []
    for component in list(register.components):
        taken = any(c.full_name == component.full_name for c in registry.components(component.kind))
        reason = "this distribution has one of that name already" if taken else _fault(component)
        if reason:
            register.components.remove(component)
            faults.append(f"{component.kind} '{component.name}': {reason}")
    return faults


def _fault(component: Component) -> str:
    """Why the component's factory can never work, as far as is known without importing it."""
    factory = component.factory
    if isinstance(factory, str):
        module = factory.partition(":")[0]
        with contextlib.suppress(ImportError, ValueError):  # a module without a spec, as __main__
            return "" if find_module(module) else f"'{factory}': there is no module '{module}'"
    if isinstance(factory, type) and (component.kind in AXES or component.can("tokens")):
        # Defining a torch module imports torch, so without torch this is none.
        torch_nn = sys.modules.get("torch.nn")
        if torch_nn is None or not issubclass(factory, torch_nn.Module):
            return f"{factory.__qualname__} is no torch.nn.Module"
        return old_ffn(component.kind, factory)
    return ""


# A warning, and the plug-ins that it concerns: a field of PluginRow and its values.
Clash = tuple[str, str, set[str]]


def _same_plugin_names(rows: Sequence[PluginRow]) -> Iterator[Clash]:
    """Plug-ins in use that share a name, though they come from several distributions."""
    for name in sorted({row.name for row in rows}):
        same = [f"{r.distribution} {r.version}" for r in rows if r.name == name and r.in_use]
        if len(same) > 1:
            yield (
                f"{' and '.join(same)} each call a plug-in '{name}'; all are used, and "
                "ZOO_PLUGINS takes their distributions' names",
                "name",
                {name},
            )


def _same_component_names(registry: Registry) -> Iterator[Clash]:
    """Components that share a bare name; one warning for all names of the same owners."""
    clauses: dict[tuple[Owner, ...], list[str]] = {}
    for kind in KINDS:
        components = registry.components(kind)
        for name in dict.fromkeys(c.name for c in components):
            same = [c for c in components if c.name == name]
            if len(same) > 1:
                ask = " or ".join(c.full_name for c in same if c.owner.distribution != BUILT_IN)
                clause = f"{kind} '{name}' (ask for {ask})"
                clauses.setdefault(tuple(c.owner for c in same), []).append(clause)
    for owners, names in clauses.items():
        message = f"{' and '.join(map(str, owners))} register the same names: {', '.join(names)}"
        # The built-in one keeps its bare name, so nothing is wrong with the zoo's own plug-ins.
        yield message, "distribution", {o.distribution for o in owners} - {BUILT_IN}


def _with_clash(row: PluginRow, message: str) -> PluginRow:
    if not row.in_use:
        return row
    status = row.status if row.status == "partial" else "clash"
    return replace(row, status=status, error=f"{row.error}; {message}" if row.error else message)


def _warning(row: PluginRow) -> str:
    who = f"plug-in {row.name} ({row.distribution} {row.version})"
    what = "is left out" if row.status == "failed" else "is left out in part"
    return f"{who} {what}: {row.error} [ZOO_PLUGINS=-{row.name} silences this]"
