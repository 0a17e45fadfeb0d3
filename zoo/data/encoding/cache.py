"""A directory of things worth keeping, each under a key, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from zoo.errors import ZooError


def cache_directory() -> Path:
    """Where the zoo keeps what it can make again: ``ZOO_CACHE``, or the user's cache directory."""
    setting = os.environ.get("ZOO_CACHE")
    if setting:
        return Path(setting).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("encoder-zoo"))


def entry(key: str, build: Callable[[Path], None], sound: Callable[[Path], bool]) -> Path:
    """The directory of that key; built where it is missing or not sound.

    build: writes the entry's files into the empty directory it is given.
    sound: whether a directory holds all that build writes, undamaged.
    Processes that want one entry at once wait for each other, and one builds.
    Raises ZooError where the cache cannot be written.
    """
    from filelock import FileLock

    root = cache_directory()
    final = root / key
    if sound(final):
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{key}.lock"):
            if sound(final):
                return final
            _clear(root, key)
            draft = Path(tempfile.mkdtemp(prefix=f"{key}.", suffix=".draft", dir=root))
            try:
                build(draft)
                draft.chmod(0o755)  # mkdtemp's 0700 would shut out those a cache is shared with
                os.replace(draft, final)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise ZooError(
            f"the cache {root} cannot be written ({error.strerror or error}); "
            "set ZOO_CACHE to a directory that can"
        ) from error
    return final


def _clear(root: Path, key: str) -> None:
    """Remove a damaged entry and what a killed process left; call with the lock held."""
    for old in (root / key, *root.glob(f"{key}.*.draft")):
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)
