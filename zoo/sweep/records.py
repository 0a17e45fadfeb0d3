"""Records of a run: one JSON line per result, appended and flushed as soon as there is one.

Who reads them for a report gets a whole run (``read_run``), or one line that says what is wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import lzma
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import filelock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zoo.config.metric_description import MetricDescription
from zoo.config.reading import Division, Reading
from zoo.config.request import PARTS, Seed, first_error
from zoo.errors import ZooError
from zoo.execution.base import Status
from zoo.files import replacing, writing

FILE, SCALE_FILE = "records.jsonl", "scale.jsonl"  # the second: costs at several lengths
PACKED = ".xz"  # the ending of such a file that is compressed, as large published ones are
# Of a run beside its records; alone they are somebody's own.
TABLES = ("table.csv", "table.md", "table.tex", "report.html", "scale.csv", "scale.md")

Kind = Literal["train", "tune", "cost", "scale"]
# Options that only decide which data are read: their fingerprint says what came of them.
DATA_OPTIONS = frozenset({*Reading.model_fields, *Division.model_fields, "group_column"})
REUSABLE = ("ok", "skipped")  # work that ended otherwise is done again


class Record(BaseModel):
    """The result of one job for one row, with everything needed to repeat it.

    kind: ``train`` (one cell with one seed), ``tune`` (the same with settings that may be chosen,
    scored on a held-out part of the training split), ``cost`` (speed and memory of a cell) or
    ``scale`` (cost of a cell at one value of an axis). cell: axis to choice; empty for a baseline.
    baseline: its name; empty for a cell. exact: whether its attention is: two cells that differ in
    exact attentions alone compute the same. bidirectional: whether it is an encoder that runs an
    attention that is causal by nature in both directions, two of it in each layer. key: a hash of
    all inputs of the work; two records with one key are of the same work. config: task, its
    options, data, sizes, training and execution, as resolved. metrics: results by name.
    metric_descriptions: what a report needs to know of the task's metrics; the first one ranks
    rows. curve: one entry per epoch. samples: raw timings. environment: versions and hardware of
    the machine that ran the work. plugins: distribution to version and hash. code: module to hash,
    of what the numbers depend on (``keys.code_of``); empty in a record of an earlier zoo. command:
    repeats this record. traceback: of a job that failed. Fields that are not here, as of earlier
    versions, are ignored.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[2] = 2
    kind: Kind
    status: Status
    reason: str = ""
    cell: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")], str]
    baseline: str = ""
    exact: bool = False
    bidirectional: bool = False
    seed: Seed | None = None
    key: str
    config: dict[str, Any]
    metrics: dict[str, Any] = {}
    metric_descriptions: tuple[MetricDescription, ...] = ()
    curve: list[dict[str, float]] = []
    samples: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    plugins: dict[str, str] = {}
    code: dict[str, str] = {}
    command: str = ""
    started: str = ""
    traceback: str = ""

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.config["task"])

    @property
    def name(self) -> str:
        """The row this record belongs to."""
        return self.baseline or "+".join(self.cell.values())


class RecordFile:
    """``records.jsonl`` of one output directory; one process at a time may write to it.

    A job that is done again, as after a failure, has one more line, and the last one counts.
    """

    def __init__(self, directory: Path, name: str = FILE) -> None:
        self.directory = directory
        self.path = directory / name

    @contextlib.contextmanager
    def lock(self) -> Iterator[str]:
        """Keep other processes from writing; ZooError where one is writing already.

        Yields a notice of an unfinished last line that was removed; empty: there was none.
        """
        own = [name for name in TABLES if (self.directory / name).exists()]
        if own and not self.path.exists() and not packed_file(self.path).exists():
            raise ZooError(
                f"{self.directory} has a {own[0]} and no {self.path.name}, so it is not of a run: "
                "choose another --out"
            )
        lock_file = filelock.FileLock(self.directory / ".lock")
        try:
            with writing(self.directory):
                self.directory.mkdir(parents=True, exist_ok=True)
                lock_file.acquire(timeout=0)
        except filelock.Timeout:
            raise ZooError(
                f"another zoo is writing to {self.directory}; wait for it or choose another --out"
            ) from None
        try:
            yield self._repair()
        finally:
            lock_file.release()

    def read(self) -> list[Record]:
        """Every record; ZooError naming the first invalid line, or a damaged compressed file.

        An unfinished last line is ignored.
        """
        whole = self._content().split(b"\n")[:-1]
        return [_parse(line, f"{self.path}:{n}") for n, line in enumerate(whole, start=1)]

    def _content(self) -> bytes:
        """What the file holds, unpacked; nothing where there is none."""
        packed = packed_file(self.path)
        if self.path.exists() or not packed.exists():
            return self.path.read_bytes() if self.path.exists() else b""
        try:
            return lzma.decompress(packed.read_bytes())
        except lzma.LZMAError as error:
            raise ZooError(f"{packed} is damaged: {error}") from error

    def append(self, record: Record) -> None:
        """Append one record and flush it to disk.

        Raises WriteError, and leaves the file as it was, where the disk is full.
        """
        line = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False)
        left = memoryview(line.encode(errors="replace") + b"\n")  # half a character may be in it
        # Unbuffered, so that closing after a failed write does not write again.
        with writing(self.path), self.path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                while left:
                    left = left[file.write(left) or 0 :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

    def _repair(self) -> str:
        """Unpack the file, and remove a last line that a kill left unfinished, with a notice."""
        packed, content = packed_file(self.path), self._content()
        if packed.exists() and not self.path.exists():
            with replacing(self.path) as unfinished:
                unfinished.write_bytes(content)
            packed.unlink()
        whole = content.rfind(b"\n") + 1
        if whole == len(content):
            return ""
        os.truncate(self.path, whole)
        return f"{self.path}: removed an unfinished last line ({len(content) - whole} bytes)"


def packed_file(file: Path) -> Path:
    """The compressed file of records that is read where the file itself is not there."""
    return file.with_name(file.name + PACKED)


def directories_of(root: Path, below: str = "**/", name: str = FILE) -> list[Path]:
    """The directories below a root that hold records, compressed or not, in order."""
    files = (file for ending in ("", PACKED) for file in root.glob(f"{below}{name}{ending}"))
    return sorted({file.parent for file in files})


def read_run(directory: Path) -> list[Record]:
    """The records of a run, of which there is at least one.

    Raises ZooError where there are none, and as ``refuse_mixed`` does.
    """
    records = RecordFile(directory).read()
    if not records:
        raise ZooError(f"{directory}: no {FILE} with records there")
    refuse_mixed(records, directory)
    return records


def refuse_mixed(records: Sequence[Record], directory: Path) -> None:
    """Raise ZooError, naming the line, for the first record of other data than the first one's."""
    fingerprints = [record.config["data"]["fingerprint"] for record in records]
    for number, fingerprint in enumerate(fingerprints, start=1):
        if fingerprint != fingerprints[0]:
            raise ZooError(f"{directory / FILE}:{number}: of other data than line 1")


def other_settings(
    existing: Sequence[Record],
    config: Mapping[str, Any],
    parts: Sequence[str],
    options: Mapping[str, Any] = {},
) -> str:
    """Which settings of a record differ from those of a run in one of these parts; empty: none.

    options: the defaults of the task's; a record that lacks one was made with its default.
    """
    defaults = {"task_options": shared_part({"task_options": options}, "task_options")}
    for record, part in itertools.product(existing, parts):
        both = (shared_part(each, part) for each in (record.config, config))
        there, here = (value if isinstance(value, dict) else {part: value} for value in both)
        there = {**defaults.get(part, {}), **there}
        differing = [name for name in {**here, **there} if there.get(name) != here.get(name)]
        if "values" in differing:
            return f"{_tried(there)}, not {_tried(here)}"
        if differing:
            values = (f"{n}={there.get(n)!r}, not {here.get(n)!r}" for n in differing)
            return ", ".join(values)
    return ""


def _tried(tuning: Mapping[str, Any]) -> str:
    """``lr=0.003,0.01``: the values of each setting that has several."""
    each = tuning.get("values", {}).items()
    texts = (f"{name}={','.join(map(str, values))}" for name, values in each)
    return ", ".join(texts) or "one value of each setting"


def shared_part(config: Mapping[str, Any], part: str) -> Any:
    """A part of a record's config, without what is chosen for each row: see ``tuning``.

    Data are their name and their fingerprint, which says all of them.
    """
    value = config.get(part, {})
    if part == "data":
        return f"{value['name']} ({value['fingerprint'][:12]})"
    if part == "task_options":
        return {name: setting for name, setting in value.items() if name not in DATA_OPTIONS}
    if part in PARTS:
        # A record is older than a setting that it lacks: it was made with what is now the default.
        value = {**PARTS[part]().model_dump(), **value}
    if part == "training" and "tuning" in config:
        own = {*config["tuning"]["values"], "validation"}
        return {name: setting for name, setting in value.items() if name not in own}
    return value


def _parse(line: bytes, where: str) -> Record:
    """The record of a line; ZooError with the first thing that is wrong with it."""
    try:
        return Record.model_validate_json(line)
    except ValidationError as error:
        problem = first_error(error, "record")
        raise ZooError(f"{where}: not a valid record: {problem}") from None


def slug(name: str) -> str:
    """A name as part of a file's name: ``recall(pairs=32)`` as ``recall-pairs-32``."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"


def directory_names(names: Sequence[str]) -> list[str]:
    """A directory's name for each data set, all different: equal ones are numbered."""
    different = list[str]()
    for name in map(slug, names):
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        different.append(next(n for n in itertools.chain([name], numbered) if n not in different))
    return different
