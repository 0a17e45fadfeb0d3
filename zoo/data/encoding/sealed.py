"""Files of a cache entry, with one that vouches for the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.errors import ZooError

META = "meta.json"


def seal(directory: Path, about: Mapping[str, Any]) -> None:
    """Write down what the directory holds, and the SHA-256 of every file in it."""
    digests = {file.name: _digest(file) for file in sorted(directory.iterdir())}
    text = json.dumps({"about": dict(about), "sha256": digests}, indent=1)
    (directory / META).write_text(text, encoding="utf-8")


def about(directory: Path) -> dict[str, Any]:
    """What ``seal`` was told; ZooError where nothing is sealed."""
    try:
        told: dict[str, Any] = json.loads((directory / META).read_text(encoding="utf-8"))["about"]
        return told
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(f"{directory} holds nothing encoded ({error})") from error


def is_sound(directory: Path, expected: set[str]) -> bool:
    """Whether exactly these files are there, and each is what was sealed."""
    try:
        meta = json.loads((directory / META).read_text(encoding="utf-8"))
        digests = meta["sha256"]
        return set(digests) == expected and all(
            _digest(directory / name) == digest for name, digest in digests.items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
