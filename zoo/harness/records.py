"""What a run leaves behind: one JSON line per trial or probe, appended and flushed as it ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import filelock
from pydantic import BaseModel, ConfigDict, ValidationError

from zoo.errors import ZooError
from zoo.harness.settings import LATER
from zoo.tasks.score import CLASSIFY

SCHEMA_VERSION = 1
FILE = "records.jsonl"

Status = Literal["ok", "skipped", "oom", "timeout", "crashed", "diverged"]


class Record(BaseModel):
    """The outcome of one trial or one probe, with all that is needed to repeat it.

    cell: axis to choice; empty for a baseline. baseline: its name; empty for a cell.
    config: task (but for a classifier's), data, sizes, training and execution, as resolved.
    key: a hash of everything that the outcome hangs on; two records with one key are the same
    work. metrics: results by name.
    curve: one row per epoch. samples: raw timings. environment: versions and machine.
    command: repeats this record.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = SCHEMA_VERSION
    kind: Literal["trial", "probe", "scale"]
    status: Status
    reason: str = ""
    cell: dict[str, str]
    baseline: str = ""
    seed: int | None = None
    key: str
    config: dict[str, Any]
    metrics: dict[str, Any] = {}
    curve: list[dict[str, float]] = []
    samples: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    plugins: dict[str, str] = {}
    command: str = ""
    started: str = ""

    @property
    def task(self) -> str:
        """What it was trained for; a record that does not say is a classifier's."""
        return str(self.config.get("task", CLASSIFY))

    @property
    def name(self) -> str:
        """The row this record belongs to."""
        return self.baseline or "+".join(self.cell.values())


def digest(value: Any) -> str:
    """A short, stable hash of anything JSON can hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class RecordFile:
    """``records.jsonl`` of one output directory, held by one process at a time."""

    def __init__(self, directory: Path, name: str = FILE) -> None:
        self.directory = directory
        self.path = directory / name
        self.repaired = ""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out while this one writes; ZooError where one is writing."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.directory / ".lock")
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise ZooError(
                f"another zoo is writing to {self.directory}; wait for it or choose another --out"
            ) from None
        except OSError as error:
            raise ZooError(f"cannot write to {self.directory}: {error.strerror}") from error
        try:
            self._repair()
            yield
        finally:
            lock.release()

    def read(self) -> list[Record]:
        """Every record; ZooError naming the line that is none. A torn last line is passed over."""
        records = []
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else [b""]
        for number, line in enumerate(lines[:-1], start=1):
            records.append(_parse(line, f"{self.path}:{number}"))
        return records

    def append(self, record: Record) -> None:
        """Add one record and see it onto the disk.

        Raises ZooError, and leaves the file as it was, where the disk is full.
        """
        line = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False)
        left = memoryview(line.encode() + b"\n")
        try:
            # Unbuffered, so that closing after a failed write does not write again.
            with self.path.open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    while left:
                        left = left[file.write(left) or 0 :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)
                    raise
        except OSError as error:
            raise ZooError(
                f"cannot write to {self.path}: {error.strerror}; what was finished before is kept"
            ) from error

    def _repair(self) -> None:
        """Cut off a last line that a kill or a full disk left unfinished, and say so."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self.repaired = (
                f"{self.path}: the last line was torn ({len(content) - whole} bytes) and is cut off"
            )
            os.truncate(self.path, whole)


def _completed(record: Record) -> Record:
    """The record, with the settings that there were none of when it was written."""
    if record.kind == "scale":
        return record
    filled = {
        part: later | settings
        for part, later in LATER.items()
        if isinstance(settings := record.config.get(part), dict)
    }
    return record.model_copy(update={"config": record.config | filled})


def _parse(line: bytes, where: str) -> Record:
    try:
        value = json.loads(line)
        if rb"\ud" in line.lower():  # half of a surrogate pair is JSON, but no text
            json.dumps(value, ensure_ascii=False).encode()
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise ZooError(
                f"{where}: written by a newer zoo (schema {version}; this one reads "
                f"{SCHEMA_VERSION}): upgrade encoder-zoo"
            )
        return _completed(Record.model_validate(value))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "record"
        raise ZooError(f"{where}: no valid record: {field}: {first['msg']}") from None
    except RecursionError:
        raise ZooError(f"{where}: no valid record: nested too deeply") from None
    except ValueError as error:
        raise ZooError(f"{where}: no valid record: {error}") from None
