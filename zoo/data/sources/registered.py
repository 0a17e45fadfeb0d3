"""Data sets that are registered components."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

from zoo.errors import ZooError, one_line
from zoo.registry import Choice, Registry

D = TypeVar("D")


def find_registered(registry: Registry, spec: str | None) -> Choice | None:
    """The registered data that a spec names; None for a path, Hub data or None.

    Raises ZooError where its parameters are wrong or the name is ambiguous.
    """
    # A path has a slash or a dot, and no component has.
    bare = (spec or "").partition("(")[0].strip()
    known = (name for c in registry.components("data") for name in (c.name, c.full_name))
    return registry.choose("data", spec) if spec is not None and bare in known else None


def build_registered(choice: Choice, kind: type[D]) -> D:
    """The data of a component; given parameters are part of its name.

    Raises ZooError where they cannot be loaded or are not of this class.
    """
    what = f"data '{choice}' of {choice.component.owner}"
    try:
        data = choice.build()
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{what} cannot be loaded: {one_line(error)}") from error
    if not isinstance(data, kind):
        raise ZooError(f"{what} gives no {kind.__name__} but a {type(data).__name__}")
    if not choice.given:
        return data
    renamed: D = dataclasses.replace(cast(Any, data), name=str(choice))
    return renamed
