"""A suite: a TOML file that holds a whole request."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, nearest


def load_suite(file: str | Path) -> dict[str, Any]:
    """The options a suite holds, by the names that ``zoo.bench`` takes.

    Plug-in files are found beside the suite. Raises ZooError where the file cannot be read, is no
    TOML, or names an option that does not exist.
    """
    from zoo.harness.api import option_names

    path = Path(file)
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooError(f"suite {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ZooError(f"suite {path} is no TOML: {error}") from error
    for name in options:
        if name not in option_names():
            raise ZooError(f"suite {path}: no option '{name}'{nearest(name, option_names())}")
    if isinstance(options.get("plugins"), list):
        options["plugins"] = [str(path.parent / plugin) for plugin in options["plugins"]]
    return options
