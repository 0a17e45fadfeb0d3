"""Imports one plug-in and calls its hook; any error becomes a PluginError of one line."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from zoo import __version__
from zoo.errors import nearest, one_line
from zoo.registry import BUILT_IN, Owner, Register, hookspecs
from zoo.registry.installed import GROUP, Installed

ARGUMENTS = {"zoo_register": "register", "zoo_commands": "app"}  # hook to what it is given
_LONGEST_REASON = 400
# "encoder-zoo>=2" or "encoder-zoo (>=2)", but no requirement with a marker or for an extra.
_REQUIRES_ZOO = re.compile(r"encoder[-_.]zoo\s*\(?\s*([<>=!~][^;()]*)\)?\s*$", re.IGNORECASE)


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
    with _plugin_errors():
        _require_zoo(getattr(plugin, "requires_zoo", ""))
        _validate_hooks(manager, plugin)
    register = Register(owner)
    for hook, argument in ARGUMENTS.items():
        with _plugin_errors(f"{hook} raised "):
            given = {argument: register if hook == "zoo_register" else register.add_command}
            results = getattr(manager.hook, hook)(**given)
        if results:
            raise PluginError(f"{hook} must return nothing, not a {type(results[0]).__name__}")
    return register


def _validate_hooks(manager: pluggy.PluginManager, plugin: Any) -> None:
    """Register the plug-in's hooks; PluginError for an unknown, wrong or missing one."""
    try:
        manager.register(plugin)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        if unknown := re.match(r"unknown hook '(\w+)'", str(error)):
            hooks = [name for name in vars(hookspecs) if name.startswith("zoo_")]
            raise PluginError(f"no hook '{unknown[1]}'{nearest(unknown[1], hooks)}") from error
        _, *lines = str(error).splitlines()
        raise PluginError(f"wrong signature: {' '.join(lines)}") from error
    found = [
        (hook, argument, implementation.argnames)
        for hook, argument in ARGUMENTS.items()
        for implementation in getattr(manager.hook, hook).get_hookimpls()
    ]
    if not found:
        raise PluginError(
            "it implements no hook; a plug-in has an @hookimpl zoo_register(register)"
        )
    for hook, argument, names in found:
        if argument not in names:
            raise PluginError(f"wrong signature: {hook} must take '{argument}', with no default")


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
