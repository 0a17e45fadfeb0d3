"""Finding plug-ins, keeping a bad one from hurting the rest, and listing them all."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from zoo import __version__, hookspecs
from zoo.errors import ZooError, nearest, one_line
from zoo.registry import BUILT_IN, Owner, Register, Registry

GROUP = "zoo"
DEFAULT_PLUGINS = (
    "zoo.components.attention",
    "zoo.components.pe",
    "zoo.components.norm",
    "zoo.components.ffn",
    "zoo.components.block",
    "zoo.components.pool",
    "zoo.components.baseline",
    "zoo.data",
)


@dataclass(frozen=True)
class PluginRow:
    """What became of one plug-in: ``ok``, ``blocked`` or ``failed`` with its error in one line."""

    name: str
    distribution: str
    version: str
    status: str
    error: str = ""


@dataclass(frozen=True)
class Zoo:
    """Everything a command needs to know of what is installed."""

    registry: Registry
    plugins: tuple[PluginRow, ...]
    warnings: tuple[str, ...]
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class PluginError(Exception):
    """Why one plug-in cannot be used."""


def load(files: Sequence[str | Path] = ()) -> Zoo:
    """Register the built-ins, every installed plug-in that ``ZOO_PLUGINS`` allows, and the files.

    files: single Python files that register like a plug-in's module does.
    Raises ZooError for a file that cannot be used: it was asked for by name.
    """
    registry, rows, warnings = Registry(), [], []
    for name in DEFAULT_PLUGINS:
        module = importlib.import_module(name)
        registry.admit(_components(module, Owner(BUILT_IN, __version__)))
        rows.append(PluginRow(name, BUILT_IN, __version__, "ok"))

    entries = sorted(
        importlib.metadata.entry_points(group=GROUP),
        key=lambda e: (_distribution(e).distribution.lower(), e.name),
    )
    allowed, unknown = _selection(os.environ.get("ZOO_PLUGINS"), entries)
    warnings += unknown
    for entry in entries:
        owner = _distribution(entry)
        status, error = "blocked", ""
        if allowed(entry.name, owner.distribution):
            try:
                registry.admit(_components(_imported(entry), owner))
                status = "ok"
            except PluginError as reason:
                status, error = "failed", str(reason)
                warnings.append(
                    f"plug-in {entry.name} ({owner}) is left out: {error} "
                    f"[ZOO_PLUGINS=-{entry.name} silences this]"
                )
        rows.append(PluginRow(entry.name, owner.distribution, owner.version, status, error))

    for file in files:
        path = Path(file)
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            owner = Owner(path.name, digest)
            registry.admit(_components(_imported_file(path, digest), owner))
        except OSError as reason:
            raise ZooError(f"plug-in file {path} cannot be read: {reason.strerror}") from reason
        except PluginError as reason:
            raise ZooError(f"plug-in file {path} cannot be used: {reason}") from reason
        rows.append(PluginRow(path.stem, owner.distribution, owner.version, "ok"))
    return Zoo(registry, tuple(rows), tuple(warnings), tuple(str(Path(f).resolve()) for f in files))


def _distribution(entry: importlib.metadata.EntryPoint) -> Owner:
    return Owner(entry.dist.name, entry.dist.version) if entry.dist else Owner("unknown", "0")


def _selection(setting: str | None, entries: Iterable[importlib.metadata.EntryPoint]) -> Any:
    """A test of (entry name, distribution) for a value of ``ZOO_PLUGINS``, and its warnings.

    Unset allows all; ``a,b`` allows only those, so an empty one allows none; ``-a`` blocks one.
    """
    words = [word.strip() for word in (setting or "").split(",") if word.strip()]
    blocked = {word[1:] for word in words if word.startswith("-")}
    only = {word for word in words if not word.startswith("-")}
    known = {name for e in entries for name in (e.name, _distribution(e).distribution)}
    warnings = [
        f"ZOO_PLUGINS names '{word}', which is not installed{nearest(word, sorted(known))}"
        for word in sorted(blocked | only)
        if word not in known
    ]

    def allowed(name: str, distribution: str) -> bool:
        if {name, distribution} & blocked:
            return False
        return setting is None or bool(blocked and not only) or bool({name, distribution} & only)

    return allowed, warnings


def _imported(entry: importlib.metadata.EntryPoint) -> Any:
    """What the entry point names; whatever goes wrong in its import is a PluginError."""
    try:
        with _quiet():
            return entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plug-in's import may even call sys.exit
        raise PluginError(one_line(error)) from error


def _imported_file(path: Path, digest: str) -> ModuleType:
    """The module a single file holds, under a name of its own that its classes can be found by."""
    name = f"zoo_plugin_{path.stem}_{digest}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is no Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise PluginError(one_line(error)) from error
    return module


def _components(plugin: Any, owner: Owner) -> Register:
    """What a plug-in registers, once all its hooks are known to be sound.

    A manager of its own proves the hooks, so that a half-registered plug-in leaves nothing behind.
    """
    _require_zoo(getattr(plugin, "requires_zoo", ""))
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(" ".join(str(error).split())) from error
    register = Register(owner)
    try:
        with _quiet():
            results = manager.hook.zoo_register(register=register)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"zoo_register raised {one_line(error)}") from error
    if results:
        raise PluginError(f"zoo_register must return nothing, not {results[0]!r:.60}")
    if not manager.hook.zoo_register.get_hookimpls():
        raise PluginError(
            "it implements no hook; a plug-in has an @hookimpl zoo_register(register)"
        )
    return register


def _require_zoo(requirement: Any) -> None:
    """Refuse a plug-in whose ``requires_zoo`` (a version specifier) this zoo does not meet."""
    if not requirement:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        met = SpecifierSet(requirement).contains(__version__, prereleases=True)
    except (InvalidSpecifier, TypeError) as error:
        raise PluginError(f"requires_zoo is no version specifier: {requirement!r}") from error
    if not met:
        raise PluginError(f"it needs encoder-zoo {requirement}; this is {__version__}")


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep what a plug-in prints while loading off stdout, which may be somebody's JSON."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
