"""Finds installed plug-ins, and reads what one declares and registers; any error is one line."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pluggy

from zoo.errors import one_line
from zoo.registry import hookspecs
from zoo.registry.component import Owner, PluginError, Register, find_module
from zoo.registry.declarations import register_parts

GROUP = "zoo"
UNKNOWN = "unknown"  # the name of a distribution whose metadata has none
_IN_GROUP = re.compile(rf"^\s*\[{GROUP}\]\s*$", re.MULTILINE)
_LONGEST_REASON = 400


@dataclass(frozen=True)
class Installed:
    """An entry point of the group: its name, its distribution, and what it names.

    error: why the metadata of the distribution cannot be read; empty where they can.
    """

    name: str
    owner: Owner
    value: str = ""
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
    plugins: dict[str, list[Installed]] = {}
    for distribution in importlib.metadata.distributions():
        owner: Owner | None = None
        try:
            if not _IN_GROUP.search(distribution.read_text("entry_points.txt") or ""):
                continue
            owner = Owner(distribution.name or UNKNOWN, distribution.version or "0")
            entries = distribution.entry_points.select(group=GROUP)
            own = [Installed(e.name, replace(owner, module=e.module), e.value) for e in entries]
        except Exception as error:  # noqa: BLE001 - its metadata may be broken in any way
            if owner is None:
                continue
            reason = f"its metadata cannot be read: {one_line(error)}"
            own = [Installed(owner.distribution, owner, error=reason)]
        # A distribution found twice on the path: Python imports the first.
        plugins.setdefault(normal(owner.distribution), own)
    return [p for _, own in sorted(plugins.items()) for p in sorted(own, key=lambda p: p.name)]


def version_of(distribution: str) -> str | None:
    """The version of a distribution that is installed here; None where it is not."""
    try:
        return importlib.metadata.version(distribution) or "0"
    except importlib.metadata.PackageNotFoundError:
        return None


def normal(name: str) -> str:
    """A distribution's normalised name: ``Zoo_Demo`` becomes ``zoo-demo``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_plugin(value: str, owner: Owner) -> Register:
    """What a plug-in declares, and what it registers through its hooks.

    value: a module, or ``module:object``. Its code is run only where it has hooks. Raises
    PluginError.
    """
    register = Register(owner)
    module = value.partition(":")[0]
    with _plugin_errors():
        register_parts(register, module)
        if ":" in value or _has_hooks(module):
            # A plug-in manager of its own, so that one that fails halfway leaves nothing.
            manager = pluggy.PluginManager(GROUP)
            manager.add_hookspecs(hookspecs)
            manager.register(pkgutil.resolve_name(value))
            manager.check_pending()
            manager.hook.zoo_register(register=register)
            manager.hook.zoo_commands(app=register.add_command)
    if not register.components:
        raise PluginError("it declares no part and has no hook that registers one")
    return register


def _has_hooks(module: str) -> bool:
    """Whether a module may have hooks, which is known without running it."""
    spec = find_module(module)
    if spec is None or spec.origin is None or not spec.has_location:
        return True  # whatever is wrong with it, its import says
    # A hook that was made elsewhere has its name here and no marker.
    return (
        re.search(rb"hookimpl|zoo_register|zoo_commands", Path(spec.origin).read_bytes())
        is not None
    )


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


@contextlib.contextmanager
def _plugin_errors() -> Iterator[None]:
    """Turn what a plug-in's code raises into a PluginError, and keep its output off stdout.

    It may even call sys.exit, and stdout may be somebody's JSON. KeyboardInterrupt passes.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except (KeyboardInterrupt, PluginError):
        raise
    except BaseException as error:
        raise PluginError(described(error)) from error


def described(error: BaseException) -> str:
    """The error in one line, shortened where it is long, even if its ``__str__`` raises."""
    try:
        text = one_line(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __str__ is the plug-in's code, and may raise
        text = type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
