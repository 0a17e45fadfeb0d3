"""The cache: directories by key, each written by one process and checked when it is opened."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from zoo.data.encoding.atomic_directory import draft_directory, is_intact
from zoo.errors import ZooError


def cache_directory() -> Path:
    """The directory of all entries: ``ZOO_CACHE``, or the user's cache directory."""
    setting = os.environ.get("ZOO_CACHE")
    if setting:
        return Path(setting).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("encoder-zoo"))


def cached_entry(key: str) -> Path:
    """The entry's directory in this machine's cache; ZooError where it is missing or damaged."""
    directory = cache_directory() / key
    if not is_intact(directory):
        state = "is damaged" if directory.exists() else "is missing"
        raise ZooError(f"entry '{key}' of the cache {directory.parent} {state}")
    return directory


def entry(key: str, build: Callable[[Path], None]) -> Path:
    """The entry's directory, built first where it is missing or damaged.

    build: writes the files and the manifest into the empty directory that it is given.
    Processes that ask for one entry at once wait for each other, and one builds it.
    Raises ZooError where the cache cannot be written.
    """
    from filelock import FileLock

    root = cache_directory()
    final = root / key
    if is_intact(final):
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{key}.lock"):
            if not is_intact(final):
                for path in (final, *root.glob(f".{key}.*.draft")):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                    else:
                        path.unlink(missing_ok=True)
                with draft_directory(final) as draft:
                    build(draft)
    except OSError as error:
        raise ZooError(
            f"the cache {root} cannot be written ({error.strerror or error}); "
            "set ZOO_CACHE to a directory that can"
        ) from error
    return final
