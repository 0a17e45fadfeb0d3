"""Which machine a record was measured on: the one definition of "the same machine"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MACHINE_FIELDS = ("device", "device_name", "driver", "torch", "threads", "precision", "cores")


def machine_of(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """What timings depend on, in the order of MACHINE_FIELDS; "" for a field that is missing."""
    return tuple(str(environment.get(field) or "") for field in MACHINE_FIELDS)


def same_machine(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether timings made in these two environments may be ranked together."""
    return machine_of(one) == machine_of(other)
