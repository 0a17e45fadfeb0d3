"""A suite: a TOML file that holds a whole request; some ship with the zoo."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, nearest

PUBLISHED = "published"  # a table for the page of published results; not an option


BUILT_IN = Path(__file__).parent / "suites"


def find_suite(name: str | Path) -> Path:
    """The file of a suite: a path, or the name of one that ships with the zoo.

    Raises ZooError for a name that is neither.
    """
    path = Path(name)
    if path.exists() or path.suffix or len(path.parts) > 1:
        return path
    known = sorted(file.stem for file in BUILT_IN.glob("*.toml"))
    if str(name) not in known:
        raise ZooError(f"no suite '{name}', and no such file{nearest(str(name), known)}")
    return BUILT_IN / f"{name}.toml"


def load_suite(file: str | Path) -> dict[str, Any]:
    """The options of a suite, by the names that ``zoo.bench`` takes.

    file: a path, or the name of a built-in suite. Paths of plug-in files are relative to the suite.
    Raises ZooError where the file cannot be read or is not TOML, or ``plugins`` is no list of
    files.
    """
    path = find_suite(file)
    options = read_suite(path)
    options.pop(PUBLISHED, None)
    plugins = options.get("plugins", [])
    files = [plugins] if isinstance(plugins, str) else plugins
    if not isinstance(files, list) or not all(isinstance(plugin, str) for plugin in files):
        raise ZooError(f"suite {path}: plugins = {plugins!r}: expected a list of files")
    if files:
        options["plugins"] = [str(path.parent / plugin) for plugin in files]
    return options


def read_suite(path: Path) -> dict[str, Any]:
    """The content of a suite; ZooError where the file cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooError(f"suite {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ZooError(f"suite {path} is not TOML: {error}") from error
