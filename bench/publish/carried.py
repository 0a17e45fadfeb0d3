"""The published profile as it travels with the package, for ``zoo bench --against published``."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from bench.publish.questions import PROFILE
from zoo.config.settings import MACHINE_FIELDS
from zoo.sweep.against import CARRIED
from zoo.sweep.records import Record, RecordFile, directories_of

SECONDS = "seconds"  # how the names of times end: costs are of the machine that shows the row


def carried(source: Path) -> list[Record]:
    """The trainings of the profile in a published directory, without curves, times and commands."""
    places = directories_of(source / PROFILE, "*/")
    records = (record for place in places for record in RecordFile(place).read())
    return [_stripped(record) for record in records if "solved" in record.metrics]


def _stripped(record: Record) -> Record:
    metrics = {
        name: value
        for name, value in record.metrics.items()
        if isinstance(value, int | float | str) and not name.endswith(SECONDS)
    }
    known = (*MACHINE_FIELDS, "tokenizers")
    environment = {name: record.environment[name] for name in known if name in record.environment}
    changes = {"metrics": metrics, "environment": environment, "started": record.started[:10]}
    return record.model_copy(update={**changes, "curve": [], "samples": {}, "command": ""})


def write_carried(source: Path, file: Path = CARRIED) -> None:
    """Write the file where it does not have these lines yet; other libraries compress otherwise."""
    lines = (json.dumps(record.model_dump(exclude_defaults=True)) for record in carried(source))
    content = "".join(f"{line}\n" for line in lines).encode()
    if content and not (file.exists() and lzma.decompress(file.read_bytes()) == content):
        file.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
