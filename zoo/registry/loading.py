"""Loads the built-ins, the installed plug-ins and single files, each apart from the others.

Whatever a plug-in's code does wrong becomes one line; a broken plug-in hurts no other.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import pkgutil
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pluggy

from zoo import __version__
from zoo.errors import ZooError, nearest, one_line
from zoo.registry import BUILT_IN, Owner, Register, Registry, declarations
from zoo.registry.code_hash import imports_beside
from zoo.registry.component import PluginError, file_of
from zoo.registry.declarations import register_parts
from zoo.registry.kinds import COMMAND

DEFAULT_PLUGINS = ("zoo.components", "zoo.data", "zoo.tasks", "zoo.execution", "zoo.cli")
GROUP = "zoo"
_LOADING = threading.RLock()  # sys.stdout and sys.modules are of all threads


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

    files: the single files that were loaded, as absolute paths.
    """

    registry: Registry
    plugins: tuple[PluginRow, ...]
    files: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """One line for each plug-in that failed."""
        return [
            f"plug-in {row.name} ({row.distribution} {row.version}) is left out: {row.error}"
            for row in self.plugins
            if row.error
        ]


def load(files: str | Path | Sequence[str | Path] = (), selection: str | None = None) -> Zoo:
    """Load the built-ins, every installed plug-in that is on, and the files.

    files: one or several Python files with parts. selection: names of the plug-ins, or of their
    distributions, that are on, with commas between; empty: none; by default what ``ZOO_PLUGINS``
    says, and all where it is not set. Raises ZooError for a name that is not installed and for a
    file that cannot be used.
    """
    files = [files] if isinstance(files, str | Path) else files
    registry, known = built_ins(), set[str]()
    rows = [PluginRow(name, BUILT_IN, __version__) for name in DEFAULT_PLUGINS]
    setting = os.environ.get("ZOO_PLUGINS") if selection is None else selection
    selected = {normal(word.strip()) for word in (setting or "").split(",") if word.strip()}
    entries = [(e, e.dist) for e in importlib.metadata.entry_points(group=GROUP) if e.dist]
    for entry, of in sorted(entries, key=lambda pair: (normal(pair[1].name), pair[0].name)):
        names, status, error = {normal(entry.name), normal(of.name)}, "off", ""
        if setting is None or names & selected:
            try:
                registry.admit(read_plugin(entry.value, Owner(of.name, of.version, entry.module)))
                status = "ok"
            except PluginError as failure:
                status, error = "failed", str(failure)
        rows.append(PluginRow(entry.name, of.name, of.version, status, error))
        known |= names
    for name in sorted(selected - known):
        raise ZooError(
            f"ZOO_PLUGINS names '{name}', which is not installed{nearest(name, sorted(known))}"
        )
    paths = list(dict.fromkeys(Path(file).expanduser().resolve() for file in files))
    rows += [_load_file(registry, path) for path in paths]
    return Zoo(registry, tuple(rows), tuple(map(str, paths)))


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


def version_of(distribution: str) -> str | None:
    """The version of a distribution that is installed here; None where it is not."""
    try:
        return importlib.metadata.version(distribution)
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
        file = file_of(module)  # without one, the import says what is wrong
        # A hook that was made elsewhere has its name here and no marker.
        hooks = file is None or re.search(rb"hookimpl|zoo_register", file.read_bytes())
        if ":" in value or hooks:
            # A plug-in manager of its own, so that one that fails halfway leaves nothing.
            manager = pluggy.PluginManager(GROUP)
            manager.add_hookspecs(declarations)
            manager.register(pkgutil.resolve_name(value))
            manager.check_pending()
            manager.hook.zoo_register(register=register)
    if not register.components:
        raise PluginError("it declares no part and has no hook that registers one")
    return register


def _load_file(registry: Registry, path: Path) -> PluginRow:
    """Load a single file. Raises ZooError where any of it cannot be used."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        with _LOADING:
            module = _import_file(path, digest)
        if names := imports_beside(path):
            # The digest is of one file: a result would be kept when the other is edited.
            raise PluginError(f"it imports {names[0]} from beside it: make them a package")
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


def _import_file(path: Path, digest: str) -> str:
    """Import a single file under a module name that no other content has, and return the name.

    The module is in ``sys.modules``, and the same content is imported once, so that its classes can
    be pickled. A thread that wants it waits until it has run. Raises PluginError.
    """
    name = re.sub(r"\W", "_", f"zoo_plugin_{path.stem}_{digest}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is no Python file (its name must end in .py)")
    if module := sys.modules.get(name):
        if not os.path.exists(str(module.__file__)):
            module.__spec__ = spec  # hashes are of the file that is there
        return name
    sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with _plugin_errors():
            # Not by the loader, whose bytecode may be of an edit within the same second.
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            exec(code, sys.modules[name].__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return name


@contextlib.contextmanager
def _plugin_errors() -> Iterator[None]:
    """Turn what a plug-in's code raises into a PluginError, and keep its output off stdout.

    It may even call sys.exit, and stdout may be somebody's JSON. KeyboardInterrupt passes.
    """
    try:
        with _LOADING, contextlib.redirect_stdout(io.StringIO()):
            yield
    except (KeyboardInterrupt, PluginError):
        raise
    except BaseException as error:
        raise PluginError(one_line(error)) from error
