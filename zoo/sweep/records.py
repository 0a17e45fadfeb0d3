"""Records of a run: one JSON line per result, appended and flushed as soon as there is one.

Who reads them for a report gets a whole run (``read_run``), or one line that says what is wrong.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import filelock
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from zoo.config.metric_description import MetricDescription
from zoo.config.reading import Division, Reading
from zoo.config.request import PARTS, Seed
from zoo.errors import WriteError, ZooError
from zoo.execution.base import Status
from zoo.files import FULL, write_error, writing

SCHEMA_VERSION: Final = 2
FILE, SCALE_FILE = "records.jsonl", "scale.jsonl"  # the second: costs at several lengths
# Of a run beside its records; alone they are somebody's own.
TABLES = ("table.csv", "table.md", "table.tex", "report.html", "scale.csv", "scale.md")

Kind = Literal["train", "tune", "cost", "scale"]
# Options that only decide which data are read: their fingerprint says what came of them.
DATA_OPTIONS = frozenset({*Reading.model_fields, *Division.model_fields, "group_column"})
GONE = ("model",)  # fields of earlier versions
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
    repeats this record. traceback: of a job that failed. Fields of earlier versions that are gone
    are ignored.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[2] = SCHEMA_VERSION
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

    @model_validator(mode="before")
    @classmethod
    def _without_gone(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        return {name: value for name, value in fields.items() if name not in GONE}

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.config["task"])

    @property
    def name(self) -> str:
        """The row this record belongs to."""
        return self.baseline or "+".join(self.cell.values())


class RecordFile:
    """``records.jsonl`` of one output directory; one process at a time may write to it."""

    def __init__(self, directory: Path, name: str = FILE) -> None:
        self.directory = directory
        self.path = directory / name

    @contextlib.contextmanager
    def lock(self) -> Iterator[str | None]:
        """Keep other processes from writing; ZooError where one is writing already.

        Yields what was repaired, in words; None where nothing was.
        """
        own = [name for name in TABLES if (self.directory / name).exists()]
        if own and not self.path.exists():
            raise ZooError(
                f"{self.directory} has a {own[0]} and no {self.path.name}, so it is not of a run: "
                "choose another --out"
            )
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock_file = filelock.FileLock(self.directory / ".lock")
            lock_file.acquire(timeout=0)
        except filelock.Timeout:
            raise ZooError(
                f"another zoo is writing to {self.directory}; wait for it or choose another --out"
            ) from None
        except OSError as error:
            kind = WriteError if error.errno in FULL else ZooError
            raise kind(str(write_error(self.directory, error))) from error
        try:
            yield self._repair()
        finally:
            lock_file.release()

    def read(self) -> list[Record]:
        """Every record; ZooError naming the first invalid line.

        An unfinished last line is ignored.
        """
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            whole = enumerate((line for line in file if line.endswith(b"\n")), start=1)
            return [_parse(line, f"{self.path}:{n}") for n, line in whole]

    def append(self, record: Record) -> None:
        """Append one record and flush it to disk.

        Raises WriteError, and leaves the file as it was, where the disk is full.
        """
        line = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False)
        left = memoryview(line.encode() + b"\n")
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

    def _repair(self) -> str | None:
        """Remove a last line that a kill or a full disk left unfinished, and say so."""
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        if whole == len(content):
            return None
        os.truncate(self.path, whole)
        return f"{self.path}: removed an unfinished last line ({len(content) - whole} bytes)"


def read_run(directory: Path) -> list[Record]:
    """The records of a run, of which there is at least one.

    Raises ZooError where there are none, and as ``refuse_incomplete`` does.
    """
    records = RecordFile(directory).read()
    if not records:
        raise ZooError(f"{directory}: no {FILE} with records there")
    refuse_incomplete(records, directory)
    return records


def refuse_incomplete(records: Sequence[Record], directory: Path) -> None:
    """Raise ZooError, naming the line, for the first record of a run that no report can read.

    It lacks what a report needs, is of other data than the first, or holds an impossible score,
    such as an accuracy of 17.5.
    """
    for number, record in enumerate(records, start=1):
        if problem := _problem(record, records[0]):
            raise ZooError(f"{directory / FILE}:{number}: incomplete record: {problem}")


def _problem(record: Record, first: Record) -> str | None:
    """What is wrong with a record; None where nothing is."""
    for part in (*PARTS, "task_options", "data"):
        if not isinstance(record.config.get(part, {}), dict):
            return f"config.{part}: it is no table"
    if not {"name", "fingerprint"} <= record.config.get("data", {}).keys():
        return "config.data: it lacks a name or a fingerprint"
    if "task" not in record.config:
        return "config.task: is missing"
    if record.config["data"]["fingerprint"] != first.config["data"]["fingerprint"]:
        return "config.data.fingerprint: of other data than line 1"
    if record.status != "ok" or record.kind not in ("train", "tune"):
        return None
    for metric in record.metric_descriptions:
        score = record.metrics.get(metric.name)
        if score is None and record.kind == "train":
            return f"metrics.{metric.name}: is missing"
        if score is not None and not _is_within(score, metric.lowest, metric.highest):
            return f"metrics.{metric.name}: {score!r} is no possible score"
    return None


def _is_within(score: Any, lowest: float | None, highest: float | None) -> bool:
    """Whether it is a finite number between these, of which each may be missing."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return False
    return (lowest is None or score >= lowest) and (highest is None or score <= highest)


def refuse_other_settings(
    existing: Sequence[Record],
    config: Mapping[str, Any],
    parts: Sequence[str],
    directory: Path,
    defaults: Mapping[str, Mapping[str, Any]],
) -> None:
    """ZooError where a record in the directory differs in one of these parts of the config.

    A directory may hold more cells and seeds, but not other data or settings. defaults: as for
    ``differing``.
    """
    for record in existing:
        if what := differing(record.config, config, parts, defaults):
            raise ZooError(f"--out {directory} holds records of {what}; choose another directory")


def differing(
    there: Mapping[str, Any],
    here: Mapping[str, Any],
    parts: Sequence[str],
    defaults: Mapping[str, Mapping[str, Any]] = {},
) -> str:
    """The first of these parts in which two configs differ, in words; empty where none does.

    defaults: of parts whose settings are not known here; a record that lacks one was made with it.
    """
    for part in parts:
        one, other = shared_part(there, part), shared_part(here, part)
        if part == "data":  # the fingerprint tells; an older record may say less about them
            one = {**other, **one}
        elif part in defaults:
            one = shared_part({part: {**defaults[part], **one}}, part)
        if one == other:
            continue
        if part == "data" and one["fingerprint"] != other["fingerprint"]:
            one, other = (f"{data['name']} ({data['fingerprint'][:12]})" for data in (one, other))
        if not isinstance(one, dict) or not isinstance(other, dict):
            return f"{part} {one!r}, not {other!r}"
        return ", ".join(
            f"{name}={one.get(name)!r}, not {other.get(name)!r}"
            for name in {**other, **one}
            if one.get(name) != other.get(name)
        )
    return ""


def shared_part(config: Mapping[str, Any], part: str) -> Any:
    """A part of a record's config without what is chosen for each row: see ``tuning``."""
    value = config.get(part, {})
    if part == "task_options" and isinstance(value, dict):
        value = {name: setting for name, setting in value.items() if name not in DATA_OPTIONS}
    if part in PARTS and isinstance(value, dict):
        # A record is older than a setting that it lacks: it was made with what is now the default.
        value = {**PARTS[part]().model_dump(), **value}
    if part == "training" and "tuning" in config:
        own = {*config["tuning"]["values"], "validation"}
        return {name: setting for name, setting in value.items() if name not in own}
    return value


def _parse(line: bytes, where: str) -> Record:
    try:
        value = json.loads(line.decode("utf-8-sig"))  # of bytes it would guess the encoding
        if rb"\ud" in line.lower():  # half of a surrogate pair is JSON, but no text
            json.dumps(value, ensure_ascii=False).encode()
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, int) and version != SCHEMA_VERSION:
            raise ZooError(
                f"{where}: written by another zoo (schema {version}; this one reads "
                f"{SCHEMA_VERSION}): use that one, or another directory"
            )
        return Record.model_validate(value)
    except ValidationError as error:
        reason = _first(error)
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise ZooError(f"{where}: not a valid record: {reason}")


def _first(error: ValidationError) -> str:
    """The first thing that pydantic found wrong, and where."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'record'}: {first['msg']}"
