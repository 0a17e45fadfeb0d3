"""The cache: directories by key, written whole or not at all and checked when they are opened.

A manifest in each directory has the SHA-256 of every file in it.
"""

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
    """The entry's directory in this machine's cache; ZooError where it is missing or damaged."""
    directory = cache_directory() / key
    if not is_intact(directory):
        state = "is damaged" if directory.exists() else "is missing"
        raise ZooError(f"entry '{key}' of the cache {directory.parent} {state}")
    return directory


def entry(key: str, build: Callable[[Path], Mapping[str, Any] | None]) -> Path:
    """The entry's directory, built first where it is missing or damaged.

    build: writes files into the empty directory that it is given, and returns what the manifest
    says about them; None: it has copied a manifest too. Processes that ask for one entry at once
    wait for each other, and one builds it; where locks do not work each does, and the first one's
    stays. Raises ZooError where the cache cannot be written.
    """
    root = cache_directory()
    final = root / key
    if is_intact(final):
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with locked(root / f"{key}.lock"):
            if not is_intact(final):
                with draft_directory(final) as draft:
                    if (about := build(draft)) is not None:
                        _write_manifest(draft, about)
                    if os.path.lexists(final) and not is_intact(final):
                        os.replace(final, draft.with_name("damaged"))
    except Exception as error:
        if isinstance(error, ZooError) or not (number := system_error(error)):
            raise
        if is_intact(final):  # of another process, where locks do not work
            return final
        kind = WriteError if number in FULL else ZooError
        hint = "set ZOO_CACHE to a directory elsewhere for the cache"
        raise kind(f"{write_error(final, error)}; {hint}") from error
    return final


def file_digest(file: Path) -> str:
    """SHA-256 of a file in hex; OSError where it cannot be read."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _write_manifest(directory: Path, about: Mapping[str, Any]) -> None:
    files = {file.name: file_digest(file) for file in sorted(directory.iterdir())}
    manifest = {"about": dict(about), "sha256": files}
    text = json.dumps({**manifest, "manifest": json_digest(manifest)}, indent=1)
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(directory: Path) -> dict[str, Any]:
    """``about`` and ``sha256`` as they were written.

    Raises ValueError where the manifest is damaged, OSError where there is none.
    """
    manifest: Any = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.pop("manifest", "") != json_digest(manifest):
        raise ValueError(f"{MANIFEST} is damaged")
    return manifest


def damaged_file(directory: Path, digests: Mapping[str, str]) -> str:
    """The first of these files that is missing or not what was written; empty if all are intact."""
    for name, expected in digests.items():
        try:
            if file_digest(directory / name) != expected:
                return name
        except OSError:
            return name
    return ""


def is_intact(directory: Path) -> bool:
    """Whether the manifest and every file that it lists are what was written."""
    try:
        return not damaged_file(directory, read_manifest(directory)["sha256"])
    except (OSError, ValueError):
        return False


def json_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a value as JSON, in hex."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
