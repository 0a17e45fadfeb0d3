"""Finds installed plug-ins, imports one and calls its hooks; any error is one line."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from zoo import __version__
from zoo.errors import nearest, one_line
from zoo.registry import hookspecs
from zoo.registry.component import BUILT_IN, Owner, Register

GROUP = "zoo"
UNKNOWN = "unknown"  # the name of a distribution whose metadata has none
_IN_GROUP = re.compile(rf"^\s*\[{GROUP}\]\s*$", re.MULTILINE)
_LONGEST_REASON = 400
# "encoder-zoo>=2" or "encoder-zoo (>=2)", but no requirement with a marker or for an extra.
_REQUIRES_ZOO = re.compile(r"encoder[-_.]zoo\s*\(?\s*([<>=!~][^;()]*)\)?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Installed:
    """An entry point of the group, and its distribution.

    error: why the entry point cannot be read, where ``entry`` is None.
    requirements: the distribution's, as its metadata has them.
    """

    name: str
    owner: Owner
    entry: importlib.metadata.EntryPoint | None
    requirements: tuple[str, ...] = ()
    error: str = ""

    @property
    def names(self) -> set[str]:
        """The normalised names of it and of its distribution."""
        return {normal(self.name), normal(self.owner.distribution)}


def installed() -> list[Installed]:
    """Every plug-in of every installed distribution, ordered by distribution and name.

    Distribution by distribution, because ``importlib.metadata.entry_points`` fails as a whole when
    the metadata of any installed distribution is broken.
    """
    found: dict[str, list[Installed]] = {}
    for number, distribution in enumerate(importlib.metadata.distributions()):
        try:
            text = distribution.read_text("entry_points.txt") or ""
        except (OSError, UnicodeDecodeError):
            continue
        if not _IN_GROUP.search(text):
            continue
        owner = Owner(UNKNOWN, "0")
        try:
            owner = Owner(distribution.name or UNKNOWN, distribution.version or "0")
            needed = tuple(distribution.requires or ())
            entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
        except Exception as error:  # noqa: BLE001 - its metadata may be broken in any way
            reason = f"its metadata cannot be read: {one_line(error)}"
            plugins = [Installed(owner.distribution, owner, None, error=reason)]
        else:
            plugins = [
                Installed(e.name, replace(owner, module=e.value.partition(":")[0]), e, needed)
                for e in entries
            ]
        # A distribution found twice on the path: Python imports the first.
        known = owner.distribution != UNKNOWN
        found.setdefault(normal(owner.distribution) if known else f"{UNKNOWN} {number}", plugins)
    return [p for _, its in sorted(found.items()) for p in sorted(its, key=lambda one: one.name)]


def version_of(distribution: str) -> str | None:
    """The version of a distribution that is installed here; None where it is not."""
    try:
        return importlib.metadata.version(distribution) or "0"
    except importlib.metadata.PackageNotFoundError:
        return None


class Selection:
    """The plug-ins that a value of ``ZOO_PLUGINS`` allows.

    None (unset): all. ``a,b``: only those; empty: none. ``-a``: all but that one. A word is the
    name of a plug-in or of a distribution.
    """

    def __init__(self, setting: str | None) -> None:
        words = [word.strip() for word in (setting or "").split(",")]
        self.blocked = {normal(word[1:]) for word in words if word.startswith("-")}
        self.only = {normal(word) for word in words if word and not word.startswith("-")}
        self.everything = setting is None or bool(self.blocked and not self.only)

    def allows(self, plugin: Installed) -> bool:
        """Whether the plug-in may be loaded."""
        names = plugin.names
        return not names & self.blocked and (self.everything or bool(names & self.only))

    def unknown(self, plugins: Sequence[Installed]) -> list[str]:
        """One line for each name that matches no installed plug-in."""
        known = set[str]().union(*(plugin.names for plugin in plugins))
        return [
            f"ZOO_PLUGINS names '{word}', which is not installed{nearest(word, sorted(known))}"
            for word in sorted((self.blocked | self.only) - known)
        ]


def normal(name: str) -> str:
    """A distribution's normalised name: ``Zoo_Demo`` becomes ``zoo-demo``."""
    return re.sub(r"[-_.]+", "-", name).lower()


class PluginError(Exception):
    """Why one plug-in cannot be used, in one line."""


def import_plugin(plugin: Installed) -> Any:
    """Import what the entry point names. Raises PluginError."""
    if plugin.entry is None:
        raise PluginError(plugin.error)
    for requirement in plugin.requirements:
        if match := _REQUIRES_ZOO.match(requirement):
            _require_zoo(match[1].strip())
    if not plugin.entry.pattern.match(plugin.entry.value):
        raise PluginError(f"its entry point '{plugin.entry.value}' is no 'package.module'")
    with _plugin_errors():
        return plugin.entry.load()


def import_file(path: Path, digest: str) -> ModuleType:
    """Import a single file under a module name that no other file has. Raises PluginError.

    The module is in ``sys.modules``, so that its classes can be pickled.
    """
    name = re.sub(r"\W", "_", f"zoo_plugin_{path.stem}_{digest}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is no Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _plugin_errors():
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def call_hook(plugin: Any, owner: Owner) -> Register:
    """What a plug-in registers through its hooks. Raises PluginError.

    Each plug-in gets a plug-in manager of its own, so that one that fails halfway leaves nothing.
    """
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    register = Register(owner)
    given = {"zoo_register": register, "zoo_commands": register.add_command}
    with _plugin_errors():
        _require_zoo(getattr(plugin, "requires_zoo", ""))
        try:
            manager.register(plugin)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            if unknown := re.match(r"unknown hook '(\w+)'", str(error)):
                raise PluginError(f"no hook '{unknown[1]}'{nearest(unknown[1], given)}") from error
            _, *lines = str(error).splitlines()
            raise PluginError(f"wrong signature: {' '.join(lines)}") from error
    hooks = {hook: getattr(manager.hook, hook) for hook in given}
    if not any(hook.get_hookimpls() for hook in hooks.values()):
        example = "a plug-in has an @hookimpl zoo_register(register)"
        raise PluginError(f"it implements no hook; {example}")
    for name, hook in hooks.items():
        (argument,) = hook.spec.argnames
        if any(argument not in implementation.argnames for implementation in hook.get_hookimpls()):
            raise PluginError(f"wrong signature: {name} must take '{argument}', with no default")
        with _plugin_errors(f"{name} raised "):
            results = hook(**{argument: given[name]})
        if results:
            raise PluginError(f"{name} must return nothing, not a {type(results[0]).__name__}")
    return register


def _require_zoo(requirement: Any) -> None:
    """PluginError where this zoo does not meet a version specifier such as ``">=2"``."""
    if not requirement:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        met = SpecifierSet(requirement).contains(__version__, prereleases=True)
    except (InvalidSpecifier, TypeError) as error:
        raise PluginError(f"requires_zoo is no version specifier: {requirement!r}") from error
    if not met:
        raise PluginError(f"it needs {BUILT_IN} {requirement}; this is {__version__}")


@contextlib.contextmanager
def _plugin_errors(prefix: str = "") -> Iterator[None]:
    """Turn what a plug-in's code raises into a PluginError, and keep its output off stdout.

    It may even call sys.exit, and stdout may be somebody's JSON. KeyboardInterrupt passes.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(prefix + described(error)) from error


def described(error: BaseException) -> str:
    """The error in one line, shortened where it is long, even if its ``__str__`` raises."""
    try:
        text = one_line(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __str__ is the plug-in's code, and may raise
        text = type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
