"""Which plug-ins are installed, and which of them ``ZOO_PLUGINS`` allows."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from zoo.errors import nearest, one_line
from zoo.registry.component import Owner

GROUP = "zoo"
_NAMELESS = "unknown"
_IN_GROUP = re.compile(rf"^\s*\[{GROUP}\]\s*$", re.MULTILINE)


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


def installed() -> list[Installed]:
    """Every plug-in of every installed distribution, ordered by distribution and name.

    Distribution by distribution, because ``importlib.metadata.entry_points`` fails as a whole when
    the metadata of any installed distribution is broken.
    """
    found: dict[str, list[Installed]] = {}
    for distribution in importlib.metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt") or ""
        except (OSError, UnicodeDecodeError):
            continue
        if not _IN_GROUP.search(text):
            continue
        plugins = _plugins(distribution)
        name = normal(plugins[0].owner.distribution) if plugins else ""
        # A distribution found twice on the path: Python imports the first.
        found.setdefault(name if name != _NAMELESS else f"{name} {len(found)}", plugins)
    everything = [plugin for plugins in found.values() for plugin in plugins]
    return sorted(everything, key=lambda p: (normal(p.owner.distribution), p.name))


def _plugins(distribution: importlib.metadata.Distribution) -> list[Installed]:
    """The plug-ins of one distribution; where it cannot be read, a single one that says why."""
    owner = Owner(_NAMELESS, "0")
    try:
        owner = Owner(distribution.name or _NAMELESS, distribution.version or "0")
        requirements = tuple(distribution.requires or ())
        entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
    except Exception as error:  # noqa: BLE001 - its metadata may be broken in any way
        reason = f"its metadata cannot be read: {one_line(error)}"
        return [Installed(owner.distribution, owner, None, error=reason)]
    return [
        Installed(e.name, replace(owner, module=e.value.partition(":")[0]), e, requirements)
        for e in entries
    ]


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
        names = {normal(plugin.name), normal(plugin.owner.distribution)}
        return not names & self.blocked and (self.everything or bool(names & self.only))

    def unknown(self, plugins: Sequence[Installed]) -> list[str]:
        """One line for each name that matches no installed plug-in."""
        known = {normal(name) for p in plugins for name in (p.name, p.owner.distribution)}
        return [
            f"ZOO_PLUGINS names '{word}', which is not installed{nearest(word, sorted(known))}"
            for word in sorted((self.blocked | self.only) - known)
        ]


def normal(name: str) -> str:
    """A distribution's normalised name: ``Zoo_Demo`` becomes ``zoo-demo``."""
    return re.sub(r"[-_.]+", "-", name).lower()
