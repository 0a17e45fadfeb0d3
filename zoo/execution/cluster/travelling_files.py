"""Files that travel as bytes: a job's artifacts, home and out again, and the encoded data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from zoo.data.cache import MANIFEST, cache_directory, cached_entry, entry, file_digest, is_intact
from zoo.errors import ZooError
from zoo.execution.artifacts import OUTPUT

Files = dict[str, bytes]  # name to content


@dataclass
class Directory:
    """A job's directory. It knows which of its files it has given away already."""

    path: Path
    given: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def changed(self) -> Files:
        """The files that are new, or not what they were at the last call."""
        found: Files = {}
        for file in sorted(self.path.iterdir()):
            if file.name == OUTPUT or file.suffix == ".tmp":
                continue
            try:
                about = file.stat()
                version = (about.st_ino, about.st_mtime_ns, about.st_size)
                if self.given.get(file.name) != version:
                    found[file.name] = file.read_bytes()
                    self.given[file.name] = version
            except FileNotFoundError:
                continue  # replaced at this moment: the next call has it
        return found

    def receive(self, files: Files) -> None:
        """Write files, each as a whole or not at all; they do not count as changed."""
        for name, content in files.items():
            file = self.path / name
            unfinished = file.with_name(f"{name}.tmp")
            unfinished.write_bytes(content)
            os.replace(unfinished, file)
            about = file.stat()
            self.given[name] = (about.st_ino, about.st_mtime_ns, about.st_size)


def data_files(key: str) -> Files:
    """All files of encoded data in this machine's cache; ZooError where they are not intact."""
    return {file.name: file.read_bytes() for file in cached_entry(key).iterdir()}


def data_digest(key: str) -> str:
    """A hash of the manifest of encoded data, which has a hash of every file."""
    return file_digest(cached_entry(key) / MANIFEST)


def has_data(key: str, digest: str) -> bool:
    """Whether this machine's cache holds these very data, undamaged."""
    directory = cache_directory() / key
    return is_intact(directory) and file_digest(directory / MANIFEST) == digest


def store_data(key: str, digest: str, files: Files) -> None:
    """Put encoded data into this machine's cache, if they are not there. Raises ZooError."""

    def write(draft: Path) -> None:
        for name, content in files.items():
            (draft / name).write_bytes(content)

    entry(key, write)
    if not has_data(key, digest):
        raise ZooError(f"the cache {cache_directory()} holds other data under the name '{key}'")
