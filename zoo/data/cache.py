"""The cache: directories by key, each written whole or not at all. A file in it says what it is."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from zoo.errors import WriteError, ZooError
from zoo.files import FULL, draft_directory, locked, system_error, write_error

MANIFEST = "meta.json"


def cache_directory() -> Path:
    """The directory of all entries: ``ZOO_CACHE``, or the user's cache directory."""
    setting = os.environ.get("ZOO_CACHE")
    if setting:
        return Path(setting).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("encoder-zoo"))


def cached_entry(key: str) -> Path:
    """The entry's directory in this machine's cache; ZooError where it is missing."""
    directory = cache_directory() / key
    if not (directory / MANIFEST).is_file():
        raise ZooError(
            f"entry '{key}' of the cache {directory.parent} is missing; the same command makes it "
            "again"
        )
    return directory


def entry(key: str, build: Callable[[Path], Mapping[str, Any] | None]) -> Path:
    """The entry's directory, built first where it is missing.

    build: writes files into the empty directory that it is given, and returns what the manifest
    says about them; None: it has copied a manifest too. Of processes that ask for one entry at once
    one builds it. Raises ZooError where the cache cannot be written.
    """
    root = cache_directory()
    final = root / key
    if final.is_dir():
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with locked(root / f"{key}.lock"):
            if not final.is_dir():
                with draft_directory(final) as draft:
                    if (about := build(draft)) is not None:
                        (draft / MANIFEST).write_text(json.dumps(about), encoding="utf-8")
    except Exception as error:
        if isinstance(error, ZooError) or not (number := system_error(error)):
            raise
        kind = WriteError if number in FULL else ZooError
        hint = "set ZOO_CACHE to a directory elsewhere for the cache"
        raise kind(f"{write_error(final, error)}; {hint}") from error
    return final


def file_digest(file: Path) -> str:
    """SHA-256 of a file in hex; OSError where it cannot be read."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
