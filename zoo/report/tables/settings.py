"""Whether records may stand in one table: with the same settings, measured on one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.errors import ZooError
from zoo.sweep.records import Record

# Of a probe's environment, what its speeds hang on.
MACHINE = ("device_name", "driver", "torch", "threads", "precision")


def differing(records: Sequence[Record]) -> dict[str, list[str]]:
    """Settings of which there is more than one value, as ``training.epochs``, with the values.

    Of data the fingerprint counts and not where it lies. Also what probes were measured on.
    """
    values: dict[str, list[str]] = {}
    for record in records:
        found = _flat(record.config)
        if record.kind == "probe" and record.status == "ok":
            found |= {f"machine.{name}": record.environment.get(name) for name in MACHINE}
        for name, value in found.items():
            told = values.setdefault(name, [])
            if str(value) not in told:
                told.append(str(value))
    return {name: told for name, told in values.items() if len(told) > 1}


def refuse_differing(records: Sequence[Record], directories: Sequence[object]) -> None:
    """ZooError where records of several directories cannot stand in one table."""
    names = " and ".join(str(directory) for directory in directories)
    tasks = list(dict.fromkeys(record.task for record in records))
    if len(tasks) > 1:
        raise ZooError(f"{names} are of different tasks ({', '.join(tasks)}): report each apart")
    if different := differing(records):
        told = "; ".join(f"{name}: {', '.join(values)}" for name, values in different.items())
        raise ZooError(
            f"{names} cannot stand in one table, for they differ in {told}. Report each apart, "
            "or hold them against each other with zoo compare"
        )


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    data = config.get("data", {})
    found = {"data.fingerprint": str(data.get("fingerprint", ""))[:12]}
    for part in ("sizes", "training", "execution"):
        found |= {f"{part}.{name}": value for name, value in config.get(part, {}).items()}
    return found | {"read_last": config.get("read_last")}
