"""A suite: a TOML file that holds a whole request."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, nearest

PUBLISHED = "published"  # a table about the published page, which is not an option


def load_suite(file: str | Path) -> dict[str, Any]:
    """The options a suite holds, by the names that ``zoo.bench`` takes.

    Plug-in files are relative to the suite. A table ``[published]`` is ignored. Raises ZooError
    where the file cannot be read, is not TOML, or names an option that does not exist.
    """
    from zoo.api import option_names

    path = Path(file)
    options = read_suite(path)
    options.pop(PUBLISHED, None)
    for name in options:
        if name not in option_names():
            raise ZooError(f"suite {path}: no option '{name}'{nearest(name, option_names())}")
    plugins = options.get("plugins")
    if isinstance(plugins, str | list):
        files = [plugins] if isinstance(plugins, str) else plugins
        options["plugins"] = [str(path.parent / plugin) for plugin in files]
    return options


def read_suite(path: Path) -> dict[str, Any]:
    """Everything in the file; ZooError where it cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooError(f"suite {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ZooError(f"suite {path} is not TOML: {error}") from error
