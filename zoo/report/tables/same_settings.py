"""Whether records may be in one table: made with the same settings, measured on one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.errors import ZooError
from zoo.sweep.machine import MACHINE_FIELDS, machine_of
from zoo.sweep.records import Record

PARTS = ("task_options", "sizes", "training", "execution")


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings under names such as ``training.epochs``, without the data's."""
    return {f"{part}.{k}": v for part in PARTS for k, v in config.get(part, {}).items()}


def differing_settings(records: Sequence[Record]) -> dict[str, list[str]]:
    """Settings that have more than one value in these records, with the values.

    Data count by their fingerprint, not by their path. For cost measurements that succeeded, the
    fields of the machine are settings too.
    """
    values: dict[str, list[str]] = {}
    for record in records:
        fingerprint = str(record.config.get("data", {}).get("fingerprint", ""))[:12]
        found = {"data.fingerprint": fingerprint} | settings_of(record.config)
        if record.cell:
            found["axes"] = " ".join(record.cell)
        if record.kind == "cost" and record.status == "ok":
            machine = zip(MACHINE_FIELDS, machine_of(record.environment), strict=True)
            found |= {f"machine.{field}": value for field, value in machine}
        for name, value in found.items():
            known = values.setdefault(name, [])
            if str(value) not in known:
                known.append(str(value))
    return {name: known for name, known in values.items() if len(known) > 1}


def refuse_differing(records: Sequence[Record], directories: Sequence[object]) -> None:
    """Raise ZooError if records of several directories cannot be in one table."""
    names = " and ".join(str(directory) for directory in directories)
    tasks = list(dict.fromkeys(record.task for record in records))
    if len(tasks) > 1:
        raise ZooError(
            f"{names} are of different tasks ({', '.join(tasks)}): report each separately"
        )
    if different := differing_settings(records):
        listed = "; ".join(f"{name}: {', '.join(values)}" for name, values in different.items())
        raise ZooError(
            f"{names} cannot be in one table, because they differ in {listed}. Report each "
            "separately, or compare them with zoo compare"
        )
