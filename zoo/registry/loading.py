"""Loads the built-ins, the installed plug-ins and single files, each apart from the others."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo import __version__
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, KINDS, Component, Owner, Register, Registry
from zoo.registry.component import find_module
from zoo.registry.kinds import COMMAND
from zoo.registry.plugins import (
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


@dataclass
class PluginRow:
    """The outcome of loading one plug-in.

    status: ``ok``; ``clash``: another has a name of it too, so that ``distribution:name`` must be
    written; ``partial``: some of its components cannot be used; ``failed``: none can;
    ``blocked`` by ``ZOO_PLUGINS``. error: why, in one line; empty for ``ok`` and ``blocked``.
    """

    name: str
    distribution: str
    version: str
    status: str = "ok"
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


def load(files: Sequence[str | Path] = (), selection: Selection | None = None) -> Zoo:
    """Load the built-ins, every installed plug-in that the selection allows, and the files.

    files: single Python files that register components as a plug-in's module does. selection: by
    default that of ``ZOO_PLUGINS``. Raises ZooError for a file that cannot be used.
    """
    registry, found = built_ins(), installed()
    rows = [PluginRow(name, BUILT_IN, __version__) for name in DEFAULT_PLUGINS]
    selection = selection or Selection(os.environ.get("ZOO_PLUGINS"))
    for plugin in found:
        row = PluginRow(plugin.name, plugin.owner.distribution, plugin.owner.version, "blocked")
        rows.append(row)
        if selection.allows(plugin):
            try:
                register = call_hook(import_plugin(plugin), plugin.owner)
            except PluginError as error:
                row.status, row.error = "failed", str(error)
                continue
            row.error = "; ".join(_admit(registry, register))
            row.status = "ok" if not row.error else "partial" if register.components else "failed"
    paths = list(dict.fromkeys(Path(file).expanduser().resolve() for file in files))
    rows += [_load_file(registry, path) for path in paths]
    notes = tuple(selection.unknown(found))
    warnings = [
        f"plug-in {row.name} ({row.distribution} {row.version}) is left out"
        f"{'' if row.status == 'failed' else ' in part'}: {row.error} "
        f"[ZOO_PLUGINS=-{row.name} silences this]"
        for row in rows
        if row.error
    ]
    for message, concerned in (*_same_plugin_names(rows), *_same_component_names(registry, rows)):
        warnings.append(message)
        for row in concerned:
            row.status = row.status if row.status == "partial" else "clash"
            row.error = f"{row.error}; {message}" if row.error else message
    return Zoo(registry, tuple(rows), (*notes, *warnings), tuple(map(str, paths)), notes)


def built_ins() -> Registry:
    """A new registry of the built-in components and commands alone."""
    registry = Registry()
    for name in DEFAULT_PLUGINS:
        registry.admit(call_hook(importlib.import_module(name), Owner(BUILT_IN, __version__)))
    return registry


def _load_file(registry: Registry, path: Path) -> PluginRow:
    """Load a single file. Raises ZooError where any of it cannot be used."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        module = import_file(path, digest)
        register = call_hook(module, Owner(path.name, digest, module.__name__))
        if faults := _admit(registry, register):
            raise PluginError("; ".join(faults))
        if commands := [c.name for c in register.components if c.kind == COMMAND]:
            # The file is read when the command is running already.
            raise PluginError(f"command '{commands[0]}': only a package can add commands")
    except OSError as error:
        raise ZooError(f"plug-in file {path} cannot be read: {error.strerror}") from error
    except PluginError as error:
        raise ZooError(f"plug-in file {path} cannot be used: {error}") from error
    return PluginRow(path.stem, path.name, digest)


def _admit(registry: Registry, register: Register) -> list[str]:
    """Admit the components that may work; why the others never can, one clause each."""
    faults = []
    for component in list(register.components):
        if reason := _fault(registry, component):
            register.components.remove(component)
            faults.append(f"{component.kind} '{component.name}': {reason}")
    registry.admit(register)
    return faults


def _fault(registry: Registry, component: Component) -> str:
    """Why the component can never work, as far as is known without importing its factory."""
    if component.kind == COMMAND:
        same = registry.commands.get(component.name)
        return f"{same.owner} has one of that name" if same else ""
    if any(c.full_name == component.full_name for c in registry.components(component.kind)):
        return "this distribution has one of that name already"
    factory = component.factory
    if isinstance(factory, str):
        module = factory.partition(":")[0]
        there = module in sys.modules or find_module(module)
        return "" if there else f"'{factory}': there is no module '{module}'"
    if isinstance(factory, type) and (component.kind in AXES or component.can("tokens")):
        # Defining a torch module imports torch, so without torch this is none.
        torch_nn = sys.modules.get("torch.nn")
        if torch_nn is None or not issubclass(factory, torch_nn.Module):
            return f"{factory.__qualname__} is no torch.nn.Module"
    return ""


def _same_plugin_names(rows: Sequence[PluginRow]) -> Iterator[tuple[str, list[PluginRow]]]:
    """A warning for each name of several plug-ins in use, and these plug-ins."""
    for name in sorted({row.name for row in rows}):
        same = [row for row in rows if row.name == name and row.in_use]
        if len(same) > 1:
            owners = " and ".join(f"{row.distribution} {row.version}" for row in same)
            words = f"{owners} each call a plug-in '{name}'; all are used, and ZOO_PLUGINS takes"
            yield f"{words} their distributions' names", same


def _same_component_names(
    registry: Registry, rows: Sequence[PluginRow]
) -> Iterator[tuple[str, list[PluginRow]]]:
    """A warning for all names that the same owners share, and the plug-ins of these owners."""
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
        concerned = {owner.distribution for owner in owners} - {BUILT_IN}
        yield message, [row for row in rows if row.in_use and row.distribution in concerned]
