"""Whether records may be in one table, and whether two of them can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zoo.config.settings import MACHINE_FIELDS, machine_of
from zoo.errors import ZooError
from zoo.sweep.records import Record, shared_part

PARTS = ("task_options", "sizes", "training", "tuning", "execution", "pretraining")


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings under names such as ``training.epochs``, without the data's."""
    return {f"{part}.{k}": v for part in PARTS for k, v in shared_part(config, part).items()}


def differing_settings(records: Sequence[Record]) -> dict[str, list[str]]:
    """Settings that have more than one value in these records, with the values.

    Data count by their fingerprint, not by their path. For cost measurements that succeeded, the
    fields of the machine are settings too.
    """
    values: dict[str, dict[str, None]] = {}
    for record in records:
        fingerprint = str(record.config.get("data", {}).get("fingerprint", ""))[:12]
        settings = {"task": record.task, "data.fingerprint": fingerprint}
        settings |= settings_of(record.config)
        if record.cell:
            settings["axes"] = " ".join(record.cell)
        if record.kind == "cost" and record.status == "ok":
            machine = zip(MACHINE_FIELDS, machine_of(record.environment), strict=True)
            settings |= {f"machine.{field}": value for field, value in machine}
        for name, value in settings.items():
            values.setdefault(name, {})[str(value)] = None
    return {name: [*known] for name, known in values.items() if len(known) > 1}


def refuse_differing(records: Sequence[Record], directories: Sequence[object]) -> None:
    """Raise ZooError if records of several directories cannot be in one table."""
    names = " and ".join(str(directory) for directory in directories)
    if different := differing_settings(records):
        listed = "; ".join(f"{name}: {', '.join(values)}" for name, values in different.items())
        raise ZooError(
            f"{names} cannot be in one table, because they differ in {listed}. Report each "
            "separately, or compare them with zoo compare"
        )


def why_not_comparable(before: Record, after: Record) -> str | None:
    """Why two records cannot be compared: other data, or another split; None where they can."""
    data, others = before.config["data"], after.config["data"]
    if data["fingerprint"] != others["fingerprint"]:
        names = [f"{of['name']} ({of['fingerprint'][:12]})" for of in (data, others)]
        return f"other data: {' against '.join(names)}"
    described = before.metric_descriptions
    scored = described[0].scored if described else "examples"
    shares = [
        record.config.get("training", {}).get("validation", 0.0) for record in (before, after)
    ]
    splits = [
        f"{share:.0%} of the training {scored}" if share else f"{part.get('test')} test {scored}"
        for share, part in zip(shares, (data, others), strict=True)
    ]
    if splits[0] != splits[1]:
        return f"other test split: {splits[0]} against {splits[1]}"
    if data.get("train") != others.get("train"):
        return f"other training split: {data.get('train')} {scored} against {others.get('train')}"
    return None


def changed_settings(one: Record, other: Record) -> dict[str, tuple[Any, Any]]:
    """Settings that differ between two records, without those of how a job is executed.

    Under their names in ``zoo bench``, such as epochs, with both values.
    """
    before, after = settings_of(one.config), settings_of(other.config)
    return {
        name.partition(".")[2]: (before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if not name.startswith("execution.") and before.get(name) != after.get(name)
    }


def environment_of(records: Sequence[Record]) -> dict[str, str]:
    """Machine and versions of what ran, by name; several values where they differ."""
    values: dict[str, dict[str, None]] = {}
    ran = [record for record in records if record.environment and record.status != "skipped"]
    # Most records have the environment of the one before.
    for record in {repr((r.environment, r.plugins)): r for r in ran}.values():
        for name, value in _flat(record.environment | {"plug-in": record.plugins}):
            values.setdefault(name, {})[value] = None
    return {name: "; ".join(filter(None, known)) for name, known in values.items() if any(known)}


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif isinstance(value, bool):
            yield f"{before}{name}", "yes" if value else "no"
        else:
            yield f"{before}{name}", "" if value is None else str(value)
