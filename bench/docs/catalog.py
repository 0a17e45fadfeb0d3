"""All components of this repository: the built-ins, and those of the plug-ins beside them."""

from __future__ import annotations

import functools
import sys
import tomllib

from bench.docs.place import ROOT
from zoo.registry import BUILT_IN, Component, Owner, Register, Registry
from zoo.registry.loading import built_ins, read_plugin


@functools.cache
def catalog() -> Registry:
    """A registry of them, whether the plug-ins are installed or not; others are left out."""
    registry = built_ins()
    for register in plugins():
        registry.admit(register)
    return registry


@functools.cache
def plugins() -> list[Register]:
    """What each plug-in beside the zoo registers."""
    registers = []
    for file in sorted((ROOT / "plugins").glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        if str(file.parent) not in sys.path:
            sys.path.append(str(file.parent))
        for module in project.get("entry-points", {}).get("zoo", {}).values():
            owner = Owner(project["name"], project["version"], module)
            registers.append(read_plugin(module, owner))
    return registers


def install_command(component: Component) -> str:
    """What installs the component's distribution; empty for a built-in."""
    name = component.owner.distribution
    return "" if name == BUILT_IN else f"pip install ./plugins/{name}"
