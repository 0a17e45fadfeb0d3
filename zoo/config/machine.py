"""Which machine a record was measured on: the one definition of "the same machine"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MACHINE_FIELDS = ("device", "device_name", "driver", "torch", "threads", "precision", "cores")


def machine_of(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """What timings depend on, in the order of MACHINE_FIELDS; "" for a field that is missing.

    Timings are ranked together only where these are equal.
    """
    return tuple(str(environment.get(field) or "") for field in MACHINE_FIELDS)
