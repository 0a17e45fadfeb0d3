"""A suite: a TOML file that holds a whole request, and what to say of its results."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from bench.publish.suite_page import Published, parse_published
from zoo.errors import ZooError, nearest

PUBLISHED = "published"  # the one table that is no option


def load_suite(file: str | Path) -> dict[str, Any]:
    """The options a suite holds, by the names that ``zoo.bench`` takes.

    Plug-in files are found beside the suite. Raises ZooError where the file cannot be read, is no
    TOML, or names an option that does not exist.
    """
    return _read(Path(file))[0]


def load_published(file: str | Path) -> Published | None:
    """What a suite says of the page that its results become; None where it says nothing.

    Raises ZooError as ``load_suite`` does.
    """
    return _read(Path(file))[1]


def _read(path: Path) -> tuple[dict[str, Any], Published | None]:
    from zoo.api import option_names

    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooError(f"suite {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ZooError(f"suite {path} is no TOML: {error}") from error
    table = options.pop(PUBLISHED, None)
    for name in options:
        if name not in option_names():
            raise ZooError(f"suite {path}: no option '{name}'{nearest(name, option_names())}")
    plugins = options.get("plugins")
    if isinstance(plugins, str | list):
        files = [plugins] if isinstance(plugins, str) else plugins
        options["plugins"] = [str(path.parent / plugin) for plugin in files]
    published = None if table is None else parse_published(table, f"suite {path}")
    return options, published
