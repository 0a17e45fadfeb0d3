"""Loading one plug-in and calling its hooks, so that whatever it does wrong is one line."""

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

_LONGEST_REASON = 400
# "encoder-zoo>=2" or "encoder-zoo (>=2)"; one with a marker or for an extra says nothing here.
_REQUIRES_ZOO = re.compile(r"encoder[-_.]zoo\s*\(?\s*([<>=!~][^;()]*)\)?\s*$", re.IGNORECASE)


class PluginError(Exception):
    """Why one plug-in cannot be used, in one line."""


def imported(plugin: Installed) -> Any:
    """What the entry point names. Raises PluginError for whatever goes wrong in its import."""
    if plugin.entry is None:
        raise PluginError(plugin.error)
    for requirement in plugin.requirements:
        if match := _REQUIRES_ZOO.match(requirement):
            require_zoo(match[1].strip())
    if not plugin.entry.pattern.match(plugin.entry.value):
        raise PluginError(f"its entry point '{plugin.entry.value}' is no 'package.module'")
    with blamed():
        return plugin.entry.load()


def imported_file(path: Path, digest: str) -> ModuleType:
    """The module a single file holds, under a name of its own that its classes can be found by.

    Raises PluginError for whatever goes wrong in its import.
    """
    name = re.sub(r"\W", "_", f"zoo_plugin_{path.stem}_{digest}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is no Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with blamed():
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def registered(plugin: Any, owner: Owner) -> Register:
    """What a plug-in registers, once all its hooks are known to be sound.

    A manager of its own proves the hooks, so that a half-registered plug-in leaves nothing behind.
    Raises PluginError.
    """
    with blamed():
        require_zoo(getattr(plugin, "requires_zoo", ""))
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    with blamed():
        _prove(manager, plugin)
    register = Register(owner)
    with blamed("zoo_register raised "):
        results = manager.hook.zoo_register(register=register)
    if results:
        raise PluginError(f"zoo_register must return nothing, not a {type(results[0]).__name__}")
    return register


def _prove(manager: pluggy.PluginManager, plugin: Any) -> None:
    """Take in the plug-in's hooks; PluginError where one is unknown, misshapen or missing."""
    try:
        manager.register(plugin)
    except pluggy.PluginValidationError as error:
        _, *lines = str(error).splitlines()
        raise PluginError(f"wrong signature: {' '.join(lines)}") from error
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        unknown = re.match(r"unknown hook '(\w+)'", str(error))
        hooks = [name for name in vars(hookspecs) if name.startswith("zoo_")]
        raise PluginError(
            f"no hook '{unknown[1]}'{nearest(unknown[1], hooks)}" if unknown else str(error)
        ) from error
    implementations = manager.hook.zoo_register.get_hookimpls()
    if not implementations:
        raise PluginError(
            "it implements no hook; a plug-in has an @hookimpl zoo_register(register)"
        )
    for implementation in implementations:
        if "register" not in implementation.argnames:
            raise PluginError("wrong signature: zoo_register must take 'register', with no default")


def require_zoo(requirement: Any) -> None:
    """Refuse a version specifier such as ``">=2"`` that this zoo does not meet.

    Raises PluginError; nothing is asked where the requirement is empty.
    """
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
def blamed(doing: str = "") -> Iterator[None]:
    """Turn whatever a plug-in's code raises into a PluginError, and keep it off stdout.

    Its import may even call sys.exit; and stdout may be somebody's JSON. A Ctrl-C stays one.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(doing + _said(error)) from error


def _said(error: BaseException) -> str:
    """The error in one line of bearable length, even where it cannot put itself into words."""
    try:
        text = one_line(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __str__ is the plug-in's code, and may even exit
        text = type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
