"""Requests from flat options. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from zoo.config.request import Request, load_suite
from zoo.registry import Registry
from zoo.sweep.make_request import make_requests


def build_requests(
    options: Mapping[str, Any], registry: Registry, ignored: Collection[str] = ()
) -> list[Request]:
    """The requests of a suite's options and, over them, those given, one a data set.

    ignored: options that a suite may hold and that this command has no use for. Raises ZooError.
    """
    given = {name: value for name, value in options.items() if not is_absent(value)}
    suite = load_suite(given.pop("suite")) if "suite" in given else {}
    suite = {name: value for name, value in suite.items() if name not in ignored}
    given["plugins"] = (*suite.get("plugins", ()), *given.get("plugins", ()))
    return make_requests(given, registry, suite)


def is_absent(value: Any) -> bool:
    """Whether an option is not given; a given one may be an array, which has no truth."""
    return value is None or (isinstance(value, tuple) and not value)
