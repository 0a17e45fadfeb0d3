"""Which results were measured on the same machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS = ("device", "device_name", "driver", "torch", "threads", "precision", "cores")


def machine_of(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What timings depend on; two environments with equal values are the same machine."""
    return {name: environment.get(name) for name in FIELDS}
